"""Kaggle protocol: registration of API calls, and the page that explains the command."""

import shlex

from flask import Blueprint, Flask, g, render_template
from flask.typing import ResponseReturnValue

from grader import db
from webapp.competitions.views import CompetitionView
from webapp.http import auth
from webapp.http.context import competition_of, reading
from webapp.http.site import site_link
from webapp.kaggle_protocol import competitions, downloads, leaderboards, protocol, submissions

blueprint = Blueprint("kaggle_command", __name__, url_prefix="/competitions/<slug>/kaggle")
# These modules add their routes to the blueprint when imported.
CALLS = (protocol, competitions, downloads, submissions, leaderboards)


@blueprint.get("")
@auth.login_required
def show(slug: str) -> ResponseReturnValue:
    """Show how to use the official kaggle command with this competition."""
    with reading() as session:
        competition = competition_of(session, slug)
        view = CompetitionView(competition, db.now(session))
    site = site_link("competitions.index").rstrip("/")
    return render_template(
        "competitions/kaggle.html",
        competition=view,
        site=site,
        is_https=site.startswith("https:"),
        username=shlex.quote(g.user.name),
    )


def init_app(app: Flask) -> None:
    """Register the calls, and the page that documents them."""
    protocol.init_app(app)
    app.register_blueprint(blueprint)
