"""API for the close: close now, reveal, publish the solution."""

from typing import Annotated, Any

from flask import url_for
from pydantic import Field

from grader import db
from grader.errors import OrganizerError
from grader.models import Competition, OrganizerJobKind, Role
from grader.services.closing import checklist
from grader.services.closing import close as closing
from grader.services.closing.checklist import CloseState
from grader.services.competitions.acting import Act
from grader.services.competitions.phases import Stage
from grader.services.rescoring import preparation
from grader.services.site import organizer_jobs
from grader.services.solutions import publication
from grader.services.submissions import selections
from webapp.closing import pages
from webapp.closing.views import CloseView
from webapp.http.actions import Family
from webapp.http.api import blueprint
from webapp.http.confirmation import confirm
from webapp.http.context import competition_of, reading
from webapp.http.fields import Answer, Confirmation, Moment, Sent, Text
from webapp.http.organizer_operations import DESK, ConfirmedReason, organizers_operation


class CloseAnswer(Answer):
    """The stage of a competition's close, and the open items."""

    stage: Stage
    explanation: str
    missing: list[str]
    is_final: Annotated[bool, Field(description="Whether the published solution's file is written.")]
    waiting_count: int
    failed_count: int
    selection_open_until: Moment | None
    revealed_at: Moment | None
    solution_published_at: Moment | None
    commitment: str | None


class CloseRequest(Confirmation):
    """A close before the closing date, and the reason."""

    reason: Annotated[Text, Field(description="The reason, for the audit log.")] = ""


class SelectionRequest(Sent):
    """A later deadline of the final selection, and the public reason."""

    until: Moment
    reason: Text


def close(state: CloseState, **others: Any) -> CloseAnswer:
    """Return the state of a close as the API model."""
    view = CloseView(state)
    return CloseAnswer.of(
        state, stage=view.stage, explanation=view.explanation, missing=view.missing, **others
    )


TAG = "closing"
HERE = f"{DESK}/close"


@blueprint.get(HERE)
@organizers_operation(Role.VIEWER, answers=CloseAnswer, tag=TAG)
def closing_state(slug: str) -> CloseAnswer:
    """Return the stage of the close and its open items."""
    with reading() as session:
        return _close(session, competition_of(session, slug))


def _close(session: Any, competition: Competition) -> CloseAnswer:
    jobs = organizer_jobs.newest(session, competition=competition, kind=OrganizerJobKind.SOLUTION)
    version = competition.live_scoring_version
    return close(
        checklist.state(session, competition=competition, now=db.now(session)),
        is_final=not any(map(organizer_jobs.is_open, jobs)),
        revealed_at=competition.revealed_at,
        solution_published_at=competition.solution_published_at,
        commitment=version.solution.commitment if version else None,
    )


CLOSE = Family(
    pages=pages.blueprint,
    tag=TAG,
    refusals=(OrganizerError,),
    show=pages.index,
    home=lambda slug: url_for("organize_close.index", slug=slug),
    answers=CloseAnswer,
    answer=lambda act, _outcome: _close(act.session, act.competition),
    role=Role.EDITOR,
)


@CLOSE.action("/now", page="now", done="The competition is closed.")
def close_competition(act: Act, sent: CloseRequest) -> None:
    """Close an open competition now. Entry and mergers end too; unset dates depend on the new close."""
    question = pages.close_now(act)
    closing.close_now(act, reason=sent.reason.strip())
    confirm(question)


@CLOSE.action("/selection", page="reopen_selection", done="The final selection is open.")
def reopen_selection(act: Act, sent: SelectionRequest) -> None:
    """Let teams change their final selection until a time after the close, which delays the reveal."""
    selections.reopen(act, until=sent.until, reason=preparation.checked_reason(sent.reason))


@CLOSE.action("/reveal", page="reveal", done="The private leaderboard is revealed.")
def reveal_standings(act: Act, sent: Confirmation) -> None:
    """Make the private leaderboard public, and close the competition if it is still open."""
    closing.reveal(**act.parts)
    confirm(pages.irreversible(act.competition.slug, pages.REVEAL, "Reveal"))


@CLOSE.action("/solution", page="publish_solution", done="The solution is public.")
def publish_solution(act: Act, sent: ConfirmedReason) -> None:
    """Publish the solution."""
    publication.publish(**act.parts, reason=sent.reason.strip())
    heading = pages.PUBLISH_SOLUTION
    confirm(pages.irreversible(act.competition.slug, heading, "Publish the solution"))
