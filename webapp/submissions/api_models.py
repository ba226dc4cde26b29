"""API models for submissions: status, scores, problems, selection, remaining limits."""

from typing import Annotated, Any

from pydantic import Field

from fairboard.lost_score import CostedTerm, Loss
from grader.models import JobState, Split, Submission, SubmissionKind, SubmissionStatus
from grader.services.leaderboards.group_tables import GroupTable
from grader.services.leaderboards.submission_results import Overview, SplitResult
from grader.services.submissions.selections import CurrentSelection, Reason
from webapp.http.fields import Answer, FileForm, Moment, Number, PageSize, Problems, Score, Sent, Text


class Limits(Answer):
    """The team's submission limits and remaining submissions; null without a limit."""

    left: int | None
    max_daily: int | None
    granted_today: int
    used_today: int
    left_today: int | None
    resets_at: Moment | None
    max_total: int | None
    used_total: int
    left_total: int | None
    max_pending: int
    pending: int


class Counted(Answer):
    """A submission that would count, with the reason."""

    submission: int
    reason: Reason


class Selection(Answer):
    """The submissions that would count on the private leaderboard."""

    limit: int
    selected: list[int]
    counts: list[Counted]
    filled_later: int


class SubmissionForm(FileForm):
    """A file of predictions to submit."""

    description: Text = ""
    again: bool = False


class Accepted(Answer):
    """An accepted file."""

    id: int
    status: SubmissionStatus
    url: str
    limits: Limits


class Checked(Answer):
    """The problems and notes of a checked file; checking does not count as a submission."""

    is_clean: bool
    problems: Problems
    notes: Problems
    limits: Limits


class SubmissionLine(Answer):
    """A submission in a list."""

    id: int
    status: SubmissionStatus
    kind: SubmissionKind
    file_name: str
    description: str
    submitted_at: Moment
    public_score: Score | None
    is_selected: bool


class SubmissionList(Answer):
    """A page of a team's submissions, newest first."""

    submissions: list[SubmissionLine]
    selection: Selection | None
    limits: Limits
    page_size: PageSize
    next: str | None


class SubmissionDetails(SubmissionLine):
    """A submission with its scores and problems; private values appear only if they are visible."""

    competition: str
    finished_at: Moment | None
    file_deleted_at: Moment | None
    standard_errors: Annotated[
        dict[str, float] | None,
        Field(description="The standard errors of the score and the shown terms, to two digits."),
    ] = None
    terms: dict[str, float] | None
    weakest_term: Annotated[
        str | None,
        Field(description="The term with the highest cost. Only the bias metric has one."),
    ] = None
    identities: list[dict[str, Any]] | None
    groups: list[GroupTable] | None = None
    problems: Problems
    notes: Problems
    incident: str | None
    private_score: Score | None = None
    private_terms: dict[str, float] | None = None
    private_identities: list[dict[str, Any]] | None = None
    private_groups: list[GroupTable] | None = None


class SelectRequest(Sent):
    """Whether to select or deselect a submission."""

    selected: bool = True


class Selected(Answer):
    """A submission after its selection changed, and the submissions that would count now."""

    id: int
    is_selected: bool
    selection: Selection


class EditRequest(Sent):
    """The new description of a submission."""

    description: Text


class DescribeRequest(Sent):
    """The description of a submission."""

    description: Text = ""


class ReceiptQuery(Sent):
    """The scoring version of a receipt; only organizers may request one that is not live."""

    version: Number | None = None


class Losses(Answer):
    """The diagnosis of a score: its terms, the costliest first, and the losses, the largest first.

    Values are null if the terms are not shown or the best possible score is unknown.
    """

    terms: list[CostedTerm] | None
    losses: list[Loss] | None


class ComparisonRequest(Sent):
    """Two scored submissions of the team."""

    submission: Number
    baseline: Number


class SplitDifference(Answer):
    """The difference between two scores on a split, with its standard error."""

    split: Split
    value: float
    standard_error: float
    margin: float
    is_clear: bool


class SubmissionComparison(Answer):
    """A comparison of two submissions on the same rows."""

    id: int
    state: JobState
    is_final: bool
    submission: int
    baseline: int
    differences: list[SplitDifference]


def selection(choice: CurrentSelection) -> Selection:
    """Return the submissions that would count, with the reasons, as the API model."""
    counts = [Counted(submission=each, reason=reason) for each, reason in choice.reasons.items()]
    return Selection(
        limit=choice.limit, selected=list(choice.picked_ids), counts=counts, filled_later=choice.filled_later
    )


def details(submission: Submission, summary: Overview) -> SubmissionDetails:
    """Return a submission as the API model, with private values only if the summary contains them."""
    public, private = summary.public, summary.private
    shown: dict[str, Any] = {"score": None, "terms": None, "identities": None}
    if public is not None:
        shown = split_score(public) | {"terms": dict(public.terms) or None}
    shown["public_score"] = shown.pop("score")
    if private is not None:
        shown |= {f"private_{name}": value for name, value in split_score(private).items()}
    return SubmissionDetails.of(
        submission,
        competition=submission.competition.slug,
        standard_errors=(dict(public.errors) or None) if public else None,
        weakest_term=public.weakest_term if public else None,
        **shown,
    )


def split_score(result: SplitResult) -> dict[str, Any]:
    """Return the visible results on a split; without `groups` if the viewer may not see any.

    The AUCs of identities are null where they are undefined.
    """
    return {
        "score": float(result.score),
        "terms": dict(result.terms),
        "identities": [{"name": row.name, **row.cells} for row in result.identities] or None,
        **({"groups": list(result.groups)} if result.groups else {}),
    }
