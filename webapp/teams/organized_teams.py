"""Teams (pages and API): search, rename, disqualify, grant extra submissions."""

from datetime import UTC, date, datetime, time
from typing import Annotated, Any

from flask import Blueprint, render_template, request, url_for
from pydantic import Field

from grader import db
from grader.errors import FairboardError
from grader.models import (
    MAIN_BOARD,
    Competition,
    Role,
)
from grader.services.competitions import boards, lookup, team_names
from grader.services.competitions.acting import Act
from grader.services.competitions.lookup import UnknownDivision
from grader.services.identity import names
from grader.services.submissions import decisions
from grader.services.teams import carry_over, divisions, grants, limits, moderation, rosters, team_search
from grader.services.teams.carry_over import CarriedOver
from grader.services.teams.grants import GivenGrant
from webapp.competitions.views import CompetitionView
from webapp.http import api
from webapp.http.actions import Family
from webapp.http.api import ending
from webapp.http.auth import organizers_only
from webapp.http.confirmation import Question, confirm
from webapp.http.context import competition_of, reading
from webapp.http.fields import Answer, Confirmation, Moment, Number, PageSize, Sent, Text
from webapp.http.organizer_operations import DESK, Reasoned, Searched, organizers_operation
from webapp.http.parameters import asked_page, asked_text
from webapp.presentation import formats
from webapp.submissions.answers import Limits, allowance
from webapp.submissions.views import AllowanceView

blueprint = Blueprint("organize_teams", __name__, url_prefix="/competitions/<slug>/organize/teams")


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
    ends_at: Moment


class GrantList(Answer):
    """The newest extra submissions."""

    grants: list[Grant]


class OrganizersTeamDetails(OrganizersTeam):
    """A team with its remaining submissions and its extra submissions."""

    is_name_fixed: bool
    limits: Limits
    grants: list[Grant]


class GrantRequest(Sent):
    """Extra submissions to grant."""

    day: date
    count: Number
    reason: Text = ""


class Disqualification(Confirmation):
    """The confirmation and reason of a disqualification, which takes effect immediately."""

    reason: Annotated[Text, Field(description="The reason, visible only to the team and organizers.")] = ""


class CarryOverRequest(Sent):
    """The teams to carry over."""

    top: Annotated[Number, Field(ge=1)] | None = None
    board: Text = MAIN_BOARD


class SkippedLine(Answer):
    """A team or a member that was not carried over."""

    team: str
    member: str | None
    reason: str


class CarriedOverAnswer(Answer):
    """The teams that were carried over, and the skipped teams and members."""

    teams: list[str]
    skipped: list[SkippedLine]


class TeamNameRequest(Sent):
    """The new name of a team, and the reason for the change."""

    name: Text
    reason: Text = ""


class TeamDivision(Sent):
    """The division of a team."""

    division: Text


class TeamDivisions(Sent):
    """The divisions of several teams."""

    lines: Annotated[Text, Field(max_length=100_000, description="CSV without a header: team, division.")]


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str, *, problem: FairboardError | None = None, carried: CarriedOver | None = None) -> str:
    """List the teams that match the filters, or show the result of a carry-over."""
    text, disqualified_only = asked_text("q"), request.args.get("state") == "disqualified"
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        found = team_search.find(
            session,
            competition=competition,
            text=text,
            disqualified_only=disqualified_only,
            page=asked_page(),
        )
        given = grants.list_newest(session, competition=competition)
        days = grants.choice(competition, now=now)
    return render_template(
        "teams/organized_teams.html",
        carried=carried,
        competition=CompetitionView(competition, now),
        page=found,
        text=text,
        disqualified_only=disqualified_only,
        given=given,
        days=days,
        problems=_sentences(problem),
        form=request.form,
    )


@blueprint.get("/<int:team_id>")
@organizers_only(Role.VIEWER)
def show(slug: str, team_id: int, *, problem: FairboardError | None = None) -> str:
    """Show a team and the decisions that organizers can make about it."""
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        line = team_search.get(session, competition=competition, team_id=team_id)
        given = grants.list_newest(session, competition=competition, team=line.team)
        days = grants.choice(competition, now=now)
        allowance = limits.allowance(session, competition=competition, team=line.team, now=now)
    return render_template(
        "teams/organized_team.html",
        competition=CompetitionView(competition, now),
        line=line,
        team=line.team,
        given=given,
        allowance=AllowanceView(allowance),
        days=days,
        problems=_sentences(problem),
        form=request.form,
    )


def _sentences(problem: FairboardError | None) -> list[str]:
    return [] if problem is None else problem.message.splitlines()


@api.blueprint.get(f"{DESK}/teams")
@organizers_operation(Role.VIEWER, answers=OrganizersTeamList, tag="running")
def organized_teams(slug: str, query: TeamQuery) -> OrganizersTeamList:
    """List the teams that match the filters, newest first."""
    with reading() as session:
        competition = competition_of(session, slug)
        found = team_search.find_after(
            session,
            competition=competition,
            text=query.q,
            disqualified_only=query.disqualified,
            part=query.part,
        )
    return OrganizersTeamList(
        teams=[OrganizersTeam(**_fields(line, competition)) for line in found.rows],
        **ending(found),
    )


@api.blueprint.get(f"{DESK}/teams/<int:team_id>")
@organizers_operation(Role.VIEWER, answers=OrganizersTeamDetails, tag="running")
def organized_team(slug: str, team_id: int) -> OrganizersTeamDetails:
    """Return a team with its remaining submissions and its extra submissions."""
    with reading() as session:
        return _details(session, competition_of(session, slug), team_id)


@api.blueprint.get(f"{DESK}/teams/grants")
@organizers_operation(Role.VIEWER, answers=GrantList, tag="running")
def grant_list(slug: str) -> GrantList:
    """List the newest grants of extra submissions, to single teams and to all teams."""
    with reading() as session:
        given = grants.list_newest(session, competition=competition_of(session, slug))
    return GrantList(grants=[_grant_line(each) for each in given])


def _details(session: Any, competition: Competition, team_id: int) -> OrganizersTeamDetails:
    """Return a team with its remaining and extra submissions."""
    now = db.now(session)
    line = team_search.get(session, competition=competition, team_id=team_id)
    given = grants.list_newest(session, competition=competition, team=line.team)
    left = limits.allowance(session, competition=competition, team=line.team, now=now)
    return OrganizersTeamDetails(
        **_fields(line, competition),
        is_name_fixed=line.team.is_name_fixed,
        limits=allowance(left),
        grants=[_grant_line(each) for each in given],
    )


def _fields(line: team_search.TeamMatch, competition: Competition) -> dict[str, Any]:
    """Return the fields of a team in the API."""
    return {
        "id": line.team.id,
        "name": line.team.name,
        "alias": team_names.alias(line.team, competition) or None,
        "division": line.team.division,
        "members": [each.name for each in line.members],
        "counts": {status.value: count for status, count in line.counts.items()},
        "last_submitted_at": line.last_submitted_at,
        "disqualified_at": line.team.disqualified_at,
        "disqualified_because": line.team.disqualification_reason if line.team.disqualified_at else None,
    }


def _grant_line(given: GivenGrant) -> Grant:
    """Return a grant as the API model."""
    return Grant.of(given.grant, team=given.team, ends_at=given.ends_at)


TEAM = Family(
    pages=blueprint,
    tag="running",
    refusals=(
        grants.InvalidGrant,
        moderation.ReasonNeeded,
        decisions.AlreadyDisqualified,
        decisions.NotDisqualified,
        moderation.MergedTeam,
        moderation.NameOfOtherTeam,
        moderation.SameName,
        names.InvalidName,
        divisions.InvalidDivisions,
        UnknownDivision,
        carry_over.NotCarried,
        boards.UnknownBoard,
        rosters.TeamsFrozen,
    ),
    show=lambda **shown: (show if "team_id" in shown else index)(**shown),
    home=lambda slug, team_id=None: url_for(
        "organize_teams.show" if team_id else "organize_teams.index", slug=slug, team_id=team_id
    ),
    answers=OrganizersTeamDetails,
    answer=lambda act, _outcome, team_id: _details(act.session, act.competition, team_id),
    role=Role.EDITOR,
)


def _name(act: Act, team_id: int) -> str:
    return team_search.get_team(act.session, competition=act.competition, team_id=team_id).name


@TEAM.action("/<int:team_id>/name", method="PUT", page="rename", done="Team renamed.")
def give_team_name(act: Act, sent: TeamNameRequest, team_id: int) -> None:
    """Rename a team."""
    moderation.rename(act, team=_name(act, team_id), name=sent.name, reason=sent.reason)


@TEAM.action("/<int:team_id>/division", method="PUT", page="divide", done="Division changed.")
def set_team_division(act: Act, sent: TeamDivision, team_id: int) -> None:
    """Set the division of a team; an empty name removes it."""
    divisions.assign_all(act, [(moderation.find(act, _name(act, team_id)), sent.division or None)])


@TEAM.action(
    "/divisions",
    method="PUT",
    page="divide_all",
    done=lambda count: f"Divisions changed: {formats.counted(count, 'team')}.",
    status=204,
)
def set_team_divisions(act: Act, sent: TeamDivisions) -> int:
    """Set the divisions of several teams. If a line is invalid, nothing changes."""
    return divisions.assign_lines(act, sent.lines)


@TEAM.action("/<int:team_id>/disqualification", page="disqualify", done="Team disqualified.")
def disqualify_team(act: Act, sent: Disqualification, team_id: int) -> None:
    """Disqualify a team: its members are notified, and it cannot submit until it is reinstated."""
    team = decisions.disqualify(act, team=_name(act, team_id), reason=sent.reason)
    why = team.disqualification_reason
    confirm(
        Question(
            heading=f"Disqualify {team.name}?",
            sentences=(
                "The team is removed from every leaderboard, and the teams below it move up.",
                "It can no longer submit files.",
                f"Its members see this reason on the competition's pages: {why}",
                "The public log shows the disqualification, but not the reason.",
                "You can reinstate the team later.",
            ),
            button="Disqualify the team",
            back=url_for("organize_teams.show", slug=act.competition.slug, team_id=team_id),
            can_change=True,
        )
    )


@TEAM.action("/<int:team_id>/reinstatement", page="reinstate", done="Team reinstated.")
def reinstate_team(act: Act, sent: Reasoned, team_id: int) -> None:
    """Reinstate a team."""
    decisions.reinstate(act, team=_name(act, team_id), reason=sent.reason)


def _given(given: GivenGrant, **_: Any) -> str:
    """Return the success message, with the period in which the extra submissions are valid."""
    granted_at = given.grant.granted_at
    beginning = max(datetime.combine(given.grant.day, time(tzinfo=UTC)), granted_at)
    valid = f"until {formats.moment(given.ends_at)}, for {formats.span(given.ends_at - beginning)}"
    if beginning != granted_at:
        valid = f"from {formats.moment(beginning)} {valid}"
    whom = "" if given.team else " to every team"
    return f"Extra submissions given{whom}. They are valid {valid}."


GRANT: dict[str, Any] = {
    "done": _given,
    "answers": Grant,
    "answer": lambda _act, given, **_: _grant_line(given),
    "status": 201,
}


@TEAM.action("/<int:team_id>/grants", page="grant", **GRANT)
def grant_submissions(act: Act, sent: GrantRequest, team_id: int) -> GivenGrant:
    """Grant a team extra submissions on a UTC day."""
    return _grant(act, sent, team_id)


@TEAM.action("/grants", page="grant_to_all", **GRANT)
def grant_submissions_to_all(act: Act, sent: GrantRequest) -> GivenGrant:
    """Grant every team extra submissions on a UTC day."""
    return _grant(act, sent, None)


def _grant(act: Act, sent: GrantRequest, team_id: int | None) -> GivenGrant:
    team = None
    if team_id is not None:
        team = team_search.get_team(act.session, competition=act.competition, team_id=team_id)
    given = grants.grant(act, team=team, day=sent.day, count=sent.count, reason=sent.reason)
    ends_at = grants.ends_at(act.competition, day=given.day)
    return GivenGrant(given, team.name if team else None, ends_at)


def _after_previous(session: Any, slug: str) -> Competition:
    """Return a competition after locking its previous stage, which is always locked first."""
    competition = competition_of(session, slug)
    if competition.previous_stage_id is not None:
        lookup.lock(session, competition_id=competition.previous_stage_id)
    return competition


@TEAM.action(
    "/carry-over",
    page="carry_over",
    find=_after_previous,
    shown=lambda carried, slug: index(slug=slug, carried=carried),
    answers=CarriedOverAnswer,
    answer=lambda _act, carried: CarriedOverAnswer.model_validate(carried),
)
def carry_over_teams(act: Act, sent: CarryOverRequest) -> CarriedOver:
    """Carry over teams with their members from the previous stage; repeated calls skip carried teams."""
    return carry_over.carry_over(act, top=sent.top, board=sent.board)
