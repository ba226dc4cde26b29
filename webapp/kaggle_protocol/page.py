"""Page "Use the kaggle command": the lines to paste, with this site's address."""

import shlex

from flask import Blueprint, g, render_template
from flask.typing import ResponseReturnValue

from grader import db
from webapp.competitions.views import CompetitionView
from webapp.http import auth, hosts, lookups
from webapp.http.site import current_site

blueprint = Blueprint("kaggle_command", __name__, url_prefix="/competitions/<slug>/kaggle")


@blueprint.get("")
@auth.login_required
def show(slug: str) -> ResponseReturnValue:
    """Show how the official kaggle command works with this competition."""
    with current_site().database.read() as session:
        competition = lookups.competition_of(session, slug)
        view = CompetitionView(competition, db.now(session))
    site = hosts.link("competitions.index").rstrip("/")
    return render_template(
        "competitions/kaggle.html",
        competition=view,
        site=site,
        is_https=site.startswith("https:"),
        username=shlex.quote(g.user.name),
    )
