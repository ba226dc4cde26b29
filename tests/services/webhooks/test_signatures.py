"""Webhook signatures."""

import hashlib
import hmac

from hypothesis import assume, given
from hypothesis import strategies as st

from grader.services.webhooks.payloads import sign

SECRET = "whsec_abc"


@given(st.binary(), st.integers(0, 2**40))
def test_receiver_computes_the_same_signature_from_the_time_a_dot_and_the_body(body: bytes, timestamp: int):
    expected = hmac.new(SECRET.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    assert sign(body, secret=SECRET, timestamp=timestamp) == f"v1={expected}"


@given(st.tuples(st.binary(), st.integers(0, 2**40)), st.tuples(st.binary(), st.integers(0, 2**40)))
def test_another_body_or_time_has_another_signature(first: tuple[bytes, int], second: tuple[bytes, int]):
    assume(first != second)
    (body, timestamp), (other_body, other_timestamp) = first, second
    signature = sign(body, secret=SECRET, timestamp=timestamp)
    assert signature != sign(other_body, secret=SECRET, timestamp=other_timestamp)
