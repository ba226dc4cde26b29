"""Publication of the solution in canonical form after the reveal.

The published solution belongs to the live scoring version. If another version goes live, that version's
solution is published instead.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, OrganizerRefusal, ParticipantError, Refusal
from grader.files import RowIds
from grader.models import Competition, OrganizerJob, OrganizerJobKind, ScoringVersion, Solution
from grader.services.competitions import acting, lookup
from grader.services.site import organizer_jobs
from grader.services.site.log import Actor
from grader.services.solutions.truth import Truth
from grader.storage.stores import Storage


class SolutionNotWritten(ParticipantError):
    """The file of the published solution has not been written yet."""

    public_name = "solution_not_written"
    kind = ErrorKind.NOT_YET
    retry_after = timedelta(seconds=30)
    message = "The solution file is not ready yet. Try again in a minute."


def publish(
    session: Session, *, competition: Competition, actor: Actor, reason: str = "", now: datetime | None = None
) -> OrganizerJob:
    """Publish the solution and complete receipts; return the job that writes the solution file.

    Publication cannot be undone. Raise OrganizerRefusal.
    """
    act = acting.begin(session, competition=competition, actor=actor, now=now)
    competition = act.competition
    if competition.revealed_at is None:
        message = "The private leaderboard has not been revealed. Reveal it first."
        raise OrganizerRefusal("not_revealed", ErrorKind.CONFLICT, message)
    if competition.solution_published_at is not None:
        message = (
            f"The solution was already published at {competition.solution_published_at:%-d %b %Y, %H:%M:%S} "
            "UTC."
        )
        raise OrganizerRefusal("solution_published", ErrorKind.CONFLICT, message)
    competition.solution_published_at = act.now
    version = lookup.live(competition)
    act.record(
        "solution.publish",
        f"solution {version.solution.number}",
        after={
            "commitment": version.solution.commitment,
            "nonce": version.solution.nonce,
            "scoring_version": version.number,
        },
        reason=reason,
        public_text=f"The solution of scoring version {version.number} was published.",
    )
    return _write(session, competition, actor, act.now)


def write_again(session: Session, *, competition: Competition, actor: Actor, now: datetime) -> None:
    """Add a job that writes the live version's solution file if the solution is published."""
    if competition.solution_published_at is not None:
        _write(session, competition, actor, now)


def digest(competition: Competition) -> str:
    """Return the published solution's digest; raise Refusal."""
    return _published(competition).digest


def nonce(competition: Competition) -> str:
    """Return the nonce of the published solution; raise Refusal."""
    return _published(competition).nonce


def _published(competition: Competition) -> Solution:
    version = competition.live_scoring_version
    if competition.solution_published_at is None or version is None:
        message = "The solution of this competition has not been published."
        raise Refusal("solution_not_published", ErrorKind.NOT_FOUND, message)
    return version.solution


def list_all(session: Session) -> list[Solution]:
    """Return all published solutions."""
    versions = session.scalars(
        select(ScoringVersion)
        .join(Competition, Competition.live_scoring_version_id == ScoringVersion.id)
        .where(Competition.solution_published_at.is_not(None))
        .options(joinedload(ScoringVersion.solution))
    )
    return [version.solution for version in versions]


def _write(session: Session, competition: Competition, actor: Actor, now: datetime) -> OrganizerJob:
    return organizer_jobs.add(
        session,
        competition=competition,
        kind=OrganizerJobKind.SOLUTION,
        parameters={},
        created_by=actor.user,
        now=now,
    )


def canonical_pieces(storage: Storage, *, solution: Solution) -> Iterator[bytes]:
    """Yield the canonical form of a stored solution."""
    truth = Truth.from_bytes(storage.read(solution.prepared_sha256))
    row_ids = RowIds.from_bytes(storage.read(solution.row_ids_sha256))
    return truth.canonical(row_ids)
