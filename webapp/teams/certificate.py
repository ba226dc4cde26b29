"""Printable certificate of a team, after the reveal."""

from flask import render_template
from flask.typing import ResponseReturnValue

from grader import db
from grader.services.competitions import phases
from grader.services.leaderboards import team_results
from webapp.competitions.views import CompetitionView
from webapp.http.context import competition_of, reading
from webapp.http.responses import conditional
from webapp.http.site import site_link
from webapp.teams.pages import blueprint


@blueprint.get("/teams/<int:team_id>/certificate")
def certificate(slug: str, team_id: int) -> ResponseReturnValue:
    """Show the certificate of a team on the private leaderboard."""
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        phase = phases.phase(competition, now)
        award = team_results.award(session, competition=competition, team_id=team_id, phase=phase)
        view, revealed_at = CompetitionView(competition, now), competition.revealed_at
    link = site_link("leaderboards.private", slug=slug)
    page = {"competition": view, "award": award, "revealed_at": revealed_at, "link": link}
    return conditional(render_template("teams/certificate.html", **page))
