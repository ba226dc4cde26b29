"""Comparisons of own files on request: pairs, limits, visibility of the splits."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.models import JobState, OrganizerJob, Split
from grader.services.submissions import differences
from grader.services.submissions.accepting import UnknownSubmission
from grader.services.submissions.differences import (
    DAY,
    MAX_DAILY,
    TooManyComparisons,
)
from grader.visibility import Feedback, Viewer
from grader.worker.organizer_jobs.worker import OrganizerWorker
from tests.fixtures.refusals import refused

SECOND = timedelta(seconds=1)


@pytest.fixture
def competition(service):
    return service.competition()


def sent(service, competition, *skills: float, user: str = "ada") -> list[int]:
    found = [service.submit(competition, seed=n, skill=skill, user=user) for n, skill in enumerate(skills)]
    service.score(*found)
    return [each.submission.id for each in found]


def ask(service, competition, one: int, other: int, *, user: str = "ada", after=timedelta()) -> OrganizerJob:
    with service.database.write() as session:
        return differences.request(
            session,
            competition=competition,
            user=service.user(user),
            viewer=Viewer.PARTICIPANT,
            submission_id=one,
            baseline_id=other,
            now=service.now + after,
        )


def splits(service, competition, viewer: Viewer = Viewer.PARTICIPANT) -> list[Split]:
    return differences.shown_splits(service.reload(competition), viewer, service.now)


def test_each_split_has_the_displayed_difference_and_its_error_on_the_same_rows(service, competition):
    one, other = sent(service, competition, 3.0, 0.5)
    job = ask(service, competition, one, other)
    assert ask(service, competition, one, other).id == job.id
    OrganizerWorker(service.settings, service.database, service.storage).run(job.id)
    with service.database.read() as session:
        done = differences.get(session, competition=competition, user=service.user(), job_id=job.id)
        scale = service.reload(competition).live_scoring_version.scale
        public, private = (
            differences.shown(done, [split], scale)[0] for split in (Split.PUBLIC, Split.PRIVATE)
        )
    assert done.state is JobState.DONE
    assert splits(service, competition) == [Split.PUBLIC]
    for found in (public, private):
        assert 0 < float(found.standard_error) < float(found.margin) < float(found.value)
        assert found.value.startswith("+0.") and found.is_clear
    assert splits(service, service.reveal(competition)) == [Split.PRIVATE, Split.PUBLIC]


def test_only_different_scored_files_of_one_team_are_compared(service, competition):
    one, other = sent(service, competition, 1.0, 2.0)
    (theirs,) = sent(service, competition, 1.5, user="bob")
    pending = service.submit(competition, skill=2.5).submission.id
    for baseline, error in (
        (theirs, "unknown_submission"),
        (one, "not_comparable"),
        (pending, "not_comparable"),
    ):
        with refused(error):
            ask(service, competition, one, baseline)
    elsewhere = service.competition("elsewhere")
    with pytest.raises(UnknownSubmission):
        ask(service, elsewhere, one, other)
    job = ask(service, competition, one, other)
    for where, user in ((competition, "bob"), (elsewhere, "ada")):
        with refused("unknown_comparison"), service.database.read() as session:
            differences.get(session, competition=where, user=service.user(user), job_id=job.id)


@pytest.mark.parametrize("feedback", [Feedback.SCORE, Feedback.TIERED, Feedback.BLIND])
def test_nothing_is_compared_before_the_reveal_in_modes_that_hide_differences(service, feedback: Feedback):
    competition = service.competition(feedback=feedback)
    one, other = sent(service, competition, 1.0, 2.0)
    assert splits(service, competition) == []
    assert splits(service, competition, Viewer.ORGANIZER) == [Split.PRIVATE, Split.PUBLIC]
    with refused("differences_hidden"):
        ask(service, competition, one, other)
    assert ask(service, service.reveal(competition), one, other).id


def test_a_team_may_request_20_comparisons_a_day(service, competition):
    one, *others = sent(service, competition, *(number / 10 for number in range(MAX_DAILY + 2)))
    for place, other in enumerate(others[:MAX_DAILY]):
        ask(service, competition, one, other, after=place * SECOND)
    with pytest.raises(TooManyComparisons) as error:
        ask(service, competition, one, others[-1], after=30 * SECOND)
    assert error.value.retry_after == DAY - 30 * SECOND
    assert ask(service, competition, one, others[0], after=30 * SECOND).id  # It exists already.
    theirs = sent(service, competition, 1.0, 2.0, user="bob")
    assert ask(service, competition, *theirs, user="bob", after=30 * SECOND).id
    assert ask(service, competition, one, others[-1], after=DAY + SECOND).id
    with service.database.read() as session:
        assert len(session.scalars(select(OrganizerJob)).all()) == MAX_DAILY + 2
