"""Teams' questions about scores (page and API): list and answer."""

from typing import Any

from flask import Blueprint, render_template, request, url_for

from grader import db
from grader.models import Role
from grader.services.competitions.acting import Act
from grader.services.moderation import disputes
from webapp.competitions.views import CompetitionView
from webapp.http import api
from webapp.http.actions import Family
from webapp.http.api import ending
from webapp.http.auth import organizers_only
from webapp.http.context import competition_of, reading
from webapp.http.fields import Answer, Asked, Moment, PageSize, Sent, Text
from webapp.http.organizer_operations import DESK, organizers_operation
from webapp.http.parameters import asked_page

blueprint = Blueprint("organize_disputes", __name__, url_prefix="/competitions/<slug>/organize/disputes")


class DisputeLine(Answer):
    """A team's question about a score, and the answer."""

    id: int
    submission_id: int
    team: str
    asked_by: str
    asked_at: Moment
    question: str
    answer: str | None
    answered_by: str | None
    answered_at: Moment | None


class DisputeList(Answer):
    """One page of the questions, newest first."""

    disputes: list[DisputeLine]
    open_count: int
    page_size: PageSize
    next: str | None


class DisputeAnswer(Sent):
    """The answer to a question."""

    answer: Text


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str, *, problem: Any = None, dispute_id: int | None = None) -> str:
    """List the questions, unanswered ones first."""
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        page = disputes.page_of(session, competition=competition, page=asked_page())
        open_count = disputes.count_open(session, competition=competition)
    return render_template(
        "console/disputes.html",
        competition=CompetitionView(competition, now),
        page=page,
        open_count=open_count,
        problem=problem.message if problem else "",
        problem_of=dispute_id,
        entered=request.form.get("answer", ""),
    )


@api.blueprint.get(f"{DESK}/disputes")
@organizers_operation(Role.VIEWER, answers=DisputeList, tag="running")
def dispute_list(slug: str, query: Asked) -> DisputeList:
    """List the teams' questions about scores, newest first."""
    with reading() as session:
        competition = competition_of(session, slug)
        found = disputes.slice_of(session, competition=competition, part=query.part)
        open_count = disputes.count_open(session, competition=competition)
    lines = [
        DisputeLine.of(
            each,
            team=each.submission.team.name,
            asked_by=each.asked_by.name,
            answer=each.answer or None,
            answered_by=each.answered_by.name if each.answered_by else None,
        )
        for each in found.rows
    ]
    return DisputeList(disputes=lines, open_count=open_count, **ending(found))


DISPUTES = Family(
    pages=blueprint,
    tag="running",
    refusals=(disputes.InvalidAnswer,),
    show=index,
    home=lambda slug, **_: url_for("organize_disputes.index", slug=slug),
    role=Role.EDITOR,
)


@DISPUTES.action("/<int:dispute_id>", page="answer", done="Answer sent to the team.", status=204)
def answer_dispute(act: Act, sent: DisputeAnswer, dispute_id: int) -> None:
    """Answer a question, or replace its answer."""
    disputes.answer(act, dispute_id=dispute_id, answer=sent.answer)
