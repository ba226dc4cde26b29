"""Organizers and their roles, and class accounts (page and API)."""

from collections.abc import Callable
from typing import Annotated, Any

from flask import Blueprint, flash, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import Field

from grader import db
from grader.errors import OrganizerError
from grader.models import Role, User
from grader.services.accounts import accounts, class_accounts
from grader.services.accounts.passwords import TooManyHashes
from grader.services.competitions import organizers
from grader.services.people import names
from webapp.competitions.views import CompetitionView
from webapp.http import api
from webapp.http.auth import organizers_only
from webapp.http.confirmation import Question, confirm
from webapp.http.context import act_on, competition_of, reading, writing
from webapp.http.errors import headers_of, status_of, wants_json
from webapp.http.fields import Answer, Confirmation, Moment, Sent, Text
from webapp.http.organizer_operations import DESK, act, organizers_operation
from webapp.http.site import current_site, site_link

blueprint = Blueprint("organize_organizers", __name__, url_prefix="/competitions/<slug>/organize/organizers")
REFUSALS = (
    names.UnknownUser,
    organizers.AlreadyOrganizer,
    organizers.LastOwner,
    organizers.UnknownOrganizer,
)
WHAT_ROLES_MAY = {
    Role.OWNER: "can do everything",
    Role.EDITOR: (
        "can do everything except publish, archive or delete the competition or change its organizers"
    ),
    Role.VIEWER: "can see everything but change nothing",
}


class UnknownRole(OrganizerError):
    """A role that does not exist."""

    public_name = "unknown_role"

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no role {name!r}. Choose one of: {', '.join(Role)}.")


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
def index(slug: str) -> ResponseReturnValue:
    """List the organizers and their roles."""
    return _page(slug)


@blueprint.post("")
@organizers_only(Role.OWNER)
def add(slug: str) -> ResponseReturnValue:
    """Add a user as an organizer."""
    name = request.form.get("name", "")
    return _save(slug, organizers.add, name, "is now an organizer.", with_role=True)


@blueprint.post("/change")
@organizers_only(Role.OWNER)
def change(slug: str) -> ResponseReturnValue:
    """Change the role of an organizer."""
    return _save(slug, organizers.change, request.form.get("name", ""), "has a new role.", with_role=True)


@blueprint.post("/remove")
@organizers_only(Role.OWNER)
def remove(slug: str) -> ResponseReturnValue:
    """Remove an organizer."""
    return _save(slug, organizers.remove, request.form.get("name", ""), "is no longer an organizer.")


@blueprint.post("/accounts", endpoint="create_accounts")
@organizers_only(Role.OWNER)
def create_accounts_of_class(slug: str) -> ResponseReturnValue:
    """Create accounts for a class, and show their links or tokens once."""
    form = request.form
    try:
        made = class_of(slug, form.get("names", "").splitlines(), with_tokens="with_tokens" in form)
    except (class_accounts.InvalidClass, class_accounts.TooManyClasses, TooManyHashes) as error:
        return _page(slug, class_problem=error), status_of(error), headers_of(error)
    return _page(slug, made=made), 201


def class_of(slug: str, names: list[str], *, with_tokens: bool) -> list[dict[str, Any]]:
    """Create accounts for a class; return the name and the link or token of each."""
    site = current_site()
    # Hashing is slow, so it must not happen inside the transaction.
    with site.passwords.turn():
        password_hash = accounts.unknown_password(site.passwords)
    with writing() as session:
        made = class_accounts.create_all(
            **act_on(session, slug).parts,
            names=names,
            with_tokens=with_tokens,
            password_hash=password_hash,
        )
    return [
        {
            "name": each.name,
            "url": site_link("account.reset", token=each.link_token) if each.link_token else None,
            "token": each.api_token,
        }
        for each in made
    ]


def _save(
    slug: str, service: Callable[..., object], name: str, done: str, *, with_role: bool = False
) -> ResponseReturnValue:
    try:
        with writing() as session:
            user = names.get_user(session, name=name)
            given: dict[str, Any] = {"role": _role()} if with_role else {}
            act = act_on(session, slug)
            service(**act.parts, user=user, **given)
            stays = organizers.role_of(session, competition=act.competition, user=g.user) is not None
            if not with_role or (user.id == g.user.id and service is organizers.change):
                confirm(_question(slug, user, given.get("role")))
    except (*REFUSALS, UnknownRole) as error:
        if wants_json():
            raise
        return _page(slug, problem=error.message, name=name), status_of(error)
    flash(f"{user.name} {done}")
    return redirect(
        url_for("organize_organizers.index", slug=slug) if stays else url_for("competitions.index"), 303
    )


def _question(slug: str, user: User, role: Role | None) -> Question:
    """Return the confirmation for removing an organizer or changing the user's own role."""
    back, is_own = url_for("organize_organizers.index", slug=slug), user.id == g.user.id
    if role is not None:
        article = "A" if role is Role.VIEWER else "An"
        sentence = f"{article} {role.value} {WHAT_ROLES_MAY[role]}. Only an owner can undo this change."
        return Question(f"Change your role to {role.value}?", (sentence,), "Change my role", back)
    who = "You lose" if is_own else f"{user.name} loses"
    sentence = f"{who} all organizer rights here immediately. Only an owner can restore them."
    heading = "Remove yourself?" if is_own else f"Remove {user.name}?"
    return Question(heading, (sentence,), "Remove organizer", back)


def _role() -> Role:
    name = request.form.get("role", "")
    if name not in set(Role):
        raise UnknownRole(name)
    return Role(name)


def _page(
    slug: str,
    *,
    problem: str | None = None,
    name: str = "",
    class_problem: OrganizerError | TooManyHashes | None = None,
    made: list[dict[str, Any]] | None = None,
) -> str:
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
        name=name,
        problem=problem,
        class_problem=class_problem,
        made=made,
        form=request.form,
    )


@api.blueprint.get(f"{DESK}/organizers")
@organizers_operation(Role.VIEWER, answers=OrganizerList, tag="running")
def organizer_list(slug: str) -> OrganizerList:
    """List the organizers and their roles."""
    return _organizers(slug)


@api.blueprint.post(f"{DESK}/organizers")
@organizers_operation(Role.OWNER, answers=OrganizerList, status=201, tag="running", creates=True)
def add_organizer(slug: str, json: OrganizerRequest) -> Any:
    """Add a user as an organizer."""
    with reading() as session:
        user = names.get_user(session, name=json.name)
    act(slug, organizers.add, user=user, role=json.role)
    return _organizers(slug), 201


@api.blueprint.post(f"{DESK}/accounts")
@organizers_operation(
    Role.OWNER, answers=ClassAccounts, status=201, tag="running", creates=True, shows_secret=True
)
def create_accounts(slug: str, json: ClassRequest) -> Any:
    """Create accounts for a class, each with a one-time link or an API token.

    Either all accounts are created or none.
    """
    made = class_of(slug, json.names, with_tokens=json.with_tokens)
    return ClassAccounts(accounts=[ClassAccount(**each) for each in made]), 201


@api.blueprint.patch(f"{DESK}/organizers/<int:user_id>")
@organizers_operation(Role.OWNER, answers=OrganizerList, tag="running")
def change_organizer(slug: str, user_id: int, json: RoleRequest) -> OrganizerList:
    """Change the role of an organizer."""
    user = _organizer(slug, user_id)
    with writing() as session:
        organizers.change(**act_on(session, slug).parts, user=user, role=json.role)
        if user.id == g.user.id:
            confirm(_question(slug, user, json.role))
    return _organizers(slug)


@api.blueprint.delete(f"{DESK}/organizers/<int:user_id>")
@organizers_operation(Role.OWNER, status=204, tag="running")
def remove_organizer(slug: str, user_id: int, json: Confirmation) -> Any:
    """Remove an organizer."""
    user = _organizer(slug, user_id)
    with writing() as session:
        organizers.remove(**act_on(session, slug).parts, user=user)
        confirm(_question(slug, user, None))
    return "", 204


def _organizer(slug: str, user_id: int) -> Any:
    """Return the organizer with this id; raise UnknownUser without revealing other users' names."""
    with reading() as session:
        found = organizers.list_all(session, competition=competition_of(session, slug))
    user = next((each.user for each in found if each.user_id == user_id), None)
    if user is None:
        raise names.UnknownUser(name=f"#{user_id}")
    return user


def _organizers(slug: str) -> OrganizerList:
    with reading() as session:
        found = organizers.list_all(session, competition=competition_of(session, slug))
        return OrganizerList(organizers=[OrganizerLine.of(each, name=each.user.name) for each in found])
