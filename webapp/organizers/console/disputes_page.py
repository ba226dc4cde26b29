"""Organizers' page of the teams' disputes about scores: read and answer them."""

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Role
from grader.services.moderation import disputes
from webapp.competitions.views import CompetitionView
from webapp.http.auth import organizers_only
from webapp.http.context import actor, competition_of, reading, writing
from webapp.http.errors import status_of
from webapp.http.parameters import asked_page

blueprint = Blueprint("organize_disputes", __name__, url_prefix="/competitions/<slug>/organize/disputes")


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str) -> ResponseReturnValue:
    """List the questions, those that wait for an answer first."""
    return _page(slug)


@blueprint.post("/<int:dispute_id>")
@organizers_only(Role.EDITOR)
def answer(slug: str, dispute_id: int) -> ResponseReturnValue:
    """Answer a question, or put another answer in the place of the first."""
    try:
        with writing() as session:
            disputes.answer(
                session,
                competition=competition_of(session, slug),
                dispute_id=dispute_id,
                answer=request.form.get("answer", ""),
                actor=actor(),
            )
    except disputes.InvalidAnswer as error:
        return _page(slug, problem=error.message, problem_of=dispute_id), status_of(error)
    flash("Answer sent to the team.")
    return redirect(url_for("organize_disputes.index", slug=slug), 303)


def _page(slug: str, *, problem: str = "", problem_of: int | None = None) -> str:
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        page = disputes.page_of(session, competition=competition, page=asked_page())
        open_count = disputes.count_open(session, competition=competition)
    return render_template(
        "running/disputes.html",
        competition=CompetitionView(competition, now),
        page=page,
        open_count=open_count,
        problem=problem,
        problem_of=problem_of,
        entered=request.form.get("answer", ""),
    )
