"""API models of submissions: status, scores, problems, selection, remaining limits."""

from typing import Annotated, Any

from pydantic import Field

from grader.models import Submission, SubmissionKind, SubmissionStatus
from grader.services.leaderboards.submission_results import SplitResult, Summary
from grader.services.limits.limits import Allowance
from grader.services.submissions.selections import Choice, Reason
from webapp.http.fields import Answer, FileForm, Moment, Number, PageSize, Problems, Score, Sent, Text


class Limits(Answer):
    """What a team may still send; null where nothing limits it."""

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
    """A submission that would count, and why."""

    submission: int
    reason: Reason


class Selection(Answer):
    """Which submissions would count on the private leaderboard."""

    limit: int
    selected: list[int]
    counts: list[Counted]
    filled_later: int


class Wait(Sent):
    """For how long to wait for a result."""

    wait: Annotated[Number, Field(description="Seconds; more than 60 are 60.")] = 0


class SubmissionForm(FileForm):
    """A file of predictions to submit."""

    description: Text = ""
    again: bool = False


class Accepted(Answer):
    """A file that was taken in."""

    id: int
    status: SubmissionStatus
    url: str
    limits: Limits


class Checked(Answer):
    """What was found in a file, without using a submission."""

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
    """A part of a team's submissions, the newest first."""

    submissions: list[SubmissionLine]
    selection: Selection | None
    limits: Limits
    page_size: PageSize
    next: str | None


class SubmissionDetails(Answer):
    """A submission with its scores and problems; private values only for whom they are shown."""

    id: int
    competition: str
    status: SubmissionStatus
    kind: SubmissionKind
    file_name: str
    description: str
    is_selected: bool
    submitted_at: Moment
    finished_at: Moment | None
    file_deleted_at: Moment | None
    public_score: Score | None
    standard_errors: Annotated[
        dict[str, float] | None, Field(description="Of the score and the shown terms, to two digits.")
    ] = None
    terms: dict[str, float] | None
    weakest_term: Annotated[str | None, Field(description="The term that costs the score most.")] = None
    identities: list[dict[str, Any]] | None
    problems: Problems
    notes: Problems
    incident: str | None
    private_score: Score | None = None
    private_terms: dict[str, float] | None = None
    private_identities: list[dict[str, Any]] | None = None


class SelectRequest(Sent):
    """Whether a submission is to be selected."""

    selected: bool = True


class Selected(Answer):
    """A submission that was selected or deselected, and what would count now."""

    id: int
    is_selected: bool
    selection: Selection


class DescribeRequest(Sent):
    """The description of a submission."""

    description: Text = ""


class ReceiptQuery(Sent):
    """Which scoring version's receipt to return; organizers may ask for another than the live one."""

    version: Number | None = None


class Gain(Answer):
    """What the score would gain if an identity's AUC rose to the median of its column."""

    name: str
    cell: str
    value: float
    median: float
    gain: float


class TermCost(Answer):
    """What the score would gain if a term were 1."""

    term: str
    value: float
    cost: float


class Gains(Answer):
    """The diagnosis of a score: its terms, the costliest first, and their AUCs in the same order of terms.

    Null where the terms or the table are not shown.
    """

    terms: list[TermCost] | None
    gains: list[Gain] | None


class QuestionRequest(Sent):
    """A question about a submission's score."""

    question: Text


class Question(Answer):
    """A question about a submission's score; without `answered_at` it is open."""

    id: int
    submission_id: int
    question: str
    asked_at: Moment
    answer: str
    answered_at: Moment | None


class QuestionList(Answer):
    """The questions about a submission, the oldest first."""

    questions: list[Question]
    next: None


def allowance(found: Allowance) -> Limits:
    """Return the limits of a competition and what a team has left of them."""
    return Limits.model_validate(found)


def selection(choice: Choice) -> Selection:
    """Return which submissions would count on the private leaderboard, and why."""
    counts = [Counted(submission=each, reason=reason) for each, reason in choice.reasons.items()]
    return Selection(
        limit=choice.limit, selected=list(choice.picked_ids), counts=counts, filled_later=choice.filled_later
    )


def line(submission: Submission, result: SplitResult | None) -> SubmissionLine:
    """Return a submission as it is in a list."""
    return SubmissionLine.of(submission, public_score=float(result.score) if result else None)


def details(submission: Submission, summary: Summary) -> SubmissionDetails:
    """Return a submission; it has private values only where the summary has them."""
    public, private = summary.public, summary.private
    hidden: dict[str, Any] = {}
    if private is not None:
        hidden = {
            "private_score": float(private.score),
            "private_terms": dict(private.terms),
            "private_identities": identities(private),
        }
    return SubmissionDetails.of(
        submission,
        competition=submission.competition.slug,
        public_score=float(public.score) if public else None,
        standard_errors=(dict(public.errors) or None) if public else None,
        terms=(dict(public.terms) or None) if public else None,
        weakest_term=public.weakest_term if public else None,
        identities=identities(public) if public else None,
        **hidden,
    )


def identities(result: SplitResult) -> list[dict[str, Any]] | None:
    """Return the table of a result: each identity's cells that the viewer may see, null where undefined.

    None where the viewer may not see the table.
    """
    return [{"name": row.name, **row.cells} for row in result.identities] or None
