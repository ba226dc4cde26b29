"""Registration of the pages, of the JSON API and of shared template functions."""

from functools import partial
from importlib.metadata import version

from flask import Flask, g, request
from markupsafe import Markup

from grader.identity_providers import SignUp
from grader.models import Role
from grader.services.competitions import organizers
from grader.services.identity import identities
from webapp import documentation, health, surface
from webapp.closing import exports
from webapp.closing import pages as closing_pages
from webapp.competitions import (
    announcements,
    api,
    console,
    creating,
    downloads,
    publishing,
    setup,
)
from webapp.competitions import organizers as organizers_page
from webapp.competitions import pages as competition_pages
from webapp.http import api as operations
from webapp.http.site import current_site, site_link
from webapp.identity import access, own_account, people, second_factors, single_sign_on
from webapp.kaggle_protocol import competitions as kaggle_competitions
from webapp.kaggle_protocol import downloads as kaggle_downloads
from webapp.kaggle_protocol import leaderboards as kaggle_leaderboards
from webapp.kaggle_protocol import protocol
from webapp.kaggle_protocol import submissions as kaggle_submissions
from webapp.leaderboards import pages as leaderboard_pages
from webapp.openapi import document
from webapp.rescoring import pages as rescoring_pages
from webapp.site import audit
from webapp.solutions import data_files, solution
from webapp.submissions import comparison, submit_page
from webapp.submissions import organized_submissions as submissions
from webapp.submissions import pages as submission_pages
from webapp.teams import entry, own_team, roster
from webapp.teams import organized_teams as teams

FAMILIES = (
    *(own_account, people),
    *(competition_pages, downloads),
    *(entry, own_team, submit_page, leaderboard_pages),
    *(creating, setup, data_files, solution, publishing),
    *(console, submissions, teams, announcements),
    *(organizers_page, roster, audit, exports, rescoring_pages, closing_pages),
    *(operations, document, protocol, documentation, health),
)
# These modules add their pages and operations to another module's blueprint.
ADDED_TO_FAMILIES = (
    *(access, single_sign_on, second_factors, comparison),
    *(submission_pages, api),
    *(kaggle_competitions, kaggle_downloads, kaggle_leaderboards, kaggle_submissions),
)
# Pages of the organizers' navigation, in order, with their labels.
PAGES = {
    "organize_console.index": "Overview",
    "organize_submissions.index": "Submissions",
    "organize_teams.index": "Teams",
    "organize_announcements.index": "Announcements",
    "organize_rescoring.index": "Rescoring",
    "organize_settings.show": "Setup",
    "organize_close.index": "Close",
}
# Blueprints of other pages, and the page from which they are linked.
BELOW = {
    **{endpoint.partition(".")[0]: endpoint for endpoint in PAGES},
    "organize_roster": "organize_teams.index",
    "organize_audit": "organize_announcements.index",
    "organize_solution": "organize_settings.show",
    "organize_data": "organize_settings.show",
    "organize_organizers": "organize_settings.show",
    "organize_publishing": "organize_settings.show",
}
CURRENT = Markup(' aria-current="page"')


def init_app(app: Flask) -> None:
    """Register the pages and the functions shared by all templates."""
    for family in FAMILIES:
        app.register_blueprint(family.blueprint)
    app.register_blueprint(protocol.pages)
    app.add_template_global(_current, "current")
    app.add_template_global(_may, "may")
    app.add_template_global(PAGES, "organizers_pages")  # type: ignore[arg-type]
    app.add_template_global(_organizers_page, "organizers_page")
    app.add_template_global(site_link)
    app.add_template_global(documentation.docs_url)
    app.add_template_global(surface.start_of_list)
    app.add_template_global(api.stages, "stages_of")
    app.add_template_global(version("fairboard"), "version")  # type: ignore[arg-type]
    app.add_template_global(app.extensions["fairboard"].settings.sends_mail(), "sends_mail")
    app.context_processor(_about_the_site)


def _about_the_site() -> dict[str, object]:
    site = current_site()
    return {
        "can_sign_up": site.settings.password_login and site.settings.sign_up is not SignUp.CLOSED,
        "contact": site.settings.contact,
        "site_settings": site.settings,
        "providers": [each.provider for each in site.providers.values()],
        "password_login": site.settings.password_login,
        "has_password": partial(identities.has_password, settings=site.settings),
        "may_use_password": partial(identities.may_use_password, settings=site.settings),
    }


def _current(*endpoints: str) -> Markup:
    """Return the attribute that marks the link to the current page."""
    return CURRENT if request.endpoint in endpoints else Markup()


def _may(role: str) -> bool:
    """Return whether the current user has this role or a higher one in the page's competition."""
    return organizers.reaches(g.organizer_role, Role(role))


def _organizers_page() -> str | None:
    """Return the page of the organizers' navigation to which the current page belongs, or None."""
    return BELOW.get(request.blueprint or "")
