"""Mail on a submission's result: to the submitter (scored, rejected), to organizers (failed)."""

from datetime import datetime

from sqlalchemy.orm import Session

from grader.models import Submission, SubmissionStatus
from grader.services.competitions import organizers
from grader.services.mail import outbox
from grader.services.mail.outbox import Notice


def tell_result(session: Session, *, submission: Submission, now: datetime) -> None:
    """Write to the sender that a submission was scored, rejected or has failed; to organizers a failure.

    The mail holds no score: the page that it links to shows what its reader may see.
    """
    name = f"Submission #{submission.id} to {submission.competition.title}"
    link = f"{outbox.SITE}/competitions/{submission.competition.slug}/submissions/{submission.id}"
    outbox.notify(
        session,
        user=submission.user,
        kind=Notice.SCORED,
        key=f"{submission.status.value}:{submission.id}",
        subject=f"{name}: {submission.status.value}",
        body=f"{_sentence(submission)}\n\n{submission.file_name}\n{link}\n",
        now=now,
    )
    if submission.status is SubmissionStatus.FAILED:
        for organizer in organizers.to_notify(session, competition=submission.competition):
            outbox.notify(
                session,
                user=organizer,
                kind=Notice.ORGANIZER,
                key=f"organizer-failed:{submission.id}",
                subject=f"{name} has failed: incident {submission.incident}",
                body=f"Scoring submission #{submission.id} broke. The worker's log shows why under incident "
                f"{submission.incident}. It is retried every hour for a day.",
                now=now,
            )


def _sentence(submission: Submission) -> str:
    match submission.status:
        case SubmissionStatus.SCORED:
            return "Your file is scored."
        case SubmissionStatus.REJECTED:
            count = len(submission.problems)
            problems = "1 problem" if count == 1 else f"{count:,} problems"
            return f"Rejected: your file has {problems}. No submission used."
        case _:
            return (
                "Failed: our fault. No submission used. We retry automatically, and the organizers know. "
                f"Incident {submission.incident}."
            )
