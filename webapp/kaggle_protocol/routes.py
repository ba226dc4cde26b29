"""Kaggle protocol: registration of API calls, and the page that explains the command."""

import shlex
from typing import Any

from flask import Blueprint, Flask

from webapp.http.site import site_link
from webapp.kaggle_protocol import competitions, downloads, leaderboards, protocol, submissions
from webapp.surface import Access, Ask, Surface

blueprint = Blueprint("kaggle_command", __name__, url_prefix="/competitions/<slug>/kaggle")
COMMAND = Surface(blueprint, tag="competitions", role=Access.USER)
# These modules add their routes to the blueprint when imported.
CALLS = (competitions, downloads, submissions, leaderboards)


@COMMAND.read("", None, endpoint="show", page="competitions/kaggle.html")
def kaggle_page(ask: Ask) -> dict[str, Any]:
    """Show how to use the official kaggle command with this competition."""
    site = site_link("competitions.index").rstrip("/")
    return {"site": site, "is_https": site.startswith("https:"), "username": shlex.quote(ask.user.name)}


def init_app(app: Flask) -> None:
    """Register the calls, and the page that documents them."""
    app.register_blueprint(protocol.blueprint)
    app.register_blueprint(blueprint)
