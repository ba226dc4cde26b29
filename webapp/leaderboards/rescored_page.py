"""Participants' page of the last published rescoring: message, own scores before and now."""

from flask import Blueprint, abort, g, render_template
from flask.typing import ResponseReturnValue

from grader import db
from grader.services.rescoring import mail
from grader.services.teams import rosters
from webapp.competitions.views import CompetitionView
from webapp.http import lookups
from webapp.http.site import current_site

blueprint = Blueprint("rescored", __name__, url_prefix="/competitions/<slug>")


@blueprint.get("/rescoring")
def show(slug: str) -> ResponseReturnValue:
    """Show the message and, to members of a team, the public score of each file before and now."""
    with current_site().database.read() as session:
        competition = lookups.competition_of(session, slug)
        published = mail.latest(competition)
        if published is None:
            abort(404)
        team = rosters.find_team(session, competition=competition, user=g.user) if g.user else None
        lines = mail.of_team(session, competition=competition, team=team) if team else []
        view = CompetitionView(competition, db.now(session))
    return render_template(
        "leaderboards/rescored.html", competition=view, published=published, team=team, lines=lines
    )
