"""Organizers' actions on team names: find a team, replace its name, release the name.

A name that organizers gave stays, and no team can choose the one that was taken away, until they free them.
"""

from sqlalchemy import select

from grader.errors import OrganizerError
from grader.models import Team
from grader.services.audit import log
from grader.services.competitions.acting import Act
from grader.services.people import names
from grader.services.teams import mail, rosters
from grader.text import one_line

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


def find(act: Act, name: str) -> Team:
    """Return the team of a name that is acted on; raise UnknownTeam, MergedTeam."""
    found = act.session.scalar(
        select(Team).where(Team.competition_id == act.competition.id, Team.name_key == names.name_key(name))
    )
    if found is None or found.is_organizers:
        raise UnknownTeam(name=name)
    if found.merged_into_id is not None:
        raise MergedTeam(team=found)
    return found


def rename(act: Act, *, team: str, name: str, reason: str) -> Team:
    """Give a team another name in the place of an offensive one; it holds until it is freed.

    The log does not repeat the old name. Raises UnknownTeam, InvalidName, ReservedName, NameTaken, SameName,
    ReasonNeeded.
    """
    reason = one_line(reason, REASON_MAX_LENGTH)
    if not reason:
        raise ReasonNeeded("renaming")
    shown = names.clean_name(name)
    names.require_unreserved(shown)
    found = find(act, team)
    if names.is_taken_by_team(act.session, competition=act.competition, name=shown, but_for=found):
        raise NameTaken(name=shown)
    before = found.name
    if before == shown:
        raise SameName(name=shown)
    rosters.set_name(found, shown)
    found.name_given_at, found.name_given_because = act.now, reason
    found.names_taken_away = [*(found.names_taken_away or ()), before]
    act.session.flush()
    mail.renamed(act.session, competition=act.competition, team=found, reason=reason, now=act.now)
    act.record(
        "team.rename",
        f"team {log.mention(found)}",
        before={"name": before},
        after={"name": shown},
        reason=reason,
        public_text=f"The organizers gave the team {log.mention(found)} its name.",
    )
    return found


def free_name(act: Act, *, team: str) -> Team:
    """Let a team choose its name again, any that was taken from it included; raise UnknownTeam, NotGiven."""
    found = find(act, team)
    if found.name_given_at is None:
        raise NotGiven(team=found)
    found.name_given_at, found.name_given_because, found.names_taken_away = None, "", None
    mail.name_freed(act.session, competition=act.competition, team=found, now=act.now)
    act.record("team.free_name", f"team {log.mention(found)}")
    return found
