"""Comparisons of own files on request: pairs, limits, visibility of the splits."""

from datetime import timedelta

import pytest

from grader.models import JobState, Split
from grader.services.submissions import comparison
from grader.services.submissions.comparison import DAY, MAX_DAILY
from grader.visibility import Feedback, Viewer
from grader.worker.organizer_jobs.worker import run_job
from tests.fixtures.refusals import refused
from tests.fixtures.services import as_person

SECOND = timedelta(seconds=1)


@pytest.fixture
def competition(service):
    return service.competition()


def sent(service, competition, *skills, user="ada"):
    found = [service.submit(competition, seed=n, skill=skill, user=user) for n, skill in enumerate(skills)]
    service.score(*found)
    return [each.submission.id for each in found]


def ask(service, competition, one, other, *, user="ada", after=timedelta()):
    person = service.user(user)
    with service.database.write() as session:
        return comparison.request(
            as_person(session, competition, person, now=service.now + after),
            viewer=Viewer.PARTICIPANT,
            submission_id=one,
            baseline_id=other,
        )


def splits(service, competition, viewer=Viewer.PARTICIPANT):
    return comparison.shown_splits(service.reload(competition), viewer, service.now)


def test_each_split_has_the_displayed_difference_and_its_error_on_the_same_rows(service, competition):
    one, other = sent(service, competition, 3.0, 0.5)
    job = ask(service, competition, one, other)
    assert ask(service, competition, one, other).id == job.id
    run_job(service.settings, service.database, service.storage, job.id)
    with service.database.read() as session:
        done = comparison.get_job(session, competition=competition, user=service.user(), job_id=job.id)
        scale = service.reload(competition).live_scoring_version.scale
        found = comparison.differences(done, list(Split), scale)
    assert (done.state, len(found)) == (JobState.DONE, 2)
    assert splits(service, competition) == [Split.PUBLIC]
    for each in found:
        assert 0 < float(each.standard_error) < float(each.margin) < float(each.value)
        assert each.value.startswith("+0.") and each.is_clear
    assert splits(service, service.reveal(competition)) == [Split.PRIVATE, Split.PUBLIC]


def test_only_different_scored_files_of_one_team_are_compared(service, competition):
    one, other = sent(service, competition, 1.0, 2.0)
    (theirs,) = sent(service, competition, 1.5, user="bob")
    pending = service.submit(competition, skill=2.5).submission.id
    elsewhere = service.competition("elsewhere")
    for where, baseline, error in (
        (competition, theirs, "unknown_submission"),
        (competition, one, "not_comparable"),
        (competition, pending, "not_comparable"),
        (elsewhere, other, "unknown_submission"),
    ):
        with refused(error):
            ask(service, where, one, baseline)
    job = ask(service, competition, one, other)
    for where, user in ((competition, "bob"), (elsewhere, "ada")):
        with refused("unknown_comparison"), service.database.read() as session:
            comparison.get_job(session, competition=where, user=service.user(user), job_id=job.id)


@pytest.mark.parametrize("feedback", [Feedback.SCORE, Feedback.TIERED, Feedback.BLIND])
def test_nothing_is_compared_before_the_reveal_in_modes_that_hide_differences(service, feedback):
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
    with refused("too_many_comparisons") as reached:
        ask(service, competition, one, others[-1], after=30 * SECOND)
    assert reached.value.retry_after == DAY - 30 * SECOND
    assert ask(service, competition, one, others[0], after=30 * SECOND).id  # It exists already.
    theirs = sent(service, competition, 1.0, 2.0, user="bob")
    assert ask(service, competition, *theirs, user="bob", after=30 * SECOND).id
    assert ask(service, competition, one, others[-1], after=DAY + SECOND).id
