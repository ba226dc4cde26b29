"""Checklist for the reveal: missing results."""

from datetime import timedelta

import pytest

from grader.models import (
    Competition,
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
from grader.services.teams import divisions

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
    """Add copies of a submission, delayed by these numbers of minutes; return their ids."""
    names = ("competition_id", "team_id", "user_id", "sha256", "size_bytes", "file_name", "status", "kind")
    given = {name: getattr(like, name) for name in names} | values
    with service.database.write() as session:
        rows = [Submission(submitted_at=service.now + each * MINUTE, **given) for each in minutes]
        for row in rows:
            session.add(row)
            session.flush()
        return [row.id for row in rows]


def ids(submissions):
    return [each.id for each in submissions]


def test_new_competition_has_nothing_missing(state):
    assert state() == CloseState(Stage.RUNNING, None, 0, (), 0, (), None, 0)
    assert state(after=DAY).stage is Stage.CLOSED


def test_reopened_selection_blocks_the_close(service, competition, state):
    with service.database.write() as session:
        session.get_one(Competition, competition.id).selection_deadline = service.now + 2 * DAY
    assert state(after=DAY).selection_open_until == service.now + 2 * DAY
    assert state(after=2 * DAY).selection_open_until is None


def test_timely_submissions_without_a_result_are_counted_and_the_first_ten_listed(
    service, competition, state
):
    first = service.submit(competition).submission
    elsewhere = service.submit(service.competition("other")).submission
    send_more(service, elsewhere, 0, 0, status=SubmissionStatus.FAILED)
    send_more(service, first, 0, kind=SubmissionKind.LATE)
    send_more(service, first, 0, status=SubmissionStatus.FAILED, kind=SubmissionKind.LATE)
    send_more(service, first, 0, status=SubmissionStatus.SCORED)
    hidden = send_more(service, first, 0, kind=SubmissionKind.HIDDEN)
    later = send_more(service, first, *range(12, 2, -1))
    failed = send_more(service, first, 2, 1, 1, status=SubmissionStatus.FAILED)
    found = state()
    waiting = [first.id, *hidden, *later[::-1]]
    assert (found.waiting_count, ids(found.waiting)) == (12, waiting[:10])
    assert (found.failed_count, ids(found.failed)) == (3, [failed[1], failed[2], failed[0]])
    assert {each.team.name for each in (*found.waiting, *found.failed)} == {"ada"}
    with service.database.write() as session, pytest.raises(ScoringPending) as refused:
        close.settle(session, competition=competition, now=service.now + DAY)
    assert (refused.value.count, refused.value.submission_ids) == (12, tuple(waiting[:10]))
    assert "12 submissions are still being scored" in refused.value.message
    assert refused.value.message.endswith("UTC), 2 more. Reveal the leaderboard once all are scored.")


def test_a_prepared_version_is_listed(service, competition, state, prepare_version):
    service.submit(competition)
    prepare_version(service.competition("other"))
    version = prepare_version(competition)
    assert state().preparing == 2
    with service.database.write() as session:
        session.get_one(ScoringVersion, version.id).state = ScoringVersionState.RETIRED
    assert state().preparing is None


def test_ranked_teams_without_a_division_are_counted_after_the_close(service, state, competition):
    with service.database.write() as session:
        session.get_one(Competition, competition.id).divisions = "A"
    for name in ("ada", "bob"):
        service.score(service.submit(competition, user=name))
    service.act(divisions.assign_lines, competition=competition, text="ada,A")
    assert [state(after=after).undivided_count for after in (timedelta(), 2 * DAY)] == [0, 1]
