"""Moderation of team names: team lookup and replacement."""

from sqlalchemy import select

from grader.errors import OrganizerError
from grader.models import Team
from grader.services.competitions.acting import Act
from grader.services.identity import names
from grader.services.site import log
from grader.services.teams import mail, rosters
from grader.text import one_line

REASON_MAX_LENGTH = 500


class UnknownTeam(OrganizerError):
    """The competition has no team of this name."""

    public_name = "unknown_team"
    message = "There is no team named {name!r} in this competition."


class ReasonNeeded(OrganizerError):
    """A decision against a team requires a reason."""

    public_name = "reason_needed"

    def __init__(self, decision: str = "disqualification") -> None:
        super().__init__(f"Enter a reason for the {decision}. The team will see it.")


class MergedTeam(OrganizerError):
    """The team was merged into another, so organizers cannot act on it."""

    public_name = "merged_team"
    message = "{team.name} was merged into another team. Choose that team instead."


class NameOfOtherTeam(OrganizerError):
    """Another team has this name or a similar-looking one."""

    public_name = "name_taken"
    message = "The name {name!r} is taken or looks too similar to another team's name. Choose another name."


class SameName(OrganizerError):
    """The team already has this name."""

    public_name = "same_name"
    message = "The team is already named {name!r}."


def find(act: Act, name: str) -> Team:
    """Return the team with this name for an organizer's action; raise UnknownTeam or MergedTeam."""
    match = act.session.scalar(
        select(Team).where(Team.competition_id == act.competition.id, Team.name_key == names.name_key(name))
    )
    if match is None or match.is_organizers:
        raise UnknownTeam(name=name)
    if match.merged_into_id is not None:
        raise MergedTeam(team=match)
    return match


def rename(act: Act, *, team: str, name: str, reason: str) -> Team:
    """Replace a team's offensive name; only organizers can change the new name.

    The public log does not repeat the old name. Raises UnknownTeam, InvalidName, ReservedName,
    NameOfOtherTeam, SameName or ReasonNeeded.
    """
    reason = one_line(reason, REASON_MAX_LENGTH)
    if not reason:
        raise ReasonNeeded("renaming")
    shown = names.clean_name(name)
    names.require_unreserved(shown)
    target = find(act, team)
    if names.is_taken_by_team(act.session, competition=act.competition, name=shown, but_for=target):
        raise NameOfOtherTeam(name=shown)
    before = target.name
    if before == shown:
        raise SameName(name=shown)
    rosters.set_name(target, shown)
    target.is_name_fixed = True
    act.session.flush()
    mail.renamed(act.session, competition=act.competition, team=target, reason=reason, now=act.now)
    act.record(
        "team.rename",
        f"team {log.mention(target)}",
        before={"name": before},
        after={"name": shown},
        reason=reason,
        public_text=f"The organizers renamed the team {log.mention(target)}.",
    )
    return target
