"""Rename a team with an offensive name, as organizer; hold that name and free it later.

Such a name stays, and no team can choose the one that was taken away, until an organizer frees them: the
audit knows both.
"""

from collections import defaultdict
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.errors import OrganizerError
from grader.models import AuditEntry, Competition, Team
from grader.services.audit import log
from grader.services.audit.log import Actor
from grader.services.people import name_shapes, names
from grader.services.teams import mail, named_team, rosters
from grader.services.teams.rosters import TeamRefusal
from grader.text import one_line

RENAME = "team.rename"
FREE = "team.free_name"


class NameTaken(OrganizerError):
    """Another team has this name, or one that looks like it."""

    public_name = "name_taken"
    message = "The name {name!r} is taken by another team, or looks like one that is."


class SameName(OrganizerError):
    """The team has this name already."""

    public_name = "same_name"
    message = "The team is called {name!r} already."


class NotGiven(OrganizerError):
    """The team chose its name itself, so there is nothing to free."""

    public_name = "not_given"
    message = "{team.name} chose its own name and can change it."


class NameHeld(TeamRefusal):
    """The organizers gave the team its name."""

    public_name = "name_held"

    def __init__(self, given: AuditEntry) -> None:
        why = given.reason.rstrip(".")
        super().__init__(
            f"The organizers gave this team its name: {why}. You cannot change it until they allow it."
        )


class NameTakenAway(TeamRefusal):
    """The organizers took this name from a team."""

    public_name = "name_taken_away"
    message = "The organizers took the name {name!r} from a team; no team can choose it."


def rename(
    session: Session,
    *,
    competition: Competition,
    team: str,
    name: str,
    reason: str,
    actor: Actor,
    now: datetime | None = None,
) -> Team:
    """Give a team another name in the place of an offensive one; it holds until it is freed.

    The log does not repeat the old name. Raises UnknownTeam, InvalidName, ReservedName, NameTaken, SameName,
    ReasonNeeded.
    """
    reason = one_line(reason, named_team.REASON_MAX_LENGTH)
    if not reason:
        raise named_team.ReasonNeeded("renaming")
    shown = names.clean_name(name)
    names.require_unreserved(shown)
    act, found = named_team.begin(session, competition=competition, team=team, actor=actor, now=now)
    if name_shapes.is_taken_by_team(session, competition=competition, name=shown, but_for=found):
        raise NameTaken(name=shown)
    before = found.name
    if before == shown:
        raise SameName(name=shown)
    rosters.set_name(found, shown)
    session.flush()
    mail.renamed(session, competition=act.competition, team=found, reason=reason, now=act.now)
    act.record(
        RENAME,
        _subject(found),
        before={"name": before},
        after={"name": shown},
        reason=reason,
        public_text=f"The organizers gave the team {log.mention(found)} its name.",
    )
    return found


def free(
    session: Session, *, competition: Competition, team: str, actor: Actor, now: datetime | None = None
) -> Team:
    """Let a team choose its name again, any that was taken from it included; raise UnknownTeam, NotGiven."""
    act, found = named_team.begin(session, competition=competition, team=team, actor=actor, now=now)
    if given(session, competition=competition, team=found) is None:
        raise NotGiven(team=found)
    mail.name_freed(session, competition=act.competition, team=found, now=act.now)
    act.record(FREE, _subject(found))
    return found


def given(session: Session, *, competition: Competition, team: Team) -> AuditEntry | None:
    """Return the act of the organizers that holds a team's name; None where the team chose it."""
    acts = _held(session, competition).get(_subject(team))
    return acts[-1] if acts and acts[-1].after["name"] == team.name else None


def require_choosable(session: Session, *, competition: Competition, name: str, team: Team | None) -> None:
    """Raise NameHeld where the team must keep its name, NameTakenAway where organizers took this one away."""
    held = team and given(session, competition=competition, team=team)
    if held:
        raise NameHeld(held)
    shape = names.name_shape(name)
    acts = (act for acts in _held(session, competition).values() for act in acts)
    if any(names.name_shape(act.before["name"]) == shape for act in acts):
        raise NameTakenAway(name=name)


def _held(session: Session, competition: Competition) -> dict[str, list[AuditEntry]]:
    """Return the renamings that hold, by what the audit calls the team; the oldest first."""
    query = (
        select(AuditEntry)
        .where(AuditEntry.competition_id == competition.id, AuditEntry.action.in_((RENAME, FREE)))
        .order_by(AuditEntry.id)
    )
    held: dict[str, list[AuditEntry]] = defaultdict(list)
    for act in session.scalars(query):
        if act.action == FREE:
            held.pop(act.subject, None)
        elif "name" in act.after:  # a name that was given to its bearer changed nothing
            held[act.subject].append(act)
    return held


def _subject(team: Team) -> str:
    return f"team {log.mention(team)}"
