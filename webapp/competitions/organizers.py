"""Organizers and their roles (page and API)."""

from typing import Any

from flask import Blueprint, g, render_template, request, url_for

from grader import db
from grader.models import Competition, Role, User
from grader.services.competitions import organizers
from grader.services.competitions.acting import Act
from grader.services.identity import names
from webapp.competitions.views import CompetitionView
from webapp.http import api
from webapp.http.actions import Family
from webapp.http.auth import organizers_only
from webapp.http.confirmation import Question, confirm
from webapp.http.context import competition_of, reading
from webapp.http.fields import Answer, Confirmation, Moment, Sent, Text
from webapp.http.organizer_operations import DESK, organizers_operation

blueprint = Blueprint("organize_organizers", __name__, url_prefix="/competitions/<slug>/organize/organizers")
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


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str, *, problem: Any = None, **_: Any) -> str:
    """List the organizers and their roles."""
    with reading() as session:
        competition = competition_of(session, slug)
        view = CompetitionView(competition, db.now(session))
        found = organizers.list_all(session, competition=competition)
    return render_template(
        "competitions/organizers.html",
        competition=view,
        organizers=found,
        roles=WHAT_ROLES_MAY,
        asked_role=request.form.get("role", Role.EDITOR.value),
        name=request.form.get("name", ""),
        problem=problem.message if problem else "",
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


@ORGANIZERS.action("", page="add", done=lambda user: f"{user.name} is now an organizer.", status=201)
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
    """Return the organizer with this id; raise Refusal without revealing other users' names."""
    for each in organizers.list_all(act.session, competition=act.competition):
        if each.user_id == user_id:
            return each.user
    raise names.unknown_user(f"#{user_id}")
