"""Mail on a submission's result: to the submitter (scored, rejected), to organizers (failed)."""

from datetime import datetime

from sqlalchemy.orm import Session

from grader.models import Submission, SubmissionStatus
from grader.services.competitions import organizers
from grader.services.mail import letters
from grader.services.mail.outbox import Notice


def tell_result(session: Session, *, submission: Submission, now: datetime) -> None:
    """Write to the sender that a submission was scored, rejected or has failed; to organizers a failure.

    The mail holds no score: the page that it links to shows what its reader may see.
    """
    competition = submission.competition
    count = len(submission.problems)
    letters.send(
        session,
        "result",
        [submission.user],
        kind=Notice.SCORED,
        key=f"{submission.status.value}:{submission.id}",
        competition=competition,
        submission=submission,
        problems="1 problem" if count == 1 else f"{count:,} problems",
        now=now,
    )
    if submission.status is SubmissionStatus.FAILED:
        letters.send(
            session,
            "scoring-failed",
            organizers.to_notify(session, competition=competition),
            kind=Notice.ORGANIZER,
            key=f"organizer-failed:{submission.id}",
            competition=competition,
            submission=submission,
            now=now,
        )
