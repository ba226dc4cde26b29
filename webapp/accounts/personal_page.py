"""A person's page, its switch and preview on the account page, and the avatar."""

from flask import g, render_template, request
from flask.typing import ResponseReturnValue

from grader import db
from grader.services.accounts import personal_pages
from grader.services.accounts.personal_pages import PersonalPage
from webapp.accounts.own_account import blueprint, saved
from webapp.accounts.people import blueprint as people_blueprint
from webapp.http import auth
from webapp.http.site import current_site


@people_blueprint.get("/<key>")
def profile(key: str) -> ResponseReturnValue:
    """Show the page of a person who turned it on."""
    with current_site().database.read() as session:
        found = personal_pages.get(session, key=key, now=db.now(session))
    return _page(found)


@blueprint.get("/account/page")
@auth.login_required
def preview() -> ResponseReturnValue:
    """Show a person's own page as others see it, or would see it."""
    with current_site().database.read() as session:
        found = personal_pages.of_person(session, user=g.user, now=db.now(session))
    return _page(found, is_preview=True)


@blueprint.post("/account/page")
@auth.login_required
def switch_page() -> ResponseReturnValue:
    """Turn the person's page on or off."""
    is_on = request.form.get("page") == "on"
    with current_site().database.write() as session:
        act = personal_pages.turn_on if is_on else personal_pages.turn_off
        act(session, user=g.user)
    return saved("Your page is on." if is_on else "Your page is off. Its address leads nowhere now.")


@blueprint.post("/account/avatar")
@auth.login_required
def draw_avatar() -> ResponseReturnValue:
    """Draw another avatar."""
    with current_site().database.write() as session:
        personal_pages.draw_avatar(session, user=g.user)
    return saved("You have another avatar.")


def _page(found: PersonalPage, *, is_preview: bool = False) -> str:
    return render_template("accounts/profile.html", person=found, is_preview=is_preview)
