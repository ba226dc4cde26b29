"""View model of a team's files: list, rejected files, final selection."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from grader.models import Submission, SubmissionKind, SubmissionStatus
from grader.ranking.order import Scale
from grader.services.leaderboards.score_history import OwnScore
from grader.services.leaderboards.submission_results import SplitResult
from grader.services.submissions import selections
from grader.services.submissions.selections import CurrentSelection, Reason


@dataclass(frozen=True, slots=True)
class OwnSubmissionLine:
    """A submission in its team's list."""

    id: int
    file_name: str
    description: str
    submitted_at: datetime
    status: str
    problem_count: int
    score: str
    change: str
    is_gain: bool
    is_best: bool
    is_late: bool
    is_selected: bool
    is_selectable: bool
    would_count: bool

    @property
    def is_scored(self) -> bool:
        """Whether the submission can be compared with another."""
        return self.status == SubmissionStatus.SCORED.value

    @property
    def is_rejected(self) -> bool:
        """Whether the submission is listed with the rejected files."""
        return self.status == SubmissionStatus.REJECTED.value


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot of the final selection with the file that currently fills it, or None if it is free."""

    number: int
    id: int | None = None
    file_name: str = ""
    score: str = ""
    reason: Reason | None = None

    @property
    def is_selected(self) -> bool:
        """Whether the team selected the file itself."""
        return self.reason in (Reason.PICKED, Reason.PICKED_WAITING)


def lines(
    submissions: Sequence[Submission],
    results: Mapping[int, SplitResult],
    scores: Collection[OwnScore],
    *,
    best_id: int | None,
    choice: CurrentSelection | None,
) -> list[OwnSubmissionLine]:
    """Return the list entries; `scores` cover all files, and the file `best_id` represents the team."""
    known = {score.submission_id: score for score in scores}
    return [_line(each, results.get(each.id), known.get(each.id), best_id, choice) for each in submissions]


def slots(choice: CurrentSelection | None, scores: Collection[OwnScore], scale: Scale) -> list[Slot]:
    """Return the slots of the final selection, filled ones first."""
    if choice is None:
        return []
    known = {score.submission_id: score for score in scores}
    filled = [
        Slot(
            number,
            each,
            known[each].file_name,
            _score(known[each].units, scale),
            reason,
        )
        for number, (each, reason) in enumerate(choice.reasons.items(), 1)
    ]
    return filled + [Slot(number) for number in range(len(filled) + 1, choice.limit + 1)]


def _line(
    submission: Submission,
    result: SplitResult | None,
    own: OwnScore | None,
    best_id: int | None,
    choice: CurrentSelection | None,
) -> OwnSubmissionLine:
    gain = own.gain if own and result else None
    return OwnSubmissionLine(
        id=submission.id,
        file_name=submission.file_name,
        description=submission.description,
        submitted_at=submission.submitted_at,
        status=submission.status.value,
        problem_count=len(submission.problems),
        score=result.score if result else "",
        change=""
        if gain is None or result is None
        else ("" if gain else "+") + result.scale.signed_text(gain),
        is_gain=gain is not None and gain > 0,
        is_best=submission.id == best_id,
        is_late=submission.kind is SubmissionKind.LATE,
        is_selected=submission.is_selected and selections.is_selectable(submission),
        is_selectable=selections.is_selectable(submission),
        would_count=choice is not None and submission.id in choice.reasons,
    )


def _score(units: int | None, scale: Scale) -> str:
    return "" if units is None else scale.text(units)
