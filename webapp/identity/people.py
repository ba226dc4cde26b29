"""User administration: pages and API."""

from collections.abc import Callable
from typing import Annotated, Any

from flask import Blueprint, flash, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import Field
from werkzeug.exceptions import NotFound

from grader import db
from grader.models import User
from grader.services.identity import accounts, identities, password_resets, sign_ups, suspensions
from grader.services.identity.api_tokens import Scope
from webapp.http import auth, context
from webapp.http.api import blueprint as api
from webapp.http.api import ending, operation
from webapp.http.auth import View
from webapp.http.confirmation import Question, confirm
from webapp.http.context import reading, writing
from webapp.http.fields import Answer, Moment, PageSize
from webapp.http.organizer_operations import Reasoned, Searched
from webapp.http.parameters import asked_page, asked_text
from webapp.http.site import current_site, site_link

blueprint = Blueprint("people", __name__, url_prefix="/people")


@blueprint.get("")
@auth.admin_required
def index() -> ResponseReturnValue:
    """List the accounts."""
    return _page()


@blueprint.post("/<int:user_id>/reset-link", endpoint="create_reset_link")
@auth.admin_required
def show_reset_link(user_id: int) -> ResponseReturnValue:
    """Create a password reset link, and show it once."""
    name, link = _reset_link(user_id)
    return _page(link=link, link_for=name), 201


@blueprint.post("/<int:user_id>/identities/<int:identity_id>/unlink")
@auth.admin_required
def unlink(user_id: int, identity_id: int) -> ResponseReturnValue:
    """Unlink a user's identity, and end the sessions that it started."""
    with writing() as session:
        name, provider = _unlink(session, user_id, identity_id)
        confirm(
            Question(
                heading=f"Unlink {name} from {provider}?",
                sentences=(
                    "The sessions that were started with this login end. API tokens stay valid. To log in "
                    "again, the user needs another linked login or a password.",
                ),
                button="Unlink",
                back=url_for(".index"),
            )
        )
    flash(f"{name} is no longer linked to {provider}.")
    return redirect(url_for(".index"), 303)


@blueprint.post("/<int:user_id>/suspend")
@auth.admin_required
def suspend(user_id: int) -> ResponseReturnValue:
    """Suspend an account."""
    reason = request.form.get("reason", "")
    with writing() as session:
        person = _person(session, user_id)
        _suspend(session, person, reason)
        confirm(
            Question(
                heading=f"Suspend {person.name}?",
                sentences=(
                    f"Reason: {person.suspension_reason}",
                    "The account's sessions, API tokens and links end now.",
                    "The user cannot log in or create another account with the same verified address or "
                    "login.",
                    "Teams keep their results. If the user leads a team, another member leads it.",
                    "You can reinstate the account later.",
                ),
                button="Suspend",
                back=url_for(".index"),
            )
        )
    flash(f"{person.name} is suspended.")
    return redirect(url_for(".index"), 303)


@blueprint.post("/<int:user_id>/reinstate")
@auth.admin_required
def reinstate(user_id: int) -> ResponseReturnValue:
    """End the suspension of an account."""
    with writing() as session:
        person = _person(session, user_id)
        _reinstate(session, person, request.form.get("reason", ""))
    flash(f"{person.name} is reinstated.")
    return redirect(url_for(".index"), 303)


@blueprint.post("/<int:user_id>/delete")
@auth.admin_required
def delete(user_id: int) -> ResponseReturnValue:
    """Delete an account by anonymizing it."""
    reason = request.form.get("reason", "")
    with writing() as session:
        person = _person(session, user_id)
        name, was_suspended = person.name, person.suspended_at is not None
        _remove(session, person, reason)
        back = (
            "The person still cannot create another account, because this one is suspended."
            if was_suspended
            else "The person can create another account. To prevent that, suspend the account first."
        )
        confirm(
            Question(
                heading=f"Delete the account {name}?",
                sentences=(
                    f"Reason: {reason.strip()}",
                    "The name, the address and all logins are deleted. Teams keep their results.",
                    back,
                ),
                button="Delete account",
                back=url_for(".index"),
                is_final=True,
            )
        )
    flash(f"The account {name} is deleted.")
    return redirect(url_for(".index"), 303)


@blueprint.post("/invitations")
@auth.admin_required
def invite() -> ResponseReturnValue:
    """Create an invitation for one account, and show it once."""
    return _page(link=_invitation_link()), 201


def _page(*, link: str | None = None, link_for: str | None = None) -> str:
    search, number = asked_text("q"), asked_page()
    with reading() as session:
        page = accounts.list_page(session, search=search, page=number)
    return render_template("identity/people.html", page=page, search=search, link=link, link_for=link_for)


class IdentityLine(Answer):
    """A login at an identity provider that is linked to an account."""

    id: int
    provider: str
    email: Annotated[str | None, Field(description="The address that the provider has verified.")]
    linked_at: Moment | None
    last_login_at: Moment


class PersonLine(Answer):
    """An account."""

    id: int
    name: str
    email: str | None
    email_verified_at: Moment | None
    is_admin: bool
    has_second_factor: bool
    created_at: Moment
    suspended_at: Moment | None
    linked_logins: list[IdentityLine]


class PersonList(Answer):
    """A page of the accounts, newest first."""

    people: list[PersonLine]
    page_size: PageSize
    next: str | None


class ResetLink(Answer):
    """A password reset link; it is shown only once."""

    name: str
    url: str


class InvitationLink(Answer):
    """A link with which one person can sign up; it is shown only once and not sent by e-mail."""

    url: str


def administrators_operation(**described: Any) -> Callable[[Callable[..., Any]], View]:
    """Describe an operation that only administrators may call."""

    def decorate(view: Callable[..., Any]) -> View:
        return auth.admin_required(operation(Scope.ADMIN, tag="people", **described)(view))

    return decorate


@api.get("/people")
@administrators_operation(answers=PersonList)
def person_list(query: Searched) -> PersonList:
    """List the accounts whose name or e-mail address contains `q`, newest first."""
    with reading() as session:
        listed = accounts.list_after(session, search=query.q, part=query.part)
    people = [
        PersonLine.of(each, linked_logins=each.identities, has_second_factor=bool(each.second_factors))
        for each in listed.rows
    ]
    return PersonList(people=people, **ending(listed))


@api.post("/people/<int:user_id>/reset-link")
@administrators_operation(answers=ResetLink, status=201)
def create_reset_link(user_id: int) -> Any:
    """Create a password reset link for a user."""
    name, link = _reset_link(user_id)
    return ResetLink(name=name, url=link), 201


@api.delete("/people/<int:user_id>/identities/<int:identity_id>")
@administrators_operation(status=204)
def unlink_identity(user_id: int, identity_id: int) -> Any:
    """Unlink a user from an identity provider, and end the sessions that were started with it.

    API tokens stay valid.
    """
    with writing() as session:
        _unlink(session, user_id, identity_id)
    return "", 204


@api.post("/people/<int:user_id>/suspend")
@administrators_operation(status=204)
def suspend_person(user_id: int, json: Reasoned) -> Any:
    """Suspend an account: its sessions, tokens and links end, and its teams keep their results.

    The person cannot create another account with the same verified address or login.
    """
    with writing() as session:
        _suspend(session, _person(session, user_id), json.reason)
    return "", 204


@api.post("/people/<int:user_id>/reinstate")
@administrators_operation(status=204)
def reinstate_person(user_id: int, json: Reasoned) -> Any:
    """End the suspension of an account."""
    with writing() as session:
        _reinstate(session, _person(session, user_id), json.reason)
    return "", 204


@api.delete("/people/<int:user_id>")
@administrators_operation(status=204)
def delete_person(user_id: int, json: Reasoned) -> Any:
    """Delete an account by anonymizing it; its teams keep their results."""
    with writing() as session:
        _remove(session, _person(session, user_id), json.reason)
    return "", 204


@api.post("/invitations")
@administrators_operation(answers=InvitationLink, status=201)
def invite_person() -> Any:
    """Create an invitation to sign up for one account."""
    return InvitationLink(url=_invitation_link()), 201


def _person(session: Any, user_id: int) -> User:
    person = accounts.find(session, user_id=user_id)
    if person is None:
        raise NotFound
    return person


def _acting(session: Any) -> dict[str, Any]:
    return {"actor": context.actor(), "now": db.now(session)}


def _suspend(session: Any, person: User, reason: str) -> None:
    secret = current_site().settings.secret()
    suspensions.suspend(session, user=person, reason=reason, secret=secret, **_acting(session))


def _reinstate(session: Any, person: User, reason: str) -> None:
    suspensions.reinstate(session, user=person, reason=reason, **_acting(session))


def _remove(session: Any, person: User, reason: str) -> None:
    secret = current_site().settings.secret()
    suspensions.remove(session, user=person, reason=reason, secret=secret, **_acting(session))


def _unlink(session: Any, user_id: int, identity_id: int) -> tuple[str, str]:
    """Unlink an identity; return the names of the user and the provider."""
    person = _person(session, user_id)
    identity = identities.unlink(
        session,
        user=person,
        identity_id=identity_id,
        actor=context.actor(),
        settings=current_site().settings,
        now=db.now(session),
    )
    return person.name, identity.provider


def _reset_link(user_id: int) -> tuple[str, str]:
    """Return a user's name and a new password reset link."""
    with writing() as session:
        person = _person(session, user_id)
        identities.require_may_use_password(person, current_site().settings)
        token = password_resets.create_link(session, user=person, created_by=g.user.name, now=db.now(session))
    return person.name, site_link("account.reset", token=token)


def _invitation_link() -> str:
    with writing() as session:
        token = sign_ups.invite(session, created_by=g.user.name, now=db.now(session))
    return site_link("account.sign_up_by_link", token=token)
