"""Organizers and their roles (page and API)."""

from typing import Any

from flask import Blueprint, g, url_for

from grader.models import Role, User
from grader.services.competitions import organizers
from grader.services.competitions.acting import Act
from grader.services.identity import names
from webapp.competitions import checklist
from webapp.http.confirmation import confirm
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


@ORGANIZERS.read("", OrganizerList, endpoint="index", page="competitions/organizers.html")
def organizer_list(ask: Ask) -> OrganizerList:
    """List the organizers and their roles."""
    if ask.is_page:
        ask.shown |= {"roles": WHAT_ROLES_MAY, "states": checklist.sections(ask)}
    rows = organizers.list_all(ask.session, competition=ask.competition)
    return OrganizerList(organizers=[OrganizerLine.of(each, name=each.user.name) for each in rows])


def _removed(name: str, slug: str, **_: Any) -> tuple[str, str]:
    """Return the message and the next page, the start page for users who removed themselves."""
    page = url_for("competitions.index") if name == g.user.name else organizer_list.url(slug=slug)
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
        effect = f"As {sent.role}, you {WHAT_ROLES_MAY[sent.role]}. Only an owner can undo this change."
        confirm(f"Change your role to {sent.role}?", "Change my role", effect)


@ORGANIZERS.act(
    "/<int:user_id>", method="DELETE", back=organizer_list, form="remove", done=_removed, status=204
)
def remove_organizer(act: Act, sent: Confirmation, user_id: int) -> str:
    """Remove an organizer."""
    user = _organizer(act, user_id)
    organizers.remove(act, user=user)
    effect = "All organizer rights here end immediately. Only an owner can restore them."
    confirm(f"Remove {user.name}?", "Remove organizer", effect)
    return user.name


def _organizer(act: Act, user_id: int) -> User:
    """Return the organizer with this id; raise Refusal without revealing other users' names."""
    for each in organizers.list_all(act.session, competition=act.competition):
        if each.user_id == user_id:
            return each.user
    raise names.unknown_user(f"#{user_id}")
