"""Signatures of webhooks."""

import hashlib
import hmac

from hypothesis import assume, given
from hypothesis import strategies as st

from grader.services.webhooks.signatures import new_secret, sign

SECRET = "whsec_abc"


@given(st.binary(), st.integers(0, 2**40))
def test_a_receiver_computes_the_same_signature_from_the_time_a_point_and_the_body(
    body: bytes, timestamp: int
):
    expected = hmac.new(SECRET.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    assert sign(body, secret=SECRET, timestamp=timestamp) == f"v1={expected}"


@given(st.tuples(st.binary(), st.integers(0, 2**40)), st.tuples(st.binary(), st.integers(0, 2**40)))
def test_another_body_or_time_has_another_signature(first: tuple[bytes, int], second: tuple[bytes, int]):
    assume(first != second)
    (body, timestamp), (other_body, other_timestamp) = first, second
    signature = sign(body, secret=SECRET, timestamp=timestamp)
    assert signature != sign(other_body, secret=SECRET, timestamp=other_timestamp)


def test_another_secret_signs_otherwise_and_no_two_are_the_same():
    assert sign(b"", secret=new_secret(), timestamp=0) != sign(b"", secret=new_secret(), timestamp=0)
    assert len({new_secret() for _ in range(100)}) == 100
