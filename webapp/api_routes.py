"""Register the JSON API, version 1, and its description."""

from flask import Flask

from webapp.accounts import api as accounts
from webapp.competitions import api as competitions
from webapp.http.api import blueprint
from webapp.integrations import api as integrations
from webapp.leaderboards import api as leaderboards
from webapp.openapi import pages
from webapp.submissions import api as submissions
from webapp.teams import api as teams

# They have added themselves to the blueprint.
ROUTES = (accounts, competitions, teams, leaderboards, submissions, integrations)


def init_app(app: Flask) -> None:
    """Register the API and its description."""
    app.register_blueprint(blueprint)
    app.register_blueprint(pages.blueprint)
