"""Scoring queue health: waiting jobs, overdue jobs, signs of active workers."""

import enum
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from grader.models import Competition, JobState, ScoringJob, ScoringVersion, ScoringVersionState
from grader.services.site import leased_rows

# The sweeper claims jobs after ten seconds, so if a job has waited for a minute, no sweeper is running.
STALLED_AFTER = timedelta(seconds=60)


class HealthSign(enum.StrEnum):
    """The state of the installation's workers and sweeper."""

    IDLE = "idle"
    WORKING = "working"
    STALLED = "stalled"


@dataclass(frozen=True, slots=True)
class VersionQueue:
    """The number of a scoring version's jobs by state, and the creation time of its oldest open job."""

    number: int
    state: ScoringVersionState
    reason: str
    counts: Mapping[JobState, int]
    oldest_open_at: datetime | None


@dataclass(frozen=True, slots=True)
class Health:
    """A competition's queues, the workers' state, and the last finished and overdue jobs."""

    queues: tuple[VersionQueue, ...]
    sign: HealthSign
    last_finished_at: datetime | None
    overdue_since: datetime | None


def of_competition(session: Session, *, competition: Competition, now: datetime) -> Health:
    """Return the queues of the scoring versions in use, the live one first, and the workers' state."""
    versions = session.scalars(
        select(ScoringVersion)
        .where(
            ScoringVersion.competition_id == competition.id,
            ScoringVersion.state.in_((ScoringVersionState.LIVE, ScoringVersionState.PREPARING)),
        )
        .order_by(ScoringVersion.state != ScoringVersionState.LIVE, ScoringVersion.number)
    ).all()
    counts: dict[int, dict[JobState, int]] = defaultdict(dict)
    is_of_versions = ScoringJob.scoring_version_id.in_([version.id for version in versions])
    for version_id, state, count in session.execute(
        select(ScoringJob.scoring_version_id, ScoringJob.state, func.count())  # read from an index alone
        .where(is_of_versions)
        .group_by(ScoringJob.scoring_version_id, ScoringJob.state)
    ):
        counts[version_id][state] = count
    since = (
        select(ScoringJob.scoring_version_id, func.min(ScoringJob.created_at))
        .where(is_of_versions, ScoringJob.state.in_(leased_rows.OPEN_STATES))
        .group_by(ScoringJob.scoring_version_id)
    )
    oldest = dict(session.execute(since).all())
    queues = tuple(
        VersionQueue(each.number, each.state, each.reason, counts[each.id], oldest.get(each.id))
        for each in versions
    )
    return Health(queues, *sign_of_life(session, now))


def sign_of_life(session: Session, now: datetime) -> tuple[HealthSign, datetime | None, datetime | None]:
    """Return the workers' state, the time when a job last ended, and the time since which a job is overdue.

    A job is overdue if it has waited for a minute during which no job was claimed or finished.
    """
    last = session.scalar(select(func.max(ScoringJob.finished_at)))
    waiting = select(func.min(ScoringJob.available_at)).where(
        ScoringJob.state == JobState.WAITING, ScoringJob.available_at <= now
    )
    lost = select(func.min(ScoringJob.lease_until)).where(
        ScoringJob.state == JobState.CLAIMED, ScoringJob.lease_until <= now
    )
    held = select(func.count()).where(ScoringJob.state == JobState.CLAIMED, ScoringJob.lease_until > now)
    free_since = min(filter(None, (session.scalar(waiting), session.scalar(lost))), default=None)
    is_held = bool(session.scalar(held))
    if free_since is None:
        return (HealthSign.WORKING if is_held else HealthSign.IDLE), last, None
    works = is_held or (last is not None and now - last < STALLED_AFTER)
    is_stalled = not works and now - free_since > STALLED_AFTER
    return (
        (HealthSign.STALLED if is_stalled else HealthSign.WORKING),
        last,
        free_since if is_stalled else None,
    )
