"""Organizers' pages of the teams: search, and what can be decided about one."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from grader import db
from grader.errors import FairboardError
from grader.models import Role
from grader.services.limits import grants, limits
from grader.services.moderation import team_search
from webapp.competitions.views import CompetitionView
from webapp.http.auth import organizers_only
from webapp.http.context import competition_of, reading
from webapp.http.parameters import asked_page, asked_text
from webapp.submissions.views import AllowanceView

blueprint = Blueprint("organize_teams", __name__, url_prefix="/competitions/<slug>/organize/teams")


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str) -> ResponseReturnValue:
    """List the teams that are asked for."""
    return page(slug)


@blueprint.get("/<int:team_id>")
@organizers_only(Role.VIEWER)
def show(slug: str, team_id: int) -> ResponseReturnValue:
    """Show a team and what can be decided about it."""
    return page(slug, team_id=team_id)


def page(slug: str, *, team_id: int | None = None, problem: FairboardError | None = None) -> str:
    """Show a team, or the list of all."""
    return _list(slug, problem) if team_id is None else _team(slug, team_id, problem)


def _list(slug: str, problem: FairboardError | None) -> str:
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
        "running/teams.html",
        competition=CompetitionView(competition, now),
        page=found,
        text=text,
        disqualified_only=disqualified_only,
        given=given,
        days=days,
        problems=_sentences(problem),
        form=request.form,
    )


def _team(slug: str, team_id: int, problem: FairboardError | None) -> str:
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        line = team_search.get(session, competition=competition, team_id=team_id)
        given = grants.list_newest(session, competition=competition, team=line.team)
        days = grants.choice(competition, now=now)
        allowance = limits.allowance(session, competition=competition, team=line.team, now=now)
    return render_template(
        "running/team.html",
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
