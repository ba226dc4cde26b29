"""Register the HTML pages, one blueprint for each family; give all templates what they share."""

from importlib.metadata import version

from flask import Flask, request
from markupsafe import Markup

from grader.settings import SignUp
from webapp.accounts import access, notifications, own_account, people
from webapp.competitions import data_pages, downloads, pages
from webapp.competitions import pages as competition_pages
from webapp.documentation import pages as documentation_pages
from webapp.http.site import current_site
from webapp.leaderboards import pages as leaderboard_pages
from webapp.organizers.closing import pages as closing_pages
from webapp.organizers.console import actions as console_actions
from webapp.organizers.console import (
    announcements_page,
    audit_page,
    console_page,
    diagnosis_page,
    disputes_page,
    exports_page,
    organizers_page,
    submissions_page,
    teams_page,
    ties_page,
)
from webapp.organizers.fair_play import pages as fair_play_pages
from webapp.organizers.rescoring import difference_page, version_page
from webapp.organizers.rescoring import pages as rescoring_pages
from webapp.organizers.setup import (
    create_page,
    data_page,
    publish_page,
    settings_page,
    solution_page,
)
from webapp.presentation import design_page
from webapp.submissions import comparison, submit_page
from webapp.teams import actions as team_actions
from webapp.teams import entry_pages, profile_page
from webapp.teams import pages as team_pages
from webapp.webhooks import organizers_page as organizers_webhooks_page
from webapp.webhooks import team_page as team_webhooks_page

FAMILIES = (
    *(own_account, notifications, people, design_page),
    *(competition_pages, data_pages, downloads),
    *(entry_pages, team_pages, submit_page, leaderboard_pages),
    *(create_page, settings_page, data_page, solution_page, publish_page),
    *(console_page, submissions_page, teams_page, disputes_page, announcements_page),
    *(team_webhooks_page, organizers_webhooks_page),
    *(organizers_page, audit_page, exports_page, fair_play_pages, rescoring_pages, closing_pages),
)
# They add their pages to the blueprint of a family.
ADDED_TO_FAMILIES = (
    access,
    comparison,
    diagnosis_page,
    ties_page,
    difference_page,
    version_page,
    profile_page,
    team_actions,
    console_actions,
)
CURRENT = Markup(' aria-current="page"')


def init_app(app: Flask) -> None:
    """Register the pages and what all their templates need."""
    for family in FAMILIES:
        app.register_blueprint(family.blueprint)
    documentation_pages.init_app(app)
    pages.init_app(app)
    app.add_template_global(_current, "current")
    app.add_template_global(version("fairboard"), "version")  # type: ignore[arg-type]
    app.add_template_global(app.extensions["fairboard"].settings.sends_mail(), "sends_mail")
    app.context_processor(_about_the_site)


def _about_the_site() -> dict[str, object]:
    settings = current_site().settings
    return {"can_sign_up": settings.sign_up is not SignUp.CLOSED, "contact": settings.contact}


def _current(*endpoints: str) -> Markup:
    """Return the attribute of a link to the page that is being shown."""
    return CURRENT if request.endpoint in endpoints else Markup()
