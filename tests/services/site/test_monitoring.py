"""State of the site for the metrics."""

from datetime import timedelta

from grader.models import JobState, Mail, OrganizerJob, OrganizerJobKind, ScoringJob
from grader.services.site import monitoring, outbox
from tests.fixtures.rescorings import prepare
from tests.fixtures.service import NOON, write_solution

LATER = NOON + timedelta(seconds=90)


def state(service, now=LATER):
    """Return the values as in Prometheus, without zeros."""
    with service.database.read() as session:
        found = monitoring.gauges(session, now=now)
    return {
        "/".join((each.name.removeprefix("fairboard_"), *labels)): value
        for each in found
        for labels, value in each.values.items()
        if value
    }


def test_empty_site_has_all_gauges_at_zero(service):
    assert state(service) == {}
    with service.database.read() as session:
        found = {each.name: set(each.values) for each in monitoring.gauges(session, now=NOON)}
    assert found["fairboard_submissions"] == {("pending",), ("scored",), ("rejected",), ("failed",)}
    assert {kind for kind, _ in found["fairboard_jobs"]} == set(map(str, monitoring.KINDS))


def test_submissions_and_their_jobs_are_counted_by_status(service):
    competition = service.competition()
    service.score(service.submit(competition), service.submit(competition, csv=b"broken"))
    service.submit(competition, after=timedelta(seconds=30))
    service.submit(competition, after=timedelta(seconds=60))
    assert state(service) == {
        "submissions/pending": 2,
        "submissions/scored": 1,
        "submissions/rejected": 1,
        "competitions/published": 1,
        "jobs/scoring/waiting": 2,
        "oldest_job_seconds/scoring": 60,
    }


def test_rescorings_are_separate_from_live_scoring(service):
    competition = service.competition()
    service.score(service.submit(competition, seed=1), service.submit(competition, seed=2))
    prepare(service, competition, write_solution(seed=2))
    found = state(service, now=NOON + timedelta(hours=1))
    assert found["jobs/rescoring/waiting"] == 2
    assert not {"jobs/scoring/waiting", "jobs/rescoring/done"} & found.keys()
    with service.database.write() as session:
        jobs = session.query(ScoringJob).order_by(ScoringJob.id.desc()).limit(2).all()
        jobs[0].state, jobs[1].state = JobState.DONE, JobState.FAILED
    found = state(service)
    assert (found["jobs/rescoring/done"], found["jobs/rescoring/failed"]) == (1, 1)


def test_organizers_jobs_are_counted_by_kind_without_dismissed_ones(service):
    competition = service.competition()
    states = ((JobState.WAITING, 0), (JobState.CLAIMED, 50), (JobState.FAILED, 0), (JobState.DONE, 0))
    with service.database.write() as session:
        for is_dismissed in (False, True):
            for job_state, seconds in states:
                at = NOON + timedelta(seconds=seconds)
                session.add(
                    OrganizerJob(
                        competition_id=competition.id,
                        kind=OrganizerJobKind.DATA,
                        parameters={},
                        state=job_state,
                        created_at=at,
                        available_at=at,
                        dismissed_at=at if is_dismissed else None,
                    )
                )
    found = state(service)
    assert (found["jobs/data/waiting"], found["jobs/data/claimed"]) == (1, 1)
    assert (found["jobs/data/failed"], found["oldest_job_seconds/data"]) == (1, 90)


def test_undelivered_mails_count_until_they_are_given_up(service):
    ages = (timedelta(seconds=10), timedelta(hours=1), timedelta(days=3))
    with service.database.write() as session:
        for number, age in enumerate(ages):
            outbox.write(session, to_address="a@b.example", subject="s", body="b", now=LATER - age)
            session.query(Mail).filter_by(created_at=LATER - age).update({"attempt_count": number + 1})
    found = state(service)
    assert [found[f"mail/{state}"] for state in ("waiting", "retried", "failed")] == [1, 1, 1]
    assert found["mail_oldest_seconds"] == 3600
