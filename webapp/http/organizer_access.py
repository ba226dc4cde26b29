"""Access to the organizers' pages by role, and the navigation between them."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from flask import Flask, current_app, g, request
from flask.typing import ResponseReturnValue

from grader.models import Role
from grader.services.audit.log import Actor
from grader.services.competitions import organizers
from webapp.http import auth
from webapp.http.auth import View
from webapp.http.context import is_shell, reading, require_role

# In the order of the navigation: a page's family, and its words.
PAGES = {
    "organize_console": "Console",
    "organize_submissions": "Submissions",
    "organize_teams": "Teams",
    "fair_play": "Fair play",
    "organize_disputes": "Questions",
    "organize_announcements": "Announcements",
    "organize_webhooks": "Webhooks",
    "organize_rescoring": "Rescoring",
    "organize_settings": "Setup",
    "organize_organizers": "Organizers",
    "organize_audit": "Audit",
    "organize_close": "Close & results",
}
# The pages of the setup have steps of their own above them.
SETUP = frozenset({"organize_settings", "organize_solution", "organize_data", "organize_publishing"})


def organizers_only(role: Role) -> Callable[[View], View]:
    """Show a page of a competition to organizers with this role or a higher one.

    Strangers are sent to log in, whatever the address; others are refused, and learn nothing of a draft.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(*args: Any, slug: str, **kwargs: Any) -> ResponseReturnValue:
            if g.user is None and not is_shell():
                return auth.ask_to_log_in()
            with reading() as session:
                require_role(session, slug, role)
            return view(*args, slug=slug, **kwargs)

        return guarded

    return decorate


def actor() -> Actor:
    """Return the person, or the operator's shell, who acts in this request."""
    return Actor.shell() if is_shell() else Actor.of(g.user)


def may(role: str) -> bool:
    """Return whether the current user has this role or a higher one in the page's competition."""
    return organizers.reaches(g.organizer_role, Role(role))


def pages() -> list[tuple[str, str, str]]:
    """Return the pages of the navigation that are there: family, endpoint and words."""
    found = ((family, _front_endpoint(family), words) for family, words in PAGES.items())
    return [(family, endpoint, words) for family, endpoint, words in found if endpoint]


def current_page() -> str | None:
    """Return the family of the navigation that is being shown, None on other pages than organizers'."""
    family = request.blueprint or ""
    if family in SETUP:
        return "organize_settings"
    return family if family == "fair_play" or family.startswith("organize_") else None


def init_app(app: Flask) -> None:
    """Give all templates what the organizers' parts of a page depend on."""
    app.add_template_global(may)
    app.add_template_global(pages, "organizers_pages")
    app.add_template_global(current_page, "organizers_page")


def _front_endpoint(family: str) -> str | None:
    """Return the page of a family that needs nothing but the competition."""
    names = (f"{family}.index", f"{family}.show")
    return next((name for name in names if name in current_app.view_functions), None)
