"""Organizers and their roles (page and API)."""

from typing import Any

from flask import Blueprint, g, url_for

from grader.models import Role, User
from grader.services.competitions import organizers
from grader.services.competitions.acting import Act
from grader.services.identity import names
from webapp.competitions import checklist
from webapp.http.confirmation import Question, confirm
from webapp.http.context import reading
from webapp.http.fields import Answer, Confirmation, Moment, Sent, Text
from webapp.surface import Ask, Surface

blueprint = Blueprint("organize_organizers", __name__, url_prefix="/competitions/<slug>/organize/organizers")
ORGANIZERS = Surface(blueprint, tag="running", role=Role.VIEWER, acts=Role.OWNER)
WHAT_ROLES_MAY = {
    Role.OWNER: "can do everything",
    Role.EDITOR: (
        "can do everything except publish, archive or delete the competition or change its organizers"
    ),
    Role.VIEWER: "can see everything except the roster and the grades, but change nothing",
}


class OrganizerRequest(Sent):
    """The name of a user to add as an organizer, and their role."""

    name: Text
    role: Role


class RoleRequest(Confirmation):
    """The new role of an organizer."""

    role: Role


class OrganizerLine(Answer):
    """An organizer."""

    user_id: int
    name: str
    role: Role
    added_at: Moment


class OrganizerList(Answer):
    """The organizers, in the order in which they were added."""

    organizers: list[OrganizerLine]


@ORGANIZERS.read(
    "",
    OrganizerList,
    endpoint="index",
    page="competitions/organizers.html",
    extra=lambda ask, _: {"roles": WHAT_ROLES_MAY, "states": checklist.sections(ask)},
)
def organizer_list(ask: Ask) -> OrganizerList:
    """List the organizers and their roles."""
    found = organizers.list_all(ask.session, competition=ask.competition)
    return OrganizerList(organizers=[OrganizerLine.of(each, name=each.user.name) for each in found])


def _question(slug: str, user: User, role: Role | None) -> Question:
    """Return the confirmation for removing an organizer or changing the user's own role."""
    back, is_own = organizer_list.url(slug=slug), user.id == g.user.id
    if role is not None:
        sentence = f"As {role.value}, you {WHAT_ROLES_MAY[role]}. Only an owner can undo this change."
        return Question(f"Change your role to {role.value}?", (sentence,), "Change my role", back)
    who = "You lose" if is_own else f"{user.name} loses"
    sentence = f"{who} all organizer rights here immediately. Only an owner can restore them."
    return Question(f"Remove {'yourself' if is_own else user.name}?", (sentence,), "Remove organizer", back)


def _removed(name: str, slug: str, **_: Any) -> tuple[str, str]:
    """Return the message and the next page, the start page for users who are no longer organizers."""
    with reading() as session:
        role = organizers.competition_and_role(session, slug=slug, user=g.user)[1]
    page = organizer_list.url(slug=slug) if role else url_for("competitions.index")
    return f"{name} is no longer an organizer.", page


@ORGANIZERS.act("", back=organizer_list, form="add", done="The user is now an organizer.", status=201)
def add_organizer(act: Act, sent: OrganizerRequest) -> None:
    """Add a user as an organizer."""
    user = names.get_user(act.session, name=sent.name)
    organizers.add(act, user=user, role=sent.role)


@ORGANIZERS.act(
    "/<int:user_id>", method="PATCH", back=organizer_list, form="change", done="The role was changed."
)
def change_organizer(act: Act, sent: RoleRequest, user_id: int) -> None:
    """Change the role of an organizer."""
    user = _organizer(act, user_id)
    organizers.change(act, user=user, role=sent.role)
    if user.id == g.user.id:
        confirm(_question(act.competition.slug, user, sent.role))


@ORGANIZERS.act(
    "/<int:user_id>", method="DELETE", back=organizer_list, form="remove", done=_removed, status=204
)
def remove_organizer(act: Act, sent: Confirmation, user_id: int) -> str:
    """Remove an organizer."""
    user = _organizer(act, user_id)
    organizers.remove(act, user=user)
    confirm(_question(act.competition.slug, user, None))
    return user.name


def _organizer(act: Act, user_id: int) -> User:
    """Return the organizer with this id; raise Refusal without revealing other users' names."""
    for each in organizers.list_all(act.session, competition=act.competition):
        if each.user_id == user_id:
            return each.user
    raise names.unknown_user(f"#{user_id}")
