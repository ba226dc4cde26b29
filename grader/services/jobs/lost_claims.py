"""Crashed workers: free their claimed jobs at once for others on the same machine, before the lease ends.

A claim that is free keeps its token until somebody else takes it, so a process that was thought dead records
its result, or finds its token old. It counts as a lost lease.
"""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import Update, select, update
from sqlalchemy.orm import Session

from grader.models import JobState, OrganizerJob, ScoringJob

# What has been lost so often may be what kills its holders. It waits for its lease then, so that ten lost
# leases take minutes: a machine without memory for a moment fails no file.
FREED_AT_ONCE = 3
ORGANIZERS_FREED_AT_ONCE = 1


def holders(session: Session, *, machine: str, now: datetime) -> set[str]:
    """Return which processes of a machine hold claims with running leases."""
    found: set[str] = set()
    for job in (ScoringJob, OrganizerJob):
        names = select(job.holder).where(
            job.state == JobState.CLAIMED,
            job.lease_until > now,
            job.holder.startswith(f"{machine}/", autoescape=True),
        )
        found.update(name for name in session.scalars(names.distinct()) if name is not None)
    return found


def free(session: Session, *, holders: Collection[str], now: datetime) -> int:
    """End the leases of processes that died; return how many claims are free now."""
    scoring = _ended(ScoringJob, holders, FREED_AT_ONCE, now)
    organizers = _ended(OrganizerJob, holders, ORGANIZERS_FREED_AT_ONCE, now)
    return sum(len(session.scalars(statement).all()) for statement in (scoring, organizers))


def _ended(
    job: type[ScoringJob] | type[OrganizerJob], holders: Collection[str], most: int, now: datetime
) -> Update:
    return (
        update(job)
        .where(
            job.state == JobState.CLAIMED,
            job.lease_until > now,
            job.holder.in_(holders),
            job.attempt_count - job.error_count <= most,
        )
        .values(lease_until=now)
        .returning(job.id)
        .execution_options(synchronize_session=False)
    )
