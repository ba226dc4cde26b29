"""API: the accounts of a site, reset links and invitations, for administrators."""

from collections.abc import Callable
from typing import Any, cast

from flask import g, request
from werkzeug.exceptions import NotFound

from grader import db
from grader.models import User
from grader.services.accounts import accounts, password_resets, sign_ups
from grader.services.accounts.api_tokens import Scope
from grader.services.audit.log import operator
from webapp.http import auth, context
from webapp.http.api import blueprint, ending, operation
from webapp.http.auth import View
from webapp.http.context import reading, writing
from webapp.http.fields import Answer, FileForm, Moment, PageSize
from webapp.http.middleware import FairboardRequest
from webapp.http.organizer_operations import Searched
from webapp.http.site import site_link

TAG = "people"


class PersonLine(Answer):
    """An account."""

    id: int
    name: str
    email: str | None
    email_verified_at: Moment | None
    is_admin: bool
    created_at: Moment


class PersonList(Answer):
    """A part of the accounts, the newest first."""

    people: list[PersonLine]
    page_size: PageSize
    next: str | None


class ResetLink(Answer):
    """A link that sets a new password of a person; it is shown this once."""

    name: str
    url: str


class InvitationLink(Answer):
    """A link with which one person can sign up; it is shown this once. Nobody gets it by mail."""

    email: str | None
    url: str


class InvitationLinks(Answer):
    """A link for each address of a file, in its order."""

    invitations: list[InvitationLink]


def _administrators_operation(**described: Any) -> Callable[[Callable[..., Any]], View]:
    def decorate(view: Callable[..., Any]) -> View:
        return auth.admin_required(operation(Scope.ADMIN, tag=TAG, **described)(view))

    return decorate


@blueprint.get("/people")
@_administrators_operation(answers=PersonList)
def person_list(query: Searched) -> PersonList:
    """List the accounts whose name or address holds `q`, the newest first."""
    with reading() as session:
        found = accounts.list_after(session, search=query.q, part=query.part)
    return PersonList(people=[_line(person) for person in found.rows], **ending(found))


@blueprint.post("/people/<int:user_id>/reset-link")
@_administrators_operation(answers=ResetLink, status=201, creates=True, shows_secret=True)
def create_reset_link(user_id: int) -> Any:
    """Make a link that sets a new password of a person."""
    with writing() as session:
        person = accounts.find(session, user_id=user_id)
        if person is None:
            raise NotFound
        token = password_resets.create_link(session, user=person, created_by=_maker(), now=db.now(session))
    return ResetLink(name=person.name, url=site_link("account.reset", token=token)), 201


@blueprint.post("/invitations")
@_administrators_operation(answers=InvitationLink, status=201, creates=True, shows_secret=True)
def invite_person() -> Any:
    """Make an invitation to the site for one account."""
    with writing() as session:
        token = sign_ups.invite(session, created_by=_maker(), now=db.now(session))
    return _invitation(None, token), 201


@blueprint.post("/invitations/csv")
@_administrators_operation(
    answers=InvitationLinks, status=201, creates=True, shows_secret=True, takes_file=FileForm
)
def invite_people() -> Any:
    """Make an invitation for each address of a CSV file, all or none.

    The file has a column `email`, or one address a line. All its problems are told at once. The links are
    not mailed: hand them over.
    """
    sent = cast(FairboardRequest, request).sent_file
    file = sent.stream.read() if sent else b""
    with writing() as session:
        made = sign_ups.invite_all(session, file=file, created_by=_maker(), now=db.now(session))
    return InvitationLinks(invitations=[_invitation(*each) for each in made]), 201


def _invitation(address: str | None, token: str) -> InvitationLink:
    return InvitationLink(email=address, url=site_link("account.sign_up_by_link", token=token))


def _maker() -> str:
    return operator() if context.is_shell() else cast(str, g.user.name)


def _line(person: User) -> PersonLine:
    return PersonLine.model_validate(person)
