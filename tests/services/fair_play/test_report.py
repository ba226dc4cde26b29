"""Automatic similarity reports: schedule, and retention of earlier reports."""

from datetime import datetime, timedelta

from grader.models import Competition, JobState, OrganizerJob
from grader.services.audit.log import Actor
from grader.services.fair_play import report
from grader.services.fair_play.report import EMPTY

DAY = timedelta(days=1)


def due(service, now: datetime) -> list[str]:
    with service.database.read() as session:
        return [competition.slug for competition in report.due(session, now=now)]


def look(service, competition: Competition, now: datetime, *, state: JobState = JobState.DONE) -> int:
    """Request a report, and finish its job immediately."""
    with service.database.write() as session:
        job = report.request(session, competition=competition, actor=None, now=now)
        job.state, job.result = state, EMPTY.as_dict()
        return job.id


def test_report_is_due_a_day_after_the_last_while_new_files_arrive(service):
    competition = service.competition()
    noon = service.now
    assert due(service, noon + 2 * DAY) == []
    service.submit(competition, after=DAY / 2)
    assert due(service, noon + DAY / 2) == []
    assert due(service, noon + DAY) == [competition.slug]
    look(service, competition, noon + DAY)
    assert due(service, noon + 3 * DAY) == []
    service.submit(competition, after=1.5 * DAY, seed=8)
    assert due(service, noon + 1.9 * DAY) == []
    assert due(service, noon + 2 * DAY) == [competition.slug]


def test_last_files_before_a_close_are_compared_within_a_day(service):
    competition = service.competition(closes_at=service.now + DAY)
    service.submit(competition, after=0.9 * DAY)
    assert due(service, service.now + 1.5 * DAY) == [competition.slug]
    assert due(service, service.now + 2.1 * DAY) == []


def test_only_the_last_successful_earlier_report_is_kept(service):
    competition = service.competition()
    first = look(service, competition, service.now)
    good = look(service, competition, service.now)
    failed = look(service, competition, service.now, state=JobState.FAILED)
    with service.database.write() as session:
        newest = report.request(session, competition=competition, actor=Actor.shell(), now=service.now)
        again = report.request(session, competition=competition, actor=Actor.shell(), now=service.now)
        assert again.id == newest.id
    with service.database.read() as session:
        assert {job.id for job in session.query(OrganizerJob)} == {good, failed, newest.id}
        assert first not in {good, failed, newest.id}
        last = report.last(session, competition=competition)
    assert last is not None and last[0].id == good and last[1] == EMPTY
