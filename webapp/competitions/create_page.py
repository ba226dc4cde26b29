"""Page for creating or cloning a competition."""

from flask import Blueprint, abort, flash, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Role
from grader.services.competitions import drafts, organizers
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.services.rescoring import versions
from webapp.competitions import prose
from webapp.http import auth, lookups
from webapp.http.context import actor, competition_of, reading, writing

blueprint = Blueprint("organize_creating", __name__, url_prefix="/competitions/new")


@blueprint.get("")
@auth.login_required
def show() -> ResponseReturnValue:
    """Show the form: title, address, and an optional competition to copy; or who may create competitions."""
    with reading() as session:
        if not drafts.may_create(session, user=g.user):
            return render_template("competitions/ask_to_create.html"), 403
    return _page()


@blueprint.post("")
@auth.login_required
def create() -> ResponseReturnValue:
    """Create a draft and redirect to its first step."""
    slug, title = (request.form.get(name, "").strip() for name in ("slug", "title"))
    source_slug = request.form.get("source", "")
    try:
        with writing() as session:
            if not drafts.may_create(session, user=g.user):
                abort(403)
            now = db.now(session)
            slug = slug or drafts.proposed_slug(session, title=title)
            if source_slug:
                source = competition_of(session, source_slug)
                organizers.require(session, competition=source, user=g.user, role=Role.EDITOR)
                draft = drafts.clone(
                    session,
                    source=source,
                    slug=slug,
                    title=title,
                    with_data="with_data" in request.form,
                    actor=actor(),
                    now=now,
                )
                if "with_solution" in request.form:
                    versions.copy_solution(session, source=source, draft=draft, actor=actor(), now=now)
            else:
                settings = CompetitionSettings().changed(title=title)
                draft = drafts.create(session, slug=slug, settings=settings, actor=actor(), now=now)
    except InvalidCompetition as error:
        return _page(problems=list(error.problems)), 422
    if source_slug:
        prose.format_saved(draft.slug)
    flash("Draft created. Only its organizers can see it.")
    return redirect(url_for("organize_settings.index", slug=draft.slug), 303)


def _page(problems: list[str] | None = None) -> str:
    with reading() as session:
        if not drafts.may_create(session, user=g.user):
            abort(403)
        own = organizers.roles(session, user=g.user)
        sources = [
            each
            for each in lookups.listed(session)
            if g.user.is_admin or organizers.reaches(own.get(each.id), Role.EDITOR)
        ]
    return render_template(
        "competitions/create.html",
        sources=sources,
        problems=problems or [],
        entered=request.values,
    )
