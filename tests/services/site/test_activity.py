"""Competition activity: files per UTC day, reasons for rejections."""

from datetime import timedelta

from sqlalchemy import update

from grader.models import Submission, SubmissionStatus
from grader.services.site import activity


def test_files_are_counted_by_utc_day_with_their_reasons(service):
    competition = service.competition()
    sent = [service.submit(competition, user=name) for name in ("ann", "ann", "bob")]
    service.score(sent[2])
    midnight = service.now.replace(hour=0, minute=0)
    last_moment = midnight - timedelta(seconds=1)
    with service.database.write() as session:
        for file, problems in zip(sent[:2], ([{"code": "missing_ids"}], []), strict=True):
            values = {"status": SubmissionStatus.REJECTED, "problems": problems, "submitted_at": last_moment}
            session.execute(update(Submission).where(Submission.id == file.submission.id).values(**values))
    competition = service.reload(competition)
    with service.database.read() as session:
        found = activity.of(session, competition=competition, now=service.now)
        files = activity.files(session, competition=competition)
        counts = activity.counts(session, competition=competition, files=files)
    assert len(found.days) == activity.DAYS and found.days[-1].day == service.now.date()
    assert [(day.accepted, day.rejected) for day in found.days[-2:]] == [(0, 2), (1, 0)]
    assert sorted(found.reasons) == [("missing_ids", 1), ("unknown", 1)]
    assert (counts.people, counts.teams, counts.asking) == (2, 2, 0)
    assert counts.files == {SubmissionStatus.REJECTED: 2, SubmissionStatus.SCORED: 1}
    assert counts.size_bytes > 0
