"""Register the JSON API, version 1."""

from flask import Flask

from webapp.competitions import api as competitions
from webapp.http.api import blueprint
from webapp.leaderboards import api as leaderboards
from webapp.submissions import api as submissions
from webapp.teams import api as teams

ROUTES = (competitions, teams, leaderboards, submissions)  # they have added themselves to the blueprint


def init_app(app: Flask) -> None:
    """Register the API."""
    app.register_blueprint(blueprint)
