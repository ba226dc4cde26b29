"""Creation of a draft (page and API), new or as a copy of another competition."""

from typing import Annotated, Any

from flask import Blueprint, flash, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import Field
from werkzeug.exceptions import Forbidden

from grader import db
from grader.models import Competition, Role
from grader.services.competitions import acting, drafts, organizers
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.services.identity import names
from grader.services.identity.api_tokens import Scope
from grader.services.rescoring import versions
from webapp.competitions import prose
from webapp.http import api, auth, lookups
from webapp.http.context import actor, reading, require_role, writing
from webapp.http.fields import Answer, Sent, Text
from webapp.presentation.form_fields import entered

blueprint = Blueprint("organize_creating", __name__, url_prefix="/competitions/new")


class NewCompetition(Sent):
    """A draft to create, new or as a copy of the competition `source`; dates are never copied."""

    slug: Text
    title: Text = ""
    source: Text = ""
    owner: Annotated[Text, Field(description="The name of an additional owner; empty if there is none.")] = ""
    with_data: bool = False
    with_solution: bool = False


class Draft(Answer):
    """A new draft."""

    slug: str
    title: str
    url: Annotated[str, Field(description="The URL of the competition's settings.")]


def created(draft: Competition) -> Draft:
    """Return a new draft as the API model."""
    return Draft(slug=draft.slug, title=draft.title, url=url_for("api.organized_settings", slug=draft.slug))


@api.blueprint.post("/competitions")
@api.operation(Scope.ORGANIZE, answers=Draft, status=201, tag="setup")
def create_competition(json: NewCompetition) -> Any:
    """Create a draft, new or as a copy of another competition; only its organizers can see it."""
    draft = created(_create(json))
    return draft, 201, {"Location": draft.url}


def _create(sent: NewCompetition, *, proposes_slug: bool = False) -> Competition:
    with writing() as session:
        if not drafts.may_create(session, user=g.user):
            raise Forbidden
        owner = names.get_user(session, name=sent.owner) if sent.owner else None
        slug = sent.slug.strip() or (drafts.proposed_slug(session, title=sent.title) if proposes_slug else "")
        # The creator owns the new draft.
        g.organizer_role = Role.OWNER
        if sent.source:
            source = require_role(session, sent.source, Role.EDITOR)
            act = acting.begin(session, competition=source, actor=actor())
            draft = drafts.clone(act, slug=slug, title=sent.title, with_data=sent.with_data, owner=owner)
            if sent.with_solution:
                versions.copy_solution(act, draft=draft)
        else:
            settings = CompetitionSettings().changed(title=sent.title)
            draft = drafts.create(
                session, slug=slug, settings=settings, owner=owner, actor=actor(), now=db.now(session)
            )
    if sent.source:
        prose.format_saved(draft.slug)
    return draft


@blueprint.get("")
@auth.login_required
def show(problem: InvalidCompetition | None = None) -> ResponseReturnValue:
    """Show the form: title, address, and an optional competition to copy; or who may create competitions."""
    with reading() as session:
        if not drafts.may_create(session, user=g.user):
            return render_template("competitions/ask_to_create.html"), 403
        own = organizers.roles(session, user=g.user)
        sources = [
            each
            for each in lookups.listed(session)
            if g.user.is_admin or organizers.reaches(own.get(each.id), Role.EDITOR)
        ]
    problems = list(problem.problems) if problem else []
    page = render_template(
        "competitions/create.html", sources=sources, problems=problems, entered=request.values
    )
    return page, 422 if problem else 200


@blueprint.post("")
@auth.login_required
def create() -> ResponseReturnValue:
    """Create a draft and redirect to its setup."""
    try:
        form = NewCompetition.model_validate(entered(NewCompetition) | {"owner": ""})
        draft = _create(form, proposes_slug=True)
    except InvalidCompetition as problem:
        return show(problem)
    flash("Draft created. Only its organizers can see it.")
    return redirect(url_for("organize_settings.show", slug=draft.slug), 303)
