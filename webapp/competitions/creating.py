"""Creation of a draft (page and API), new or as a copy of another competition."""

from dataclasses import replace
from typing import Annotated, Any

from flask import Blueprint, g, make_response, render_template, request, url_for
from pydantic import Field
from werkzeug.exceptions import Forbidden

from grader.models import Competition, Role
from grader.services.competitions import acting, drafts, organizers
from grader.services.competitions.acting import Act
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.identity import class_rosters, names
from grader.services.identity.api_tokens import Scope
from grader.services.rescoring import versions
from webapp.competitions import prose
from webapp.http import lookups
from webapp.http.context import require_role
from webapp.http.fields import Answer, Sent, Text
from webapp.surface import Access, Ask, Surface, after_commit

blueprint = Blueprint("organize_creating", __name__, url_prefix="/competitions/new")
CREATING = Surface(blueprint, tag="setup", role=Access.USER, api="/competitions")


class NewCompetition(Sent):
    """A draft to create, new or as a copy of the competition `source`; dates are never copied."""

    slug: Annotated[Text, Field(description="The slug; if empty, a free one for the title.")] = ""
    title: Text = ""
    source: Text = ""
    owner: Annotated[Text, Field(description="The name of an additional owner; empty if there is none.")] = ""
    with_data: bool = False
    with_solution: bool = False
    with_roster: Annotated[bool, Field(description="Copy the roster; only for owners of the source.")] = False


class Draft(Answer):
    """A new draft."""

    slug: str
    title: str
    url: Annotated[str, Field(description="The URL of the competition's settings.")]


def created(draft: Competition) -> Draft:
    """Return a new draft as the API model."""
    return Draft(slug=draft.slug, title=draft.title, url=url_for("api.organized_settings", slug=draft.slug))


@CREATING.read("", None, endpoint="show", page="competitions/create.html")
def creation(ask: Ask) -> Any:
    """Show the form: title, address, and a competition to copy; or who may create competitions."""
    if not drafts.may_create(ask.session, user=ask.user):
        return make_response(render_template("competitions/ask_to_create.html"), 403)
    own = organizers.roles(ask.session, user=ask.user)
    sources = [
        each
        for each in lookups.listed(ask.session)
        if ask.user.is_admin or organizers.reaches(own.get(each.id), Role.EDITOR)
    ]
    return {"sources": sources, "entered": request.values}


@replace(CREATING, scope=Scope.ORGANIZE).act(
    "",
    back=creation,
    form="create",
    done=lambda draft, **_: (
        "Draft created. Only its organizers can see it.",
        url_for("organize_settings.show", slug=draft.slug),
    ),
    answers=Draft,
    status=201,
)
def create_competition(act: Act, sent: NewCompetition) -> Draft:
    """Create a draft, new or as a copy of another competition; only its organizers can see it."""
    session = act.session
    if not drafts.may_create(session, user=act.user):
        raise Forbidden
    g.organizer_role = Role.OWNER  # The creator owns the new draft.
    owner = names.get_user(session, name=sent.owner) if sent.owner else None
    slug = sent.slug.strip() or drafts.proposed_slug(session, title=sent.title)
    if sent.source:
        source = require_role(session, sent.source, Role.EDITOR)
        copied = acting.begin(session, competition=source, actor=act.actor)
        draft = drafts.clone(copied, slug=slug, title=sent.title, with_data=sent.with_data, owner=owner)
        if sent.with_roster and organizers.reaches(g.organizer_role, Role.OWNER):
            class_rosters.copy_all(session, source=source, draft=draft)
        if sent.with_solution:
            versions.copy_solution(copied, draft=draft)
        after_commit(prose.format_saved, draft.slug)
    else:
        settings = CompetitionSettings().changed(title=sent.title)
        draft = drafts.create(
            session, slug=slug, settings=settings, owner=owner, actor=act.actor, now=act.now
        )
    return created(draft)
