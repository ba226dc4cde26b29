"""API models of the close: stage, missing items, jobs."""

from typing import Annotated, Any

from pydantic import Field

from grader.models import OrganizerJob
from grader.services.closing.checklist import CloseState
from grader.services.competitions.phases import Stage
from webapp.http import organizer_operations as organizing
from webapp.http.fields import Answer, Moment, Sent, Text
from webapp.http.organizer_operations import Confirmation, Job
from webapp.organizers.closing.views import CloseView


class VerifiedAnswer(Answer):
    """What a verification found; `agrees` is true where all of it is as it is stored."""

    scoring_version: int
    submission_ids: list[int]
    value_count: int
    differences: list[dict[str, Any]]
    is_current: bool


class Bundle(Answer):
    """A results bundle, and where to download it; null while there is none."""

    job: Job
    url: str | None
    file_name: str | None


class CloseAnswer(Answer):
    """Where the close of a competition is, what is missing, and its jobs."""

    stage: Stage
    explanation: str
    missing: list[str]
    agrees: bool
    is_final: Annotated[bool, Field(description="Whether no job is under way.")]
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
    """A close before its date, and why."""

    reason: Annotated[Text, Field(description="The reason, for the audit log.")] = ""


class RevealRequest(Confirmation):
    """A reveal, which cannot be undone."""

    unverified: Annotated[bool, Field(description="True to go on without a verification that agrees.")] = (
        False
    )


class FinalizeRequest(RevealRequest):
    """The final standings, which cannot be undone, and why they are final."""

    reason: Text = ""


class SolutionPublicationRequest(Confirmation):
    """The publication of a solution, which cannot be undone, and why."""

    reason: Text = ""


class BundleRequest(Sent):
    """A results bundle to make."""

    with_solution: bool = False


def verified(state: CloseState) -> VerifiedAnswer | None:
    """Return what the newest verification found."""
    found = state.verified
    if found is None:
        return None
    differences = [each.as_dict() for each in found.differences]
    return VerifiedAnswer.of(found, differences=differences, is_current=state.is_current)


def bundle(found: OrganizerJob, url: str) -> Bundle:
    """Return a results bundle."""
    file_name = (found.result or {}).get("file_name")
    return Bundle(job=organizing.job(found), url=url if file_name else None, file_name=file_name)


def close(state: CloseState, **others: Any) -> CloseAnswer:
    """Return where a close is."""
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
