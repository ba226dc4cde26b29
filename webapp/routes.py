"""Registration of the pages, of the JSON API and of shared template functions."""

import pkgutil
from functools import partial
from importlib import import_module
from importlib.metadata import version
from operator import attrgetter

from flask import Blueprint, Flask, g, request
from markupsafe import Markup

from grader.identity_providers import SignUp
from grader.models import Role
from grader.services.competitions import organizers
from grader.services.identity import identities
from webapp import documentation, health, surface
from webapp.competitions import api
from webapp.http import api as operations
from webapp.http.site import current_site, site_link

# All modules of these packages are imported, because they add pages and operations to blueprints.
TOPICS = (
    *("identity", "competitions", "solutions", "teams", "submissions", "leaderboards", "rescoring"),
    *("closing", "site", "kaggle_protocol", "openapi"),
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
    for blueprint in _blueprints():
        app.register_blueprint(blueprint)
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


def _blueprints() -> list[Blueprint]:
    """Import the modules of all topics, and return the blueprints."""
    modules = [documentation, health, operations]
    for topic in TOPICS:
        package = import_module(f"webapp.{topic}")
        for each in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            modules.append(import_module(each.name))
    named = {value for module in modules for value in vars(module).values() if isinstance(value, Blueprint)}
    return sorted(named, key=attrgetter("name"))


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
