"""User accounts for administrators, and a person's public page."""

from flask import Blueprint, abort, g, render_template, request
from flask.typing import ResponseReturnValue

from grader import db
from grader.services.accounts import accounts, password_resets, personal_pages, sign_ups
from grader.services.accounts.personal_pages import PersonalPage
from webapp.accounts.own_account import blueprint as account_blueprint
from webapp.accounts.own_account import saved
from webapp.http import auth
from webapp.http.context import reading, writing
from webapp.http.parameters import asked_page, asked_text
from webapp.http.site import site_link

blueprint = Blueprint("people", __name__, url_prefix="/people")


@blueprint.get("")
@auth.admin_required
def index() -> ResponseReturnValue:
    """List the accounts."""
    return _page()


@blueprint.post("/<int:user_id>/reset-link")
@auth.admin_required
def create_reset_link(user_id: int) -> ResponseReturnValue:
    """Make a link that sets a new password, and show it once."""
    with writing() as session:
        person = accounts.find(session, user_id=user_id)
        if person is None:
            abort(404)
        token = password_resets.create_link(session, user=person, created_by=g.user.name, now=db.now(session))
    return _page(link=site_link("account.reset", token=token), link_for=person.name), 201


@blueprint.post("/invitations")
@auth.admin_required
def invite() -> ResponseReturnValue:
    """Make an invitation for one account, and show it once."""
    with writing() as session:
        token = sign_ups.invite(session, created_by=g.user.name, now=db.now(session))
    return _page(link=site_link("account.sign_up_by_link", token=token)), 201


def _page(*, link: str | None = None, link_for: str | None = None) -> str:
    search, number = asked_text("q"), asked_page()
    with reading() as session:
        page = accounts.list_page(session, search=search, page=number)
    return render_template("accounts/people.html", page=page, search=search, link=link, link_for=link_for)


@blueprint.get("/<key>")
def profile(key: str) -> ResponseReturnValue:
    """Show the page of a person who turned it on."""
    with reading() as session:
        found = personal_pages.get(session, key=key, now=db.now(session))
    return _personal_page(found)


@account_blueprint.get("/account/page")
@auth.login_required
def preview() -> ResponseReturnValue:
    """Show a person's own page as others see it, or would see it."""
    with reading() as session:
        found = personal_pages.of_person(session, user=g.user, now=db.now(session))
    return _personal_page(found, is_preview=True)


@account_blueprint.post("/account/page")
@auth.login_required
def switch_page() -> ResponseReturnValue:
    """Turn the person's page on or off."""
    is_on = request.form.get("page") == "on"
    with writing() as session:
        act = personal_pages.turn_on if is_on else personal_pages.turn_off
        act(session, user=g.user)
    return saved("Your page is on." if is_on else "Your page is off. Its address leads nowhere now.")


@account_blueprint.post("/account/avatar")
@auth.login_required
def draw_avatar() -> ResponseReturnValue:
    """Draw another avatar."""
    with writing() as session:
        personal_pages.draw_avatar(session, user=g.user)
    return saved("You have another avatar.")


def _personal_page(found: PersonalPage, *, is_preview: bool = False) -> str:
    return render_template("accounts/profile.html", person=found, is_preview=is_preview)
