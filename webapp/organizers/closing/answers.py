"""API models for the close: stage and open items."""

from typing import Annotated, Any

from pydantic import Field

from grader.services.closing.checklist import CloseState
from grader.services.competitions.phases import Stage
from webapp.http.fields import Answer, Confirmation, Moment, Sent, Text
from webapp.organizers.closing.views import CloseView


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
