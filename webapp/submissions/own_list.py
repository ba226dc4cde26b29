"""View model of a team's files: list, rejected files, final selection, score chart."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from grader.charts.pictures import cell_picture
from grader.charts.trend import TrendChart, trend_chart
from grader.models import Submission, SubmissionKind, SubmissionStatus
from grader.ranking.order import Scale
from grader.services.competitions import entry_fields
from grader.services.competitions.entry_fields import Detail
from grader.services.leaderboards.score_history import OwnScore
from grader.services.leaderboards.submission_results import IdentityRow, SplitResult
from grader.services.submissions import selections
from grader.services.submissions.selections import CurrentSelection, Reason
from webapp.presentation import formats
from webapp.presentation.terms import IDENTITY_TERMS
from webapp.submissions.views import weakest_first

DRAWN_IDENTITIES = 12


@dataclass(frozen=True, slots=True)
class OwnSubmissionLine:
    """A submission in its team's list; `cells` is a small picture of its identity table."""

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
    cells: str
    details: tuple[Detail, ...]

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
    missing: Sequence[str] = ()

    @property
    def is_selected(self) -> bool:
        """Whether the team selected the file itself."""
        return self.reason in (Reason.PICKED, Reason.PICKED_WAITING)


@dataclass(frozen=True, slots=True)
class FirstScore:
    """The team's only displayed score and its gap to the leader, shown until a chart has two scores."""

    score: str
    gap: str


@dataclass(frozen=True, slots=True)
class Trend:
    """The chart of the displayed scores, and its table: number, score, new best or not."""

    chart: TrendChart
    lines: tuple[tuple[int, str, bool], ...]


def lines(
    submissions: Sequence[Submission],
    results: Mapping[int, SplitResult],
    scores: Collection[OwnScore],
    *,
    best_id: int | None,
    choice: CurrentSelection | None,
    fields: str = "",
) -> list[OwnSubmissionLine]:
    """Return the list entries; `scores` cover all files, and the file `best_id` represents the team."""
    known = {score.submission_id: score for score in scores}
    drawn = _weakest(results)
    return [
        _line(each, results.get(each.id), known.get(each.id), drawn, best_id, choice, fields)
        for each in submissions
    ]


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
            choice.incomplete.get(each, ()),
        )
        for number, (each, reason) in enumerate(choice.reasons.items(), 1)
    ]
    return filled + [Slot(number) for number in range(len(filled) + 1, choice.limit + 1)]


def trend(scores: Sequence[OwnScore], *, leader: int | None, scale: Scale) -> Trend | None:
    """Return the chart of a team's displayed scores, or None with fewer than two."""
    shown = [(each.submission_id, each.units, each.best_before) for each in scores if each.units is not None]
    if len(shown) < 2:
        return None
    chart = trend_chart([units for _, units, _ in shown], leader=leader, scale=scale)
    if chart is None:
        return None
    return Trend(
        chart,
        tuple((each, scale.text(units), before is None or units > before) for each, units, before in shown),
    )


def first_score(scores: Sequence[OwnScore], *, leader: int | None, scale: Scale) -> FirstScore | None:
    """Return the team's only displayed score; None if it has none or several."""
    shown = [each.units for each in scores if each.units is not None]
    if len(shown) != 1:
        return None
    gap = 0 if leader is None else leader - shown[0]
    return FirstScore(scale.text(shown[0]), scale.size_text(gap) if gap > 0 else "")


def _line(
    submission: Submission,
    result: SplitResult | None,
    own: OwnScore | None,
    drawn: Sequence[str],
    best_id: int | None,
    choice: CurrentSelection | None,
    fields: str,
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
        cells=_cells(result, drawn) if result else "",
        details=entry_fields.shown(fields, submission.details),
    )


def _weakest(results: Mapping[int, SplitResult]) -> list[str]:
    """Return the identities shown in each row: the weakest ones of the newest file that has a table."""
    newest = max((each for each, result in results.items() if result.identities), default=None)
    if newest is None:
        return []
    return [row.name for row in weakest_first(results[newest])[:DRAWN_IDENTITIES]]


def _cells(result: SplitResult, drawn: Sequence[str]) -> str:
    """Return the picture of a table, labeled with its weakest cell."""
    rows = {row.name: row for row in result.identities}
    if not rows:
        return ""
    shades = [
        [formats.shade(rows[name].cells[term.key] if name in rows else None) for term in IDENTITY_TERMS]
        for name in drawn
    ]
    weakest = weakest_first(result)[0]
    value, term = _lowest(weakest)
    return cell_picture(
        shades, f"Weakest: {weakest.name}, {term} {value:.2f}" if term else "No AUC is defined"
    )


def _lowest(row: IdentityRow) -> tuple[float, str]:
    """Return an identity's lowest AUC and that AUC's name; if undefined, a value above all others."""
    cells = [(row.cells[term.key], term.name) for term in IDENTITY_TERMS]
    return min(((value, name) for value, name in cells if value is not None), default=(2.0, ""))


def _score(units: int | None, scale: Scale) -> str:
    return "" if units is None else scale.text(units)
