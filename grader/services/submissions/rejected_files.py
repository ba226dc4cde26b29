"""Deletion of rejected files after a day or above the storage quota.

The row and its problems are kept. `file_deleted_at` is the time at which the row released its blob. A blob
that no other row needs is deleted by the same rule as orphaned blobs: under the lock that excludes writers
about to reference the blob, and only if the blob is too old to belong to an upload in progress.
"""

from datetime import datetime, timedelta

from sqlalchemy import func, or_, select, update
from sqlalchemy.orm import Session

from grader import db
from grader.db import Database
from grader.models import JobState, ScoringJob, Submission, SubmissionStatus, Team
from grader.storage import blobs
from grader.storage.stores import Storage

KEPT_FOR = timedelta(days=1)
QUOTA_WINDOW = timedelta(hours=1)
QUOTA_BYTES = 200_000_000
# A file's row is written seconds after the file or, on an overloaded machine, minutes after it.
UNTOUCHED_FOR = timedelta(minutes=10)
# Blobs released earlier are ordinary orphans, which the daily collection deletes.
REMEMBERED_FOR = timedelta(hours=3)
MOST = 500
# Whether any scoring version has a result other than `rejected` for a file.
_IS_NEEDED = (
    select(ScoringJob.id)
    .where(ScoringJob.submission_id == Submission.id, ScoringJob.state != JobState.REJECTED)
    .correlate(Submission)
    .exists()
)


def release_over_quota(session: Session, *, submission_id: int, now: datetime) -> bool:
    """Release a rejected file's bytes if they exceed the storage quota; return whether they were released.

    The quota applies to the files rejected and kept within the last hour, both per team and per person, so
    creating another team does not provide a new quota. The team is locked before its files are counted.
    """
    submission = session.scalars(
        select(Submission)
        .join(Submission.team)
        .where(Submission.id == submission_id)
        .with_for_update(key_share=True, of=Team)
    ).one()
    if submission.status is not SubmissionStatus.REJECTED or submission.file_deleted_at is not None:
        return False
    others = select(func.coalesce(func.sum(Submission.size_bytes), 0)).where(
        Submission.id != submission.id,
        or_(Submission.team_id == submission.team_id, Submission.user_id == submission.user_id),
        Submission.status == SubmissionStatus.REJECTED,
        Submission.file_deleted_at.is_(None),
        Submission.finished_at > now - QUOTA_WINDOW,
    )
    kept_bytes = int(session.scalar(others) or 0)
    is_needed = session.scalar(select(_IS_NEEDED).where(Submission.id == submission.id))
    if kept_bytes + submission.size_bytes <= QUOTA_BYTES or is_needed:
        return False
    submission.file_deleted_at = submission.finished_at
    session.flush()
    return True


def release_old(session: Session, *, now: datetime, kept_for: timedelta) -> int:
    """Release the bytes of files that were rejected more than `kept_for` ago; return their number."""
    old = (
        select(Submission.id)
        .where(
            Submission.status == SubmissionStatus.REJECTED,
            Submission.file_deleted_at.is_(None),
            Submission.finished_at <= now - kept_for,
            ~_IS_NEEDED,
        )
        .order_by(Submission.id)
        .limit(MOST)
    )
    released = session.scalars(
        update(Submission)
        .where(Submission.id.in_(old.scalar_subquery()), Submission.status == SubmissionStatus.REJECTED)
        .values(file_deleted_at=now)
        .returning(Submission.id)
        .execution_options(synchronize_session=False)
    )
    return len(released.all())


def delete(database: Database, storage: Storage, *, kept_for: timedelta = KEPT_FOR) -> set[str]:
    """Release old rejected files, and delete the released blobs that nothing else needs."""
    while True:
        with database.read() as session:
            now = db.now(session)
        with database.write() as session:
            if release_old(session, now=now, kept_for=kept_for) < MOST:
                break
    with database.read() as session:
        released = session.scalars(
            select(Submission.sha256)
            .where(Submission.file_deleted_at > now - REMEMBERED_FOR)
            .distinct()
            .order_by(Submission.sha256)
        ).all()
    return blobs.delete_unnamed(database, storage, released, age=UNTOUCHED_FOR)
