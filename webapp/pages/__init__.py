"""Register the HTML pages, one blueprint for each family; what all templates share."""

from importlib.metadata import version

from flask import Flask, request
from markupsafe import Markup

from grader.settings import SignUp
from webapp.pages import account_access, comparing
from webapp.pages.account import blueprint as account
from webapp.pages.competition_data import blueprint as competition_data
from webapp.pages.competitions import blueprint as competitions
from webapp.pages.entry import blueprint as entry
from webapp.pages.leaderboards import blueprint as leaderboards
from webapp.pages.log import blueprint as log
from webapp.pages.organize import diagnosis as organize_diagnosis
from webapp.pages.organize import rescoring_difference, scoring_version
from webapp.pages.organize import ties as organize_ties
from webapp.pages.organize.announcements import blueprint as organize_announcements
from webapp.pages.organize.audit import blueprint as organize_audit
from webapp.pages.organize.close import blueprint as organize_close
from webapp.pages.organize.console import blueprint as organize_console
from webapp.pages.organize.creating import blueprint as organize_creating
from webapp.pages.organize.data import blueprint as organize_data
from webapp.pages.organize.disputes import blueprint as organize_disputes
from webapp.pages.organize.exports import blueprint as organize_exports
from webapp.pages.organize.organizers import blueprint as organize_organizers
from webapp.pages.organize.publishing import blueprint as organize_publishing
from webapp.pages.organize.rescoring import blueprint as organize_rescoring
from webapp.pages.organize.settings import blueprint as organize_settings
from webapp.pages.organize.solution import blueprint as organize_solution
from webapp.pages.organize.submissions import blueprint as organize_submissions
from webapp.pages.organize.teams import blueprint as organize_teams
from webapp.pages.people import blueprint as people
from webapp.pages.published_solution import blueprint as published_solution
from webapp.pages.rescored import blueprint as rescored
from webapp.pages.submit import blueprint as submissions
from webapp.pages.teams import blueprint as teams
from webapp.site import current_site

# They have added themselves to a family's blueprint.
ADDED_TO_FAMILIES = (
    account_access,
    comparing,
    organize_diagnosis,
    organize_ties,
    rescoring_difference,
    scoring_version,
)
CURRENT = Markup(' aria-current="page"')


def init_app(app: Flask) -> None:
    """Register the pages and what all their templates need."""
    for family in (account, people, competitions, entry, leaderboards, submissions, teams):
        app.register_blueprint(family)
    for family in (
        competition_data,
        organize_creating,
        organize_settings,
        organize_data,
        organize_publishing,
        organize_solution,
    ):
        app.register_blueprint(family)
    for family in (log, organize_audit, organize_organizers):
        app.register_blueprint(family)
    for family in (organize_close, published_solution):
        app.register_blueprint(family)
    for family in (organize_console, organize_submissions, organize_teams, organize_disputes):
        app.register_blueprint(family)
    for family in (organize_announcements, organize_exports):
        app.register_blueprint(family)
    for family in (organize_rescoring, rescored):
        app.register_blueprint(family)
    app.add_template_global(_current, "current")
    app.add_template_global(version("fairboard"), "version")  # type: ignore[arg-type]
    app.context_processor(_about_the_site)


def _about_the_site() -> dict[str, object]:
    settings = current_site().settings
    return {"can_sign_up": settings.sign_up is not SignUp.CLOSED, "contact": settings.contact}


def _current(*endpoints: str) -> Markup:
    """Return the attribute of a link to the page that is being shown."""
    return CURRENT if request.endpoint in endpoints else Markup()
