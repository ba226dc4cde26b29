"""Public log of a competition: organizers' acts that change standings, deadlines or rules."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from grader import db
from grader.services.audit import log
from webapp.competitions.views import CompetitionView
from webapp.http import lookups
from webapp.http.parameters import asked_page
from webapp.http.site import current_site

blueprint = Blueprint("log", __name__, url_prefix="/competitions/<slug>/log")


@blueprint.get("")
def show(slug: str) -> ResponseReturnValue:
    """Show a page of what everybody may read, the newest first."""
    number = asked_page()
    with current_site().database.read() as session:
        competition = lookups.competition_of(session, slug)
        view = CompetitionView(competition, db.now(session))
        found = log.public_page(session, competition=competition, page=number)
    return render_template("competitions/log.html", competition=view, page=found)
