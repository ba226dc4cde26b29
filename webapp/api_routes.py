"""Registration of version 1 of the JSON API and its OpenAPI description."""

from flask import Flask

from webapp.closing import exports
from webapp.closing import pages as closing
from webapp.competitions import announcements, console, creating, downloads, organizers, publishing, setup
from webapp.competitions import api as competitions
from webapp.http.api import blueprint
from webapp.identity import own_account, people
from webapp.leaderboards import pages as leaderboards
from webapp.openapi import document
from webapp.site import audit
from webapp.solutions import data_files, metric_file, solution
from webapp.submissions import organized_submissions as organizers_submissions
from webapp.submissions import pages as submissions
from webapp.teams import entry, own_team, roster
from webapp.teams import organized_teams as organizers_teams

# These modules add their routes to the API blueprint when imported.
ROUTES = (
    own_account,
    competitions,
    downloads,
    own_team,
    leaderboards,
    submissions,
    setup,
    solution,
    data_files,
    publishing,
    creating,
    metric_file,
    closing,
    console,
    organizers_submissions,
    organizers_teams,
    announcements,
    organizers,
    roster,
    audit,
    exports,
    entry,
    people,
)


def init_app(app: Flask) -> None:
    """Register the API and its description."""
    app.register_blueprint(blueprint)
    app.register_blueprint(document.blueprint)
