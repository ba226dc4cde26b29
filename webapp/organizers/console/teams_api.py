"""API for organizers: search teams, and what is left to one."""

from typing import Any

from grader import db
from grader.models import Competition, Role
from grader.services.limits import grants, limits
from grader.services.moderation import team_search
from webapp.http.api import blueprint, ending
from webapp.http.context import competition_of, reading
from webapp.http.organizer_operations import DESK, organizers_operation
from webapp.organizers.console import answers
from webapp.organizers.console.answers import (
    GrantList,
    OrganizersTeamDetails,
    OrganizersTeamList,
    TeamQuery,
)
from webapp.submissions.answers import allowance

TAG = "running"
TEAMS = f"{DESK}/teams"
TEAM = f"{TEAMS}/<int:team_id>"


@blueprint.get(TEAMS)
@organizers_operation(Role.VIEWER, answers=OrganizersTeamList, tag=TAG)
def organized_teams(slug: str, query: TeamQuery) -> OrganizersTeamList:
    """List the teams that are asked for, the newest first."""
    with reading() as session:
        found = team_search.find_after(
            session,
            competition=competition_of(session, slug),
            text=query.q,
            disqualified_only=query.disqualified,
            part=query.part,
        )
    return OrganizersTeamList(
        teams=[answers.OrganizersTeam(**answers.team_fields(line)) for line in found.rows],
        **ending(found),
    )


@blueprint.get(TEAM)
@organizers_operation(Role.VIEWER, answers=OrganizersTeamDetails, tag=TAG)
def organized_team(slug: str, team_id: int) -> OrganizersTeamDetails:
    """Return a team with what it may still send and the extra submissions it got."""
    with reading() as session:
        return team(session, competition_of(session, slug), team_id)


def team(session: Any, competition: Competition, team_id: int) -> OrganizersTeamDetails:
    """Return a team with what it may still send."""
    now = db.now(session)
    line = team_search.get(session, competition=competition, team_id=team_id)
    given = grants.list_newest(session, competition=competition, team=line.team)
    left = limits.allowance(session, competition=competition, team=line.team, now=now)
    return OrganizersTeamDetails(
        **answers.team_fields(line),
        name_is_given=line.team.name_given_at is not None,
        limits=allowance(left),
        grants=[answers.grant(each) for each in given],
    )


@blueprint.get(f"{TEAMS}/grants")
@organizers_operation(Role.VIEWER, answers=GrantList, tag=TAG)
def grant_list(slug: str) -> GrantList:
    """List the newest extra submissions, of one team or of all."""
    with reading() as session:
        given = grants.list_newest(session, competition=competition_of(session, slug))
    return GrantList(grants=[answers.grant(each) for each in given])
