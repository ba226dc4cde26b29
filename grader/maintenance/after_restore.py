"""After a restore: free the jobs claimed before, and hold back mail that may have been sent."""

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from grader.models import (
    Competition,
    CompetitionState,
    JobState,
    Mail,
    OrganizerJob,
    Participation,
    ScoringJob,
    Submission,
    SubmissionStatus,
)
from grader.services.mail.outbox import GIVEN_UP_AFTER

WHY = "Not sent after a restore: it may already have been sent."
BATCH = 1000


def free_claims(session: Session) -> None:
    """Let every job that was claimed wait again, as if it had not been claimed: its worker is elsewhere."""
    for jobs in (ScoringJob, OrganizerJob):
        session.execute(
            update(jobs)
            .where(jobs.state == JobState.CLAIMED)
            .values(
                state=JobState.WAITING, lease_until=None, token=None, attempt_count=jobs.attempt_count - 1
            )
            .execution_options(synchronize_session=False)
        )


def hold_mails_back(session: Session, *, made_at: datetime, now: datetime) -> int:
    """Give up what waits in the outbox; return how much it was.

    The results of what was pending at `made_at`, and of competitions that were to be revealed since, are
    taken for told: when they come again nobody is written to.
    """
    waiting = session.scalars(
        select(Mail).where(Mail.sent_at.is_(None), Mail.created_at > now - GIVEN_UP_AFTER)
    )
    count = 0
    for mail in waiting:
        mail.available_at, mail.error = mail.created_at + GIVEN_UP_AFTER, WHY
        count += 1
    session.flush()
    known = set(session.scalars(select(Mail.key).where(Mail.key.is_not(None))))
    told = [
        {
            "key": key,
            "user_id": user_id,
            "to_address": "",
            "subject": "",
            "body": "",
            "created_at": now,
            "available_at": now,
            "attempt_count": 0,
            "sent_at": now,
            "error": WHY,
        }
        for user_id, key in {*_results(session), *_reveals(session, made_at, now)}
        if key not in known
    ]
    for start in range(0, len(told), BATCH):
        session.execute(insert(Mail), told[start : start + BATCH])
    return count


def _results(session: Session) -> Iterator[tuple[int, str]]:
    pending = select(Submission.user_id, Submission.id).where(Submission.status == SubmissionStatus.PENDING)
    for user_id, submission_id in session.execute(pending):
        for status in (SubmissionStatus.SCORED, SubmissionStatus.REJECTED, SubmissionStatus.FAILED):
            yield user_id, f"{user_id}:{status.value}:{submission_id}"


def _reveals(session: Session, made_at: datetime, now: datetime) -> Iterator[tuple[int, str]]:
    due = select(Participation.user_id, Competition.id).where(
        Participation.competition_id == Competition.id,
        Competition.state == CompetitionState.PUBLISHED,
        Competition.reveals_at.is_not(None),
        Competition.reveals_at <= now,
        Competition.reveals_at > made_at,
    )
    for user_id, competition_id in session.execute(due):
        yield user_id, f"{user_id}:results:{competition_id}"
