"""Administrators' page of user accounts: list, reset links, invitations to the site."""

from flask import Blueprint, abort, g, render_template
from flask.typing import ResponseReturnValue

from grader import db
from grader.services.accounts import accounts, password_resets, sign_ups
from webapp.http import auth, hosts
from webapp.http.parameters import asked_page, asked_text
from webapp.http.site import current_site

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
    with current_site().database.write() as session:
        person = accounts.find(session, user_id=user_id)
        if person is None:
            abort(404)
        token = password_resets.create_link(session, user=person, created_by=g.user.name, now=db.now(session))
    return _page(link=hosts.link("account.reset", token=token), link_for=person.name), 201


@blueprint.post("/invitations")
@auth.admin_required
def invite() -> ResponseReturnValue:
    """Make an invitation for one account, and show it once."""
    with current_site().database.write() as session:
        token = sign_ups.invite(session, created_by=g.user.name, now=db.now(session))
    return _page(link=hosts.link("account.sign_up_by_link", token=token)), 201


def _page(*, link: str | None = None, link_for: str | None = None) -> str:
    search, number = asked_text("q"), asked_page()
    with current_site().database.read() as session:
        page = accounts.list_page(session, search=search, page=number)
    return render_template("accounts/people.html", page=page, search=search, link=link, link_for=link_for)
