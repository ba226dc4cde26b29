"""Checklist for the reveal: missing results."""

from datetime import timedelta

import pytest

from grader.models import (
    ScoringVersion,
    ScoringVersionState,
    Submission,
    SubmissionKind,
    SubmissionStatus,
)
from grader.services.closing import close
from grader.services.closing.close import CloseState, ScoringPending
from grader.services.competitions import lookup
from grader.services.competitions.phases import Stage

# None of these rules depends on the database.
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


@pytest.fixture
def competition(service):
    return service.competition(closes_at=service.now + DAY, max_total_submissions=99)


@pytest.fixture
def state(service, competition):
    """A function that returns the state of the close."""

    def of(*, after: timedelta = timedelta()) -> CloseState:
        with service.database.read() as session:
            current = lookup.get(session, slug=competition.slug)
            return close.state(session, competition=current, now=service.now + after)

    return of


def send_more(service, like, *minutes, **values):
    """Add copies of a submission, delayed by these numbers of minutes."""
    names = ("competition_id", "team_id", "user_id", "sha256", "size_bytes", "file_name", "status", "kind")
    given = {name: getattr(like, name) for name in names} | values
    with service.database.write() as session:
        for each in minutes:
            session.add(Submission(submitted_at=service.now + each * MINUTE, **given))


def test_new_competition_has_nothing_missing(state):
    assert state() == CloseState(Stage.RUNNING, None, 0, 0, None)
    assert state(after=DAY).stage is Stage.CLOSED


def test_timely_submissions_without_a_result_are_counted(service, competition, state):
    first = service.submit(competition).submission
    elsewhere = service.submit(service.competition("other")).submission
    send_more(service, elsewhere, 0, 0, status=SubmissionStatus.FAILED)
    send_more(service, first, 0, kind=SubmissionKind.LATE)
    send_more(service, first, 0, status=SubmissionStatus.FAILED, kind=SubmissionKind.LATE)
    send_more(service, first, 0, status=SubmissionStatus.SCORED)
    send_more(service, first, 0, kind=SubmissionKind.HIDDEN)
    send_more(service, first, 1)
    send_more(service, first, 2, 1, status=SubmissionStatus.FAILED)
    assert (state().waiting_count, state().failed_count) == (3, 2)
    with service.database.write() as session, pytest.raises(ScoringPending, match="3 submissions are still"):
        close.settle(session, competition=competition, now=service.now + DAY)


def test_a_prepared_version_is_listed(service, competition, state, prepare_version):
    service.submit(competition)
    prepare_version(service.competition("other"))
    version = prepare_version(competition)
    assert state().preparing == 2
    with service.database.write() as session:
        session.get_one(ScoringVersion, version.id).state = ScoringVersionState.RETIRED
    assert state().preparing is None
