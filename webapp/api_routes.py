"""Registration of version 1 of the JSON API and its OpenAPI description."""

from flask import Flask

from webapp.accounts import api as accounts
from webapp.accounts import people, second_factors
from webapp.competitions import api as competitions
from webapp.http.api import blueprint
from webapp.leaderboards import api as leaderboards
from webapp.openapi import document
from webapp.organizers.closing import api as closing
from webapp.organizers.console import (
    announcements,
    audit,
    console,
    exports,
    organizers,
    roster,
)
from webapp.organizers.console import (
    submissions as organizers_submissions,
)
from webapp.organizers.console import (
    teams as organizers_teams,
)
from webapp.organizers.rescoring import api as rescoring
from webapp.organizers.setup import api as setup
from webapp.organizers.setup import data_files, metric_file, publishing, settings_page, solution
from webapp.submissions import api as submissions
from webapp.teams import actions as team_actions
from webapp.teams import api as teams
from webapp.teams import entry

# These modules add their routes to the API blueprint when imported.
ROUTES = (
    accounts,
    competitions,
    teams,
    team_actions,
    leaderboards,
    submissions,
    setup,
    solution,
    data_files,
    publishing,
    settings_page,
    metric_file,
    rescoring,
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
    second_factors,
)


def init_app(app: Flask) -> None:
    """Register the API and its description."""
    app.register_blueprint(blueprint)
    app.register_blueprint(document.blueprint)
