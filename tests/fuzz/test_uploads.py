"""Fuzz tests of uploads: agreement of page, check and worker, no internal errors."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from grader.models import Submission, SubmissionStatus
from tests.fixtures.mutations import Mishap, mishaps
from tests.fixtures.sieges import HOSTILE, Siege
from tests.fixtures.worlds import SLUG

API = f"/api/v1/competitions/{SLUG}"
PAGE = f"/competitions/{SLUG}/submit"
# The values are named to keep failure reports readable.
LARGE = {"brackets": "[" * 200_000, "bytes": "x" * 70_000}
EXAMPLES = 12
# Part headers and whole bodies that no browser sends.
DISPOSITIONS = (
    b'form-data; name="file"; filename="p.csv"',
    b'form-data; name="file"',
    b"form-data; name=file; filename=p.csv",
    b'form-data; name="file"; filename="a\\"b\\\\.csv"',
    b"form-data; name=\"file\"; filename*=UTF-8''%e2%82%ac.csv",
    b"form-data; name=\"file\"; filename*=none''%ff",
    b'form-data; name="file"; filename="\xff\xfe\x00"',
    b'form-data; name="file"; filename="../../' + b"x" * 4000 + b'"',
    b'form-data; name="description"',
    b'form-data; name="again"',
    b"form-data",
    b"attachment",
    b"",
)
EXTRA_HEADERS = (
    b"",
    b"Content-Type: text/csv\r\n",
    b"Content-Type: application/json; charset=none\r\n",
    b"Content-Encoding: gzip\r\n",
    b"Content-Transfer-Encoding: base64\r\n",
    b"Content-Length: 99999999999\r\n",
    b"X: " + b"y" * 9000 + b"\r\n",
    b": \r\n",
    b"\xff: \xff\r\n",
)
ENDS = (b"--b--\r\n", b"--b--", b"--b", b"", b"--b--\r\nepilogue", b"--b\r\n--b--\r\n", b"\r\n" * 50)


@pytest.fixture(scope="module")
def siege(make_siege: Callable[..., Siege]) -> Siege:
    """An open competition that receives arbitrary input."""
    return make_siege()


def test_page_check_and_worker_return_the_same_verdict(siege: Siege):
    world = siege.world
    file = world.sent.predictions(12)

    @given(mishaps(), st.sampled_from(HOSTILE))
    def send(what: Mishap, description):
        siege.begin()
        data = what.happen_to(file)
        form = part(b'form-data; name="file"; filename="p.csv"', data) + part(
            b'form-data; name="description"', as_bytes(description)
        )
        checked = post(siege, f"{API}/check", form)
        if checked.status_code == 503:
            return  # A busy machine may not have time to check.
        kept = post(siege, f"{API}/submissions", form)
        assert checked.status_code == 200
        is_clean = checked.json["is_clean"]
        if kept.status_code == 400:  # The description is too long.
            return
        assert kept.status_code == 201, kept.text
        world.arena.score_all()
        shown = siege.require_honest(siege.app.test_client().get(kept.location, headers=siege.bearer("Bob")))
        with world.arena.database.read() as session:
            stored = session.get_one(Submission, kept.json["id"])
        assert stored.status is (SubmissionStatus.SCORED if is_clean else SubmissionStatus.REJECTED)
        assert shown.json["status"] == stored.status.value
        assert codes(stored.problems) == codes(checked.json["problems"])
        for path in (f"/competitions/{SLUG}/submissions/{stored.id}", f"/competitions/{SLUG}/submissions"):
            siege.require_honest(siege.browser("Bob").get(path))

    trying(EXAMPLES, send)


def test_no_body_breaks_an_upload(siege: Siege):
    parts = st.lists(
        st.builds(
            part,
            st.sampled_from(DISPOSITIONS),
            st.one_of(st.binary(max_size=40), st.just(b"id,prediction\r\n--b"), st.just(b"x" * 3000)),
            st.sampled_from(EXTRA_HEADERS),
        ),
        max_size=4,
    )
    bodies = st.builds(lambda start, sent, end: start + b"".join(sent) + end, st.binary(max_size=4), parts,
                       st.sampled_from(ENDS))  # fmt: skip
    types = st.sampled_from(
        (
            "multipart/form-data; boundary=b",
            'multipart/form-data; boundary="b"; charset=none',
            "multipart/form-data; boundary=" + "b" * 3000,
            "multipart/mixed; boundary=b",
            "application/json",
            "text/csv",
        )
    )
    lengths = st.sampled_from((None, None, None, "0", "1", "-1", "x", "99999999999999999999", "1e3"))

    @given(
        st.sampled_from((f"{API}/submissions", f"{API}/check", PAGE)),
        st.one_of(bodies, bodies, st.sampled_from((b"brackets", b"bytes", b'{"file": 1}', b"\xff" * 99))),
        types,
        lengths,
        st.one_of(st.none(), st.sampled_from(("k", "", "k" * 300, "\xe9"))),
    )
    def send(path: str, body: bytes, kind: str, length: str | None, key: str | None):
        siege.begin()
        body = LARGE[body.decode()].encode() if body in (b"brackets", b"bytes") else body
        overrides = {} if length is None else {"CONTENT_LENGTH": length}
        headers = siege.bearer("Bob") | ({} if key is None else {"Idempotency-Key": key})
        browser = siege.browser("Bob")
        if path == PAGE:
            body = part(b'form-data; name="csrf_token"', siege.form_token("Bob", browser).encode()) + body
        siege.require_honest(
            browser.post(path, data=body, content_type=kind, headers=headers, environ_overrides=overrides)
        )

    trying(3 * EXAMPLES, send)


def part(disposition: bytes, content: bytes, extra: bytes = b"") -> bytes:
    """Return one part of a multipart form."""
    return b"--b\r\nContent-Disposition: %s\r\n%s\r\n%s\r\n" % (disposition, extra, content)


def codes(problems: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """Return problems without their messages, which may include zip errors of the standard library."""
    return [(problem["code"], problem["count"]) for problem in problems]


def as_bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def post(siege: Siege, path: str, form: bytes) -> TestResponse:
    """Send a form to the API as Bob."""
    return siege.require_honest(
        siege.app.test_client().post(
            path,
            data=form + part(b'form-data; name="again"', b"yes") + b"--b--\r\n",
            content_type="multipart/form-data; boundary=b",
            headers=siege.bearer("Bob"),
        )
    )


def trying(examples: int, test: Callable[[], None]):
    """Run a property test with this number of examples."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large]
    settings(max_examples=examples, deadline=None, suppress_health_check=checks)(test)()
