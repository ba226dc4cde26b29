"""API for organizers: search teams, rename, disqualify and reinstate them, grant submissions."""

from typing import Any

from grader import db
from grader.models import Competition, Role
from grader.services.limits import grants, limits
from grader.services.moderation import decisions, team_search
from grader.services.teams import moderation
from webapp.http.api import blueprint
from webapp.http.context import competition_of, reading
from webapp.http.lists import ending
from webapp.http.organizer_operations import DESK, Reasoned, act, organizers_operation
from webapp.organizers.console import answers
from webapp.organizers.console.answers import (
    Disqualification,
    Grant,
    GrantList,
    GrantRequest,
    OrganizersTeamDetails,
    OrganizersTeamList,
    TeamNameRequest,
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
    return _team(slug, team_id)


@blueprint.put(f"{TEAM}/name")
@organizers_operation(Role.EDITOR, answers=OrganizersTeamDetails, tag=TAG)
def give_team_name(slug: str, team_id: int, json: TeamNameRequest) -> OrganizersTeamDetails:
    """Give a team another name."""
    return _decide(slug, team_id, moderation.rename, name=json.name, reason=json.reason)


@blueprint.delete(f"{TEAM}/name")
@organizers_operation(Role.EDITOR, answers=OrganizersTeamDetails, tag=TAG)
def free_team_name(slug: str, team_id: int) -> OrganizersTeamDetails:
    """Let a team that was renamed choose its name again."""
    return _decide(slug, team_id, moderation.free_name)


@blueprint.post(f"{TEAM}/disqualification")
@organizers_operation(Role.EDITOR, answers=OrganizersTeamDetails, tag=TAG)
def disqualify_team(slug: str, team_id: int, json: Disqualification) -> OrganizersTeamDetails:
    """Disqualify a team: its members are notified, and it cannot submit until it is reinstated."""
    return _decide(slug, team_id, decisions.disqualify, reason=json.reason)


@blueprint.post(f"{TEAM}/reinstatement")
@organizers_operation(Role.EDITOR, answers=OrganizersTeamDetails, tag=TAG)
def reinstate_team(slug: str, team_id: int, json: Reasoned) -> OrganizersTeamDetails:
    """Reinstate a team."""
    return _decide(slug, team_id, decisions.reinstate, reason=json.reason)


@blueprint.get(f"{TEAMS}/grants")
@organizers_operation(Role.VIEWER, answers=GrantList, tag=TAG)
def grant_list(slug: str) -> GrantList:
    """List the newest extra submissions, of one team or of all."""
    with reading() as session:
        given = grants.list_newest(session, competition=competition_of(session, slug))
    return GrantList(grants=[answers.grant(each) for each in given])


@blueprint.post(f"{TEAM}/grants")
@organizers_operation(Role.EDITOR, answers=Grant, status=201, tag=TAG, creates=True)
def grant_submissions(slug: str, team_id: int, json: GrantRequest) -> Any:
    """Give a team extra submissions on a UTC day."""
    return _grant(slug, team_id, json)


@blueprint.post(f"{TEAMS}/grants")
@organizers_operation(Role.EDITOR, answers=Grant, status=201, tag=TAG, creates=True)
def grant_submissions_to_all(slug: str, json: GrantRequest) -> Any:
    """Give every team extra submissions on a UTC day."""
    return _grant(slug, None, json)


def _team(slug: str, team_id: int) -> OrganizersTeamDetails:
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        line = team_search.get(session, competition=competition, team_id=team_id)
        given = grants.list_newest(session, competition=competition, team=line.team)
        left = limits.allowance(session, competition=competition, team=line.team, now=now)
        return OrganizersTeamDetails(
            **answers.team_fields(line),
            name_is_given=line.team.name_given_at is not None,
            limits=allowance(left),
            grants=[answers.grant(each) for each in given],
        )


def _decide(slug: str, team_id: int, service: Any, **given: Any) -> OrganizersTeamDetails:
    def decide(session: Any, *, competition: Competition, **others: Any) -> None:
        team = team_search.get_team(session, competition=competition, team_id=team_id)
        service(session, competition=competition, team=team.name, **others)

    act(slug, decide, **given)
    return _team(slug, team_id)


def _grant(slug: str, team_id: int | None, json: GrantRequest) -> Any:
    def give(session: Any, *, competition: Competition, **others: Any) -> Grant:
        team = None
        if team_id is not None:
            team = team_search.get_team(session, competition=competition, team_id=team_id)
        given = grants.grant(session, competition=competition, team=team, **others)
        until = grants.ends_at(competition, day=given.day)
        return answers.grant(grants.GivenGrant(given, team.name if team else None, until))

    return act(slug, give, **dict(json)), 201
