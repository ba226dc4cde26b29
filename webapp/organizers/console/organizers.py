"""Organizers and their roles, and class accounts (page and API)."""

from dataclasses import replace
from typing import Annotated, Any

from flask import Blueprint, g, render_template, request, url_for
from pydantic import Field

from grader import db
from grader.models import Competition, Role, User
from grader.services.accounts import accounts, class_accounts
from grader.services.accounts.class_accounts import NewAccount
from grader.services.accounts.passwords import TooManyHashes
from grader.services.competitions import organizers
from grader.services.competitions.acting import Act
from grader.services.people import names
from webapp.competitions.views import CompetitionView
from webapp.http import api
from webapp.http.actions import Family, entered
from webapp.http.auth import organizers_only
from webapp.http.confirmation import Question, confirm
from webapp.http.context import competition_of, reading
from webapp.http.fields import Answer, Confirmation, Moment, Sent, Text
from webapp.http.organizer_operations import DESK, organizers_operation
from webapp.http.site import current_site, site_link

blueprint = Blueprint("organize_organizers", __name__, url_prefix="/competitions/<slug>/organize/organizers")
WHAT_ROLES_MAY = {
    Role.OWNER: "can do everything",
    Role.EDITOR: (
        "can do everything except publish, archive or delete the competition or change its organizers"
    ),
    Role.VIEWER: "can see everything but change nothing",
}


class OrganizerRequest(Sent):
    """The name of a user to add as an organizer, and their role."""

    name: Text
    role: Role


class RoleRequest(Confirmation):
    """The new role of an organizer."""

    role: Role


class ClassRequest(Sent):
    """Accounts to create for a class."""

    names: Annotated[list[Text], Field(description="The names of the accounts, at most 200.")]
    with_tokens: Annotated[
        bool,
        Field(description="Whether each account gets an API token for this competition instead of a link."),
    ] = False


class ClassAccount(Answer):
    """A new account, with a secret that is shown only in this response."""

    name: str
    url: Annotated[str | None, Field(description="One-time link to set the password, valid for 14 days.")]
    token: Annotated[str | None, Field(description="API token that can read and submit, valid for a year.")]


class ClassAccounts(Answer):
    """The new accounts, in the order of their names in the request."""

    accounts: Annotated[list[ClassAccount], Field(description="The new accounts with their secrets.")]


class OrganizerLine(Answer):
    """An organizer."""

    user_id: int
    name: str
    role: Role
    added_at: Moment


class OrganizerList(Answer):
    """The organizers, in the order in which they were added."""

    organizers: list[OrganizerLine]


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(
    slug: str,
    *,
    problem: Any = None,
    class_problem: Any = None,
    made: list[ClassAccount] | None = None,
    **_: Any,
) -> str:
    """List the organizers and their roles."""
    with reading() as session:
        competition = competition_of(session, slug)
        view = CompetitionView(competition, db.now(session))
        found = organizers.list_all(session, competition=competition)
    return render_template(
        "console/organizers.html",
        competition=view,
        organizers=found,
        roles=WHAT_ROLES_MAY,
        asked_role=request.form.get("role", Role.EDITOR.value),
        name=request.form.get("name", ""),
        problem=problem.message if problem else "",
        class_problem=class_problem,
        made=made,
        form=request.form,
    )


def _is_own(user: User) -> bool:
    return g.user is not None and user.id == g.user.id


def _question(slug: str, user: User, role: Role | None) -> Question:
    """Return the confirmation for removing an organizer or changing the user's own role."""
    back, is_own = url_for("organize_organizers.index", slug=slug), _is_own(user)
    if role is not None:
        article = "A" if role is Role.VIEWER else "An"
        sentence = f"{article} {role.value} {WHAT_ROLES_MAY[role]}. Only an owner can undo this change."
        return Question(f"Change your role to {role.value}?", (sentence,), "Change my role", back)
    who = "You lose" if is_own else f"{user.name} loses"
    sentence = f"{who} all organizer rights here immediately. Only an owner can restore them."
    heading = "Remove yourself?" if is_own else f"Remove {user.name}?"
    return Question(heading, (sentence,), "Remove organizer", back)


@api.blueprint.get(f"{DESK}/organizers")
@organizers_operation(Role.VIEWER, answers=OrganizerList, tag="running")
def organizer_list(slug: str) -> OrganizerList:
    """List the organizers and their roles."""
    with reading() as session:
        return _organizers(session, competition_of(session, slug))


def _organizers(session: Any, competition: Competition) -> OrganizerList:
    found = organizers.list_all(session, competition=competition)
    return OrganizerList(organizers=[OrganizerLine.of(each, name=each.user.name) for each in found])


def _home(slug: str, **_: Any) -> str:
    """Return the URL of the page, or of the start page for users who are no longer organizers."""
    with reading() as session:
        role = organizers.competition_and_role(session, slug=slug, user=g.user)[1]
    return url_for("organize_organizers.index", slug=slug) if role else url_for("competitions.index")


ORGANIZERS = Family(
    pages=blueprint,
    tag="running",
    refusals=(
        names.UnknownUser,
        organizers.AlreadyOrganizer,
        organizers.LastOwner,
        organizers.UnknownOrganizer,
    ),
    show=index,
    home=_home,
    answers=OrganizerList,
    answer=lambda act, _outcome, **_: _organizers(act.session, act.competition),
    role=Role.OWNER,
)


@ORGANIZERS.action(
    "", page="add", done=lambda user: f"{user.name} is now an organizer.", status=201, creates=True
)
def add_organizer(act: Act, sent: OrganizerRequest) -> User:
    """Add a user as an organizer."""
    user = names.get_user(act.session, name=sent.name)
    organizers.add(**act.parts, user=user, role=sent.role)
    return user


@ORGANIZERS.action(
    "/<int:user_id>",
    method="PATCH",
    page="change",
    page_path="/<int:user_id>/change",
    done=lambda user, **_: f"{user.name} has a new role.",
)
def change_organizer(act: Act, sent: RoleRequest, user_id: int) -> User:
    """Change the role of an organizer."""
    user = _organizer(act, user_id)
    organizers.change(**act.parts, user=user, role=sent.role)
    if _is_own(user):
        confirm(_question(act.competition.slug, user, sent.role))
    return user


@ORGANIZERS.action(
    "/<int:user_id>",
    method="DELETE",
    page="remove",
    page_path="/<int:user_id>/remove",
    done=lambda user, **_: f"{user.name} is no longer an organizer.",
    status=204,
)
def remove_organizer(act: Act, sent: Confirmation, user_id: int) -> User:
    """Remove an organizer."""
    user = _organizer(act, user_id)
    organizers.remove(**act.parts, user=user)
    confirm(_question(act.competition.slug, user, None))
    return user


def _organizer(act: Act, user_id: int) -> User:
    """Return the organizer with this id; raise UnknownUser without revealing other users' names."""
    for each in organizers.list_all(act.session, competition=act.competition):
        if each.user_id == user_id:
            return each.user
    raise names.UnknownUser(name=f"#{user_id}")


CLASS = replace(
    ORGANIZERS,
    api=DESK,
    refusals=(class_accounts.InvalidClass, class_accounts.TooManyClasses, TooManyHashes),
    show=lambda slug, problem: index(slug=slug, class_problem=problem),
)


def _password_hash(**_: Any) -> str:
    """Return the hash of a random password. Hashing is slow, so it runs before the transaction."""
    passwords = current_site().passwords
    with passwords.turn():
        return accounts.unknown_password(passwords)


def _accounts(made: list[NewAccount]) -> list[ClassAccount]:
    return [
        ClassAccount(
            name=each.name,
            url=site_link("account.reset", token=each.link_token) if each.link_token else None,
            token=each.api_token,
        )
        for each in made
    ]


@CLASS.action(
    "/accounts",
    page="create_accounts",
    form=lambda _act: {**entered(ClassRequest), "names": request.form.get("names", "").splitlines()},
    before=_password_hash,
    shown=lambda made, slug: (index(slug=slug, made=_accounts(made)), 201),
    answers=ClassAccounts,
    answer=lambda _act, made: ClassAccounts(accounts=_accounts(made)),
    status=201,
    creates=True,
    shows_secret=True,
)
def create_accounts(act: Act, sent: ClassRequest, prepared: str) -> list[NewAccount]:
    """Create accounts for a class, each with a one-time link or an API token.

    Either all accounts are created or none.
    """
    return class_accounts.create_all(
        act, names=sent.names, with_tokens=sent.with_tokens, password_hash=prepared
    )
