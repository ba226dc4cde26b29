"""Organizers' page Fair play: what may be worth a look, with its evidence; it accuses nobody."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Role
from webapp.competitions.views import CompetitionView
from webapp.http import lookups
from webapp.http.organizer_access import organizers_only
from webapp.http.site import current_site

blueprint = Blueprint("fair_play", __name__, url_prefix="/competitions/<slug>/organize/fair-play")


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str) -> ResponseReturnValue:
    """Show what may be worth a look."""
    with current_site().database.read() as session:
        competition = lookups.competition_of(session, slug)
        view = CompetitionView(competition, db.now(session))
    return render_template("fair_play/show.html", competition=view)
