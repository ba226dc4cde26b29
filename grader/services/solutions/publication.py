"""Publication of the solution in canonical form after the reveal.

The published solution belongs to the live scoring version. If another version goes live, that version's
solution is published instead.
"""

from datetime import datetime

from sqlalchemy.orm import Session

from grader.errors import ErrorKind, OrganizerRefusal, Refusal
from grader.models import Competition, Solution
from grader.services.competitions import acting, lookup, phases
from grader.services.site.log import Actor


def publish(
    session: Session, *, competition: Competition, actor: Actor, reason: str = "", now: datetime | None = None
) -> None:
    """Publish the solution and complete receipts, which cannot be undone; raise OrganizerRefusal."""
    act = acting.begin(session, competition=competition, actor=actor, now=now)
    competition = act.competition
    phases.require_revealed(competition)
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


def published(competition: Competition) -> Solution:
    """Return the published solution, whose `digest` names its file; raise Refusal."""
    version = competition.live_scoring_version
    if competition.solution_published_at is None or version is None:
        message = "The solution of this competition has not been published."
        raise Refusal("solution_not_published", ErrorKind.NOT_FOUND, message)
    return version.solution
