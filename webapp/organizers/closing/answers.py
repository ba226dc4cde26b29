"""API models for the close: stage, open items, jobs."""

from typing import Annotated, Any

from pydantic import Field

from grader.models import OrganizerJob
from grader.services.closing.checklist import CloseState
from grader.services.competitions.phases import Stage
from webapp.http import organizer_operations as organizing
from webapp.http.fields import Answer, Confirmation, Moment, Sent, Text
from webapp.http.organizer_operations import Job
from webapp.organizers.closing.views import CloseView


class VerifiedAnswer(Answer):
    """The result of a verification; it agrees if `differences` is empty."""

    scoring_version: int
    submission_ids: list[int]
    value_count: int
    differences: list[dict[str, Any]]
    is_current: bool


class Bundle(Answer):
    """A results bundle; `url` and `file_name` are null until it is complete."""

    job: Job
    url: str | None
    file_name: str | None


class CloseAnswer(Answer):
    """The stage of a competition's close, the open items and the jobs."""

    stage: Stage
    explanation: str
    missing: list[str]
    agrees: bool
    is_final: Annotated[bool, Field(description="Whether all jobs have finished.")]
    waiting_count: int
    failed_count: int
    selection_open_until: Moment | None
    verification: Job | None
    verified: VerifiedAnswer | None
    bundles: list[Bundle]
    revealed_at: Moment | None
    finalized_at: Moment | None
    final_number: int | None
    solution_published_at: Moment | None
    commitment: str | None


class CloseRequest(Confirmation):
    """A close before the closing date, and the reason."""

    reason: Annotated[Text, Field(description="The reason, for the audit log.")] = ""


class FinalRequest(Confirmation):
    """The confirmation of final standings, and a comment to store with them."""

    reason: Annotated[
        Text, Field(description="A comment to store with the standings; participants can see it.")
    ] = ""


class BundleRequest(Sent):
    """A results bundle to create."""

    with_solution: bool = False


def verified(state: CloseState) -> VerifiedAnswer | None:
    """Return the result of the newest verification, or None."""
    found = state.verified
    if found is None:
        return None
    differences = [each.as_dict() for each in found.differences]
    return VerifiedAnswer.of(found, differences=differences, is_current=state.is_current)


def bundle(found: OrganizerJob, url: str) -> Bundle:
    """Return a results bundle as the API model."""
    file_name = (found.result or {}).get("file_name")
    return Bundle(job=organizing.job(found), url=url if file_name else None, file_name=file_name)


def close(state: CloseState, **others: Any) -> CloseAnswer:
    """Return the state of a close as the API model."""
    view = CloseView(state)
    return CloseAnswer.of(
        state,
        stage=view.stage,
        explanation=view.explanation,
        missing=view.missing,
        verification=organizing.job(state.verify_job) if state.verify_job else None,
        verified=verified(state),
        **others,
    )
