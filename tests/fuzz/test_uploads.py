"""Fuzz tests of uploads: agreement of page, check and worker, no internal errors."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.models import Submission, SubmissionStatus
from tests.fixtures.mutations import mishaps
from tests.fixtures.parameters import TEXTS
from tests.fixtures.worlds import SLUG

API = f"/api/v1/competitions/{SLUG}"
PAGE = f"/competitions/{SLUG}/submit"


@pytest.fixture(scope="module")
def siege(make_siege):
    """An open competition that receives arbitrary input."""
    return make_siege()


def test_page_check_and_worker_return_the_same_verdict(siege):
    world = siege.world
    file = world.sent.predictions(12)

    @settings(
        max_examples=12,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(mishaps(), st.sampled_from(TEXTS))
    def send(what, description):
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

    send()


def part(disposition, content):
    """Return one part of a multipart form."""
    return b"--b\r\nContent-Disposition: %s\r\n\r\n%s\r\n" % (disposition, content)


def codes(problems):
    """Return problems without their messages, which may include zip errors of the standard library."""
    return [(problem["code"], problem["count"]) for problem in problems]


def as_bytes(text):
    return text if isinstance(text, bytes) else text.encode()


def post(siege, path, form):
    """Send a form to the API as Bob."""
    return siege.require_honest(
        siege.app.test_client().post(
            path,
            data=form + part(b'form-data; name="again"', b"yes") + b"--b--\r\n",
            content_type="multipart/form-data; boundary=b",
            headers=siege.bearer("Bob"),
        )
    )
