"""Competition activity: people, files, reasons for rejections."""

from sqlalchemy import update

from grader.models import Submission, SubmissionStatus
from grader.services.site import activity


def test_people_and_files_are_counted_with_reasons_for_rejections(service):
    competition = service.competition()
    sent = [service.submit(competition, user=name) for name in ("ann", "ann", "bob")]
    service.score(sent[2])
    with service.database.write() as session:
        for file, problems in zip(sent[:2], ([{"code": "missing_ids"}], []), strict=True):
            values = {"status": SubmissionStatus.REJECTED, "problems": problems}
            session.execute(update(Submission).where(Submission.id == file.submission.id).values(**values))
    competition = service.reload(competition)
    with service.database.read() as session:
        reasons = activity.reasons(session, competition=competition, now=service.now)
        files = activity.files(session, competition=competition)
        counts = activity.counts(session, competition=competition)
    assert sorted(reasons) == [("missing_ids", 1), ("unknown", 1)]
    assert (counts.people, counts.teams, counts.asking) == (2, 2, 0)
    assert files == {SubmissionStatus.REJECTED: 2, SubmissionStatus.SCORED: 1}
