"""The HTML pages: one blueprint per family, thin over the services."""

from importlib.metadata import version

from flask import Flask, request
from markupsafe import Markup

from webapp.pages.account import blueprint as account
from webapp.pages.competitions import blueprint as competitions
from webapp.pages.entry import blueprint as entry
from webapp.pages.leaderboards import blueprint as leaderboards
from webapp.pages.submit import blueprint as submissions
from webapp.pages.teams import blueprint as teams
from webapp.site import current_site

CURRENT = Markup(' aria-current="page"')


def init_app(app: Flask) -> None:
    """Register the pages and what all their templates need."""
    for family in (account, competitions, entry, leaderboards, submissions, teams):
        app.register_blueprint(family)
    app.add_template_global(_current, "current")
    app.add_template_global(version("fairboard"), "version")  # type: ignore[arg-type]
    app.context_processor(lambda: {"can_sign_up": current_site().settings.sign_up})


def _current(*endpoints: str) -> Markup:
    """Return the attribute of a link to the page that is being shown."""
    return CURRENT if request.endpoint in endpoints else Markup()
