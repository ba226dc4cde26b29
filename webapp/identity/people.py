"""User administration (pages and API)."""

from dataclasses import replace
from typing import Annotated

from flask import Blueprint, request
from pydantic import Field
from werkzeug.exceptions import NotFound

from grader.models import LinkPurpose, User
from grader.services.competitions.acting import Act
from grader.services.identity import (
    accounts,
    identities,
    one_time_links,
    second_factors,
    suspensions,
)
from webapp.http.api import ending
from webapp.http.confirmation import confirm
from webapp.http.fields import Answer, Moment, PageSize
from webapp.http.organizer_operations import Reasoned, Searched
from webapp.http.site import current_site, site_link
from webapp.surface import Access, Ask, Surface

blueprint = Blueprint("people", __name__, url_prefix="/people")
PEOPLE = Surface(blueprint, tag="people", role=Access.ADMIN)


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


@PEOPLE.read("", PersonList, endpoint="index", page="identity/people.html")
def person_list(ask: Ask, query: Searched) -> PersonList:
    """List the accounts whose name or e-mail address contains `q`, newest first."""
    listed = accounts.list_after(ask.session, search=query.q, part=query.part)
    ask.shown |= {"rows": listed.rows, "link": None, "link_for": None}
    people = [
        PersonLine.of(each, linked_logins=each.identities, has_second_factor=bool(each.second_factors))
        for each in listed.rows
    ]
    return PersonList(people=people, **ending(listed))


@PEOPLE.act(
    "/<int:user_id>/reset-link",
    form="create_reset_link",
    back=person_list,
    done=lambda made, **_: {"link": made.url, "link_for": made.name},
    answers=ResetLink,
    status=201,
)
def create_reset_link(act: Act, user_id: int) -> ResetLink:
    """Create a password reset link for a user."""
    person = _person(act, user_id)
    identities.require_may_use_password(person, current_site().settings)
    token = one_time_links.create(act.session, purpose=LinkPurpose.RESET_PASSWORD, user=person, now=act.now)
    return ResetLink(name=person.name, url=site_link("account.reset", token=token))


@PEOPLE.act(
    "/<int:user_id>/identities/<int:identity_id>",
    method="DELETE",
    form="unlink",
    back=person_list,
    status=204,
)
def unlink_identity(act: Act, user_id: int, identity_id: int) -> str:
    """Unlink a user from an identity provider, and end the sessions that were started with it.

    API tokens stay valid.
    """
    person, settings = _person(act, user_id), current_site().settings
    identity = identities.unlink(act, user=person, identity_id=identity_id, settings=settings)
    _ask(
        f"Unlink {person.name} from {identity.provider}?",
        "Unlink",
        "The sessions that were started with this login end. API tokens stay valid. To log in again, the "
        "user needs another linked login or a password.",
    )
    return f"{person.name} is no longer linked to {identity.provider}."


@PEOPLE.act("/<int:user_id>/suspend", form="suspend", back=person_list, status=204)
def suspend_person(act: Act, sent: Reasoned, user_id: int) -> str:
    """Suspend an account: its sessions, tokens and links end, and its teams keep their results.

    The person sees the reason at the next login, and cannot create another account with the same verified
    address or login.
    """
    person = _person(act, user_id)
    suspensions.suspend(act, user=person, reason=sent.reason, secret=current_site().settings.secret())
    _ask(
        f"Suspend {person.name}?",
        "Suspend",
        f"Reason: {person.suspension_reason}",
        "The account's sessions, API tokens and links end now.",
        "The user cannot log in or create another account with the same verified address or login.",
        "Teams keep their results. If the user leads a team, another member leads it.",
        "You can reinstate the account later.",
    )
    return f"{person.name} is suspended."


@PEOPLE.act("/<int:user_id>/reinstate", form="reinstate", back=person_list, status=204)
def reinstate_person(act: Act, sent: Reasoned, user_id: int) -> str:
    """End the suspension of an account."""
    person = _person(act, user_id)
    suspensions.reinstate(act, user=person, reason=sent.reason)
    return f"{person.name} is reinstated."


@PEOPLE.act(
    "/<int:user_id>",
    method="DELETE",
    form="delete",
    back=person_list,
    status=204,
)
def delete_person(act: Act, sent: Reasoned, user_id: int) -> str:
    """Delete an account by anonymizing it; its teams keep their results."""
    person = _person(act, user_id)
    name, was_suspended = person.name, person.suspended_at is not None
    suspensions.remove(act, user=person, reason=sent.reason, secret=current_site().settings.secret())
    back = "The person can create another account. To prevent that, suspend the account first."
    if was_suspended:
        back = "The person still cannot create another account, because this one is suspended."
    _ask(
        f"Delete the account {name}?",
        "Delete account",
        f"Reason: {sent.reason.strip()}",
        "The name, the address and all logins are deleted. Teams keep their results.",
        back,
        is_final=True,
    )
    return f"The account {name} is deleted."


@PEOPLE.act(
    "/<int:user_id>/reset-second-factors",
    form="reset_second_factors",
    back=person_list,
    status=204,
)
def reset_second_factors(act: Act, user_id: int) -> str:
    """Remove all second factors and sessions of a user who cannot log in."""
    person = _person(act, user_id)
    second_factors.reset(act, user=person)
    _ask(
        f"Reset the second factors of {person.name}?",
        "Reset second factors",
        "Do this only if you are sure that the request comes from this person.",
        "The next login will not ask for a second factor.",
        is_final=True,
    )
    return (
        f"{person.name} can now log in without a second factor, and all sessions of the account have ended."
    )


@replace(PEOPLE, api="").act(
    "/invitations",
    form="invite",
    back=person_list,
    done=lambda made, **_: {"link": made.url},
    answers=InvitationLink,
    status=201,
)
def invite_person(act: Act) -> InvitationLink:
    """Create an invitation to sign up for one account."""
    token = one_time_links.create(act.session, purpose=LinkPurpose.SIGN_UP, now=act.now)
    return InvitationLink(url=site_link("account.sign_up_by_link", token=token))


def _person(act: Act, user_id: int) -> User:
    person = accounts.find(act.session, user_id=user_id)
    if person is None:
        raise NotFound
    return person


def _ask(heading: str, button: str, *sentences: str, is_final: bool = False) -> None:
    """Ask for a confirmation on the page; operations need none."""
    if request.blueprint != "api":
        confirm(heading, button, *sentences, is_final=is_final)
