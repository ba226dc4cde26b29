"""Submission limits: concurrency, and events that free up a submission slot."""

from datetime import UTC, date, datetime, timedelta

import pytest
from sqlalchemy import func, select

from grader.db import Database
from grader.models import JobState, ScoringJob, Submission, SubmissionStatus
from grader.services.site.leased_rows import Rejection
from grader.services.submissions import accepting
from grader.services.submissions import scoring_jobs as jobs
from grader.services.submissions.situation import SentFile
from grader.services.teams import limits, rosters
from tests.fixtures.races import race
from tests.fixtures.refusals import refused

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
LEASE = timedelta(seconds=40)


def allowance(service, competition, *, after=timedelta()):
    with service.database.read() as session:
        team = rosters.find_team(session, competition=competition, user=service.user())
        return limits.allowance(
            session, competition=service.reload(competition), team=team, now=service.now + after
        )


def reject(service, accepted, *, after):
    with service.database.write() as session:
        now = service.now + after
        claim = jobs.claim(session, job_id=accepted.job_ids[0], lease=LEASE, now=now)
        jobs.record(
            session,
            job_ids=[claim.job_id],
            token=claim.token,
            outcomes={claim.job_id: Rejection([])},
            now=now,
        )


def rush(service, competition, user):
    """Send fifty files at once over separate connections; return the outcome of each."""

    def send(number: int):
        database = Database(service.settings.database(), pool_size=1)
        try:
            with database.write() as session:
                file = SentFile(f"{number:064}", 10)
                accepting.accept(session, competition=competition, user=user, file=file, file_name="a.csv")
        finally:
            database.dispose()

    errors = race(*(lambda number=number: send(number) for number in range(50)))
    return [error and error.public_name for error in errors]


@pytest.mark.both_databases
def test_exactly_the_limit_of_fifty_simultaneous_files_is_accepted(service):
    competition = service.competition(max_daily_submissions=5)
    outcomes = rush(service, competition, service.user())
    assert (outcomes.count(None), outcomes.count("daily_limit_reached")) == (5, 45)
    with service.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Submission)) == 5
        assert session.scalar(select(func.count()).select_from(ScoringJob)) == 5


@pytest.mark.both_databases
def test_limits_use_the_utc_day(service):
    midnight = datetime(2026, 3, 29, tzinfo=UTC)  # Many time zones change their clocks during this night.
    service.now = midnight - timedelta(milliseconds=1)
    competition = service.competition(max_daily_submissions=1)
    service.submit(competition)
    with refused("daily_limit_reached") as reached:
        service.submit(competition, seed=2)
    assert reached.value.retry_at == midnight
    assert reached.value.retry_after == timedelta(seconds=1)
    assert reached.value.limit == 1
    assert "The limit resets at 00:00 UTC" in reached.value.message
    service.now = midnight
    last = service.submit(competition, seed=3)
    assert service.submission(last).slot_day == date(2026, 3, 29)


@pytest.mark.both_databases
def test_team_sees_its_used_and_remaining_submissions(service):
    competition = service.competition(max_daily_submissions=3, max_total_submissions=4)
    nobody = allowance(service, competition)
    assert (nobody.used_today, nobody.used_total, nobody.pending, nobody.left) == (0, 0, 0, 3)
    for place in range(3):
        service.submit(competition, seed=place)
    today = allowance(service, competition)
    assert (today.used_today, today.left_today, today.left_total, today.pending) == (3, 0, 1, 3)
    assert today.resets_at == datetime(2026, 1, 6, tzinfo=UTC)
    tomorrow = allowance(service, competition, after=DAY)
    assert (tomorrow.used_today, tomorrow.left_today, tomorrow.left) == (0, 3, 1)
    assert allowance(service, service.competition("unlimited")).left is None


def test_total_limit_applies_across_days(service):
    competition = service.competition(max_total_submissions=2)
    for place in range(2):
        service.submit(competition, seed=place, after=place * DAY)
    with refused("total_limit_reached") as reached:
        service.submit(competition, seed=3, after=9 * DAY)
    assert reached.value.retry_after is None


def test_pending_files_have_their_own_limit(service):
    competition = service.competition(max_pending_submissions=2)
    first = service.submit(competition)
    service.submit(competition, seed=2)
    with refused("too_many_pending", match="2 files without a result") as reached:
        service.submit(competition, seed=3)
    assert reached.value.retry_after == limits.PENDING_RETRY
    service.score(first)
    service.submit(competition, seed=3)


def test_rejected_file_frees_its_slot(service):
    competition = service.competition(max_daily_submissions=1)
    service.score(service.submit(competition, csv=b"nonsense"))
    assert allowance(service, competition).left == 1
    service.submit(competition)


def test_failed_file_frees_its_slot_and_uses_it_again_regardless_of_the_limit(service):
    competition = service.competition(max_daily_submissions=1)
    failed = service.submit(competition)
    service.fail(failed)
    assert service.submission(failed).slot_day is None
    service.submit(competition, seed=2)
    with service.database.write() as session:
        job = session.get_one(ScoringJob, failed.job_ids[0])
        job.state = JobState.DONE
        jobs.show_result(job)
    assert service.submission(failed).status is SubmissionStatus.SCORED
    assert service.submission(failed).slot_day == service.now.date()
    after = allowance(service, competition)
    assert (after.used_today, after.left) == (2, 0)


@pytest.mark.both_databases
def test_rejections_per_rolling_hour_are_limited(service):
    competition = service.competition(max_hourly_rejections=3)
    for place in range(3):
        minutes = timedelta(minutes=10 * place)
        reject(service, service.submit(competition, after=minutes, seed=place), after=minutes)
    with refused("too_many_rejections") as reached:
        service.submit(competition, after=timedelta(minutes=59), seed=9)
    assert reached.value.retry_at == service.now + HOUR
    assert reached.value.retry_after == timedelta(minutes=1)
    service.submit(competition, after=HOUR, seed=9)


def test_late_file_uses_the_same_limits(service):
    competition = service.competition(max_daily_submissions=2)
    service.score(service.submit(competition))
    service.reveal(competition)
    service.submit(competition, seed=2)
    with refused("daily_limit_reached"):
        service.submit(competition, seed=3)
