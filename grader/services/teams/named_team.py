"""Begin an organizer's act on a team by its name: unknown and merged teams, and the reason it needs."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.errors import OrganizerError
from grader.models import Competition, Team
from grader.services.audit.log import Actor
from grader.services.competitions import acting
from grader.services.competitions.acting import Act
from grader.services.people import names

REASON_MAX_LENGTH = 500


class UnknownTeam(OrganizerError):
    """A competition has no team of this name."""

    public_name = "unknown_team"
    message = "There is no team {name!r} in this competition."


class ReasonNeeded(OrganizerError):
    """A decision against a team is kept with its reason."""

    public_name = "reason_needed"

    def __init__(self, decision: str = "disqualification") -> None:
        super().__init__(f"Give the reason for the {decision}; the team reads it.")


class MergedTeam(OrganizerError):
    """A team that was merged into another is no team any more."""

    public_name = "merged_team"
    message = "{team.name} was merged into another team, so you cannot decide about it."


def begin(
    session: Session, *, competition: Competition, team: str, actor: Actor, now: datetime | None
) -> tuple[Act, Team]:
    """Begin an act on the team of a name, as `acting.begin` does; raise UnknownTeam, MergedTeam."""
    act = acting.begin(session, competition=competition, actor=actor, now=now)
    found = session.scalar(
        select(Team).where(Team.competition_id == competition.id, Team.name_key == names.name_key(team))
    )
    if found is None or found.is_organizers:
        raise UnknownTeam(name=team)
    if found.merged_into_id is not None:
        raise MergedTeam(team=found)
    return act, found
