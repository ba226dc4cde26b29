"""Teams (pages and API): search, rename, disqualify, grant extra submissions."""

from dataclasses import replace
from datetime import date
from typing import Annotated, Any

from flask import Blueprint
from pydantic import Field

from grader.models import MAIN_BOARD, Competition, Role, SubmissionGrant, Team
from grader.services.competitions import lookup, team_names
from grader.services.competitions.acting import Act
from grader.services.rescoring.preparation import checked_reason
from grader.services.submissions import decisions, selections
from grader.services.teams import carry_over, divisions, grants, limits, moderation, team_search
from grader.services.teams.carry_over import CarriedOver, Skipped
from grader.text import counted
from grader.visibility import Viewer
from webapp.http.api import ending
from webapp.http.confirmation import confirm
from webapp.http.context import competition_of
from webapp.http.fields import Answer, Moment, Number, PageSize, Sent, Text
from webapp.http.organizer_operations import ConfirmedReason, Extension, Reasoned, Searched
from webapp.submissions.api_models import Limits
from webapp.surface import Ask, Surface
from webapp.teams.own_team import Divided, certificates_of

blueprint = Blueprint("organize_teams", __name__, url_prefix="/competitions/<slug>/organize/teams")
GRANTED = "Extra submissions given. The list shows the day on which they are valid."


class TeamQuery(Searched):
    """The filters of a list of teams."""

    disqualified: bool = False


class OrganizersTeam(Answer):
    """A team, its members, and the number of its submissions by status."""

    id: int
    name: str
    alias: str | None
    division: str | None
    members: list[str]
    counts: dict[str, int]
    last_submitted_at: Moment | None
    disqualified_at: Moment | None
    disqualified_because: str | None


class OrganizersTeamList(Answer):
    """One page of the teams, newest first."""

    teams: list[OrganizersTeam]
    page_size: PageSize
    next: str | None


class Grant(Answer):
    """Extra submissions on a UTC day, for one team or, if `team` is null, for every team."""

    id: int
    team: str | None
    day: date
    count: int
    reason: str
    granted_at: Moment


class GrantList(Answer):
    """The newest extra submissions."""

    grants: list[Grant]


class OrganizersTeamDetails(OrganizersTeam):
    """A team with its remaining submissions and its extra submissions."""

    is_name_fixed: bool
    extended_until: Moment | None
    limits: Limits
    grants: list[Grant]


class GrantRequest(Sent):
    """Extra submissions to grant."""

    day: date
    count: Number
    reason: Text = ""


class CarryOverRequest(Sent):
    """The teams to carry over."""

    top: Annotated[Number, Field(ge=1)] | None = None
    board: Text = MAIN_BOARD


class CarriedOverAnswer(Answer):
    """The teams that were carried over, and the skipped teams and members."""

    teams: list[str]
    skipped: list[Skipped]


class TeamNameRequest(Sent):
    """The new name of a team, and the reason for the change."""

    name: Text
    reason: Text = ""


class TeamDivisions(Sent):
    """The divisions of several teams."""

    lines: Annotated[Text, Field(max_length=100_000, description="CSV without a header: team, division.")]


class DivisionName(Sent):
    """The new name of a division, or the name of the division into which it is merged."""

    division: Text
    name: Text


def _fields(line: team_search.TeamMatch, competition: Competition) -> dict[str, Any]:
    """Return the fields of a team in the API that are not its attributes."""
    return {
        "alias": team_names.alias(line.team, competition) or None,
        "members": [each.name for each in line.members],
        "counts": {status.value: count for status, count in line.counts.items()},
        "last_submitted_at": line.last_submitted_at,
        "disqualified_because": line.team.disqualification,
    }


def _grant_line(grant: SubmissionGrant) -> Grant:
    return Grant.of(grant, team=grant.team and grant.team.name)


TEAMS = Surface(blueprint, tag="running", role=Role.VIEWER, acts=Role.EDITOR)


@TEAMS.read("", OrganizersTeamList, endpoint="index", page="teams/organized_teams.html")
def organized_teams(ask: Ask, query: TeamQuery) -> OrganizersTeamList:
    """List the teams that match the filters, newest first."""
    if ask.is_page:
        ask.shown |= {"carried": None, "grants": grant_list(ask).grants, "today": ask.now.date()}
    teams = team_search.find(
        ask.session,
        competition=ask.competition,
        text=query.q,
        disqualified_only=query.disqualified,
        part=query.part,
    )
    return OrganizersTeamList(
        teams=[OrganizersTeam.of(line.team, **_fields(line, ask.competition)) for line in teams.rows],
        **ending(teams),
    )


@TEAMS.read("/<int:team_id>", OrganizersTeamDetails, endpoint="show", page="teams/organized_team.html")
def organized_team(ask: Ask, team_id: int) -> OrganizersTeamDetails:
    """Return a team with its remaining submissions and its extra submissions."""
    session, competition = ask.session, ask.competition
    line = team_search.get(session, competition=competition, team_id=team_id)
    rows = grants.list_newest(session, competition=competition, team=line.team)
    left = limits.allowance(session, competition=competition, team=line.team, now=ask.now)
    ask.shown |= {"team": line.team, "members": line.members, "allowance": left, "today": ask.now.date()}
    return OrganizersTeamDetails.of(
        line.team,
        **_fields(line, competition),
        limits=Limits.model_validate(left),
        grants=[_grant_line(each) for each in rows],
    )


@TEAMS.read("/certificates", None, endpoint="certificates", page="teams/certificate.html")
def certificates(ask: Ask) -> dict[str, Any]:
    """Show the certificates of all teams on the private leaderboard, one per printed page."""
    return certificates_of(ask, viewer=Viewer.ORGANIZER)


@TEAMS.read("/grants", GrantList)
def grant_list(ask: Ask) -> GrantList:
    """List the newest grants of extra submissions, to single teams and to all teams."""
    rows = grants.list_newest(ask.session, competition=ask.competition)
    return GrantList(grants=[_grant_line(each) for each in rows])


def _name(act: Act, team_id: int) -> str:
    return team_search.get_team(act.session, competition=act.competition, team_id=team_id).name


@TEAMS.act("/<int:team_id>/name", method="PUT", form="rename", back=organized_team, done="Team renamed.")
def give_team_name(act: Act, sent: TeamNameRequest, team_id: int) -> None:
    """Rename a team."""
    moderation.rename(act, team=_name(act, team_id), name=sent.name, reason=sent.reason)


@TEAMS.act(
    "/<int:team_id>/division", method="PUT", form="divide", back=organized_team, done="Division changed."
)
def set_team_division(act: Act, sent: Divided, team_id: int) -> None:
    """Set the division of a team; an empty name removes it."""
    divisions.assign_all(act, [(moderation.find(act, _name(act, team_id)), sent.division or None)])


@TEAMS.act(
    "/divisions",
    method="PUT",
    form="divide_all",
    back=organized_teams,
    done=lambda count, **_: f"Divisions changed: {counted(count, 'team')}.",
    status=204,
)
def set_team_divisions(act: Act, sent: TeamDivisions) -> int:
    """Set the divisions of several teams. If a line is invalid, nothing changes."""
    return divisions.assign_lines(act, sent.lines)


@TEAMS.act(
    "/divisions/rename",
    form="rename_division",
    back=organized_teams,
    done=lambda count, **_: f"Division renamed: {counted(count, 'team')}.",
    status=204,
)
def rename_division(act: Act, sent: DivisionName) -> int:
    """Rename a division, or merge its teams into another division by using its name."""
    return divisions.rename(act, division=sent.division, name=sent.name)


@TEAMS.act(
    "/<int:team_id>/disqualification", form="disqualify", back=organized_team, done="Team disqualified."
)
def disqualify_team(act: Act, sent: ConfirmedReason, team_id: int) -> None:
    """Disqualify a team: its members see the reason, and it cannot submit until it is reinstated."""
    team = decisions.disqualify(act, team=_name(act, team_id), reason=sent.reason)
    confirm(
        f"Disqualify {team.name}?",
        "Disqualify the team",
        "The team is removed from every leaderboard, and the teams below it move up.",
        "It can no longer submit files.",
        f"Its members see this reason on the competition's pages: {team.disqualification_reason}",
        "The public log shows the disqualification, but not the reason.",
        "You can reinstate the team later.",
        can_change=True,
        session=act.session,
    )


@TEAMS.act("/<int:team_id>/extension", form="extend", back=organized_team, done="Deadline extended.")
def extend_deadline(act: Act, sent: Extension, team_id: int) -> None:
    """Let one team submit files until a time after the close. The reveal waits until then."""
    team = team_search.get_team(act.session, competition=act.competition, team_id=team_id)
    selections.extend(act, team=team, until=sent.until, reason=checked_reason(sent.reason))


@TEAMS.act("/<int:team_id>/reinstatement", form="reinstate", back=organized_team, done="Team reinstated.")
def reinstate_team(act: Act, sent: Reasoned, team_id: int) -> None:
    """Reinstate a team."""
    decisions.reinstate(act, team=_name(act, team_id), reason=sent.reason)


@TEAMS.act(
    "/<int:team_id>/grants", form="grant", back=organized_team, done=GRANTED, answers=Grant, status=201
)
def grant_submissions(act: Act, sent: GrantRequest, team_id: int) -> Grant:
    """Grant a team extra submissions on a UTC day."""
    return _grant(act, sent, team_search.get_team(act.session, competition=act.competition, team_id=team_id))


@TEAMS.act("/grants", form="grant_to_all", back=organized_teams, done=GRANTED, answers=Grant, status=201)
def grant_submissions_to_all(act: Act, sent: GrantRequest) -> Grant:
    """Grant every team extra submissions on a UTC day."""
    return _grant(act, sent, None)


def _grant(act: Act, sent: GrantRequest, team: Team | None) -> Grant:
    return _grant_line(grants.grant(act, team=team, day=sent.day, count=sent.count, reason=sent.reason))


def _after_previous(session: Any, slug: str, **_: Any) -> Competition:
    """Return a competition after locking its previous stage, which is always locked first."""
    competition = competition_of(session, slug)
    if competition.previous_stage_id is not None:
        lookup.lock(session, competition_id=competition.previous_stage_id)
    return competition


@replace(TEAMS, find=_after_previous).act(
    "/carry-over",
    form="carry_over",
    back=organized_teams,
    done=lambda carried, **_: {"carried": carried},
    answers=CarriedOverAnswer,
)
def carry_over_teams(act: Act, sent: CarryOverRequest) -> CarriedOver:
    """Carry over teams with their members from the previous stage; repeated calls skip carried teams."""
    return carry_over.carry_over(act, top=sent.top, board=sent.board)
