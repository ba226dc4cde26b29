"""View of canary rows: the files that follow their coins, with the chance of it in plain words."""

from collections.abc import Mapping
from dataclasses import dataclass

from grader.canaries import is_named, least_chance
from grader.models import FairPlayMark, Submission
from grader.services.fair_play import marks
from grader.services.fair_play.report import FoundCanaries, FoundFollower, Report

SCALES = ((1e15, "quadrillion"), (1e12, "trillion"), (1e9, "billion"), (1e6, "million"))


@dataclass(frozen=True, slots=True)
class FollowerLine:
    """A file that follows the coins."""

    line: str
    submission: Submission
    found: FoundFollower
    sentences: tuple[str, ...]
    mark: FairPlayMark | None


@dataclass(frozen=True, slots=True)
class CanaryView:
    """The canary rows of a competition: how many, what they can show, and which files follow them."""

    rows: int
    all_once_in: str
    are_too_few: bool
    lines: tuple[FollowerLine, ...]


def canary_view(
    report: Report, submissions: Mapping[int, Submission], marked: Mapping[str, FairPlayMark]
) -> CanaryView | None:
    """Return the view of a report; None where the competition has no canary rows."""
    found = report.canaries
    if found is None:
        return None
    return CanaryView(
        found.rows,
        once_in(least_chance(found.rows)),
        not is_named(least_chance(found.rows), report.file_count),
        tuple(_lines(found, report.file_count, submissions, marked)),
    )


def once_in(chance: float) -> str:
    """Return how rare a chance is, as in `5 million`: to two digits, never rarer than it is."""
    times = 1 / chance
    if times >= 1e18:
        return "more than a quintillion"
    for size, name in SCALES:
        if times >= size:
            return f"{_down(times / size):,} {name}"
    return f"{_down(times):,}"


def _down(number: float) -> int:
    """Return a number cut to two digits, or to a whole one."""
    whole = int(number)
    step = int(10 ** max(0, len(str(whole)) - 2))
    return int(whole // step * step)


def _lines(
    found: FoundCanaries,
    files: int,
    submissions: Mapping[int, Submission],
    marked: Mapping[str, FairPlayMark],
) -> list[FollowerLine]:
    lines = []
    for file in found.followers:
        if file.submission_id in submissions:
            line = marks.canary_line(file.submission_id)
            submission = submissions[file.submission_id]
            sentences = tuple(_sentences(file, files))
            lines.append(FollowerLine(line, submission, file, sentences, marked.get(line)))
    return lines


def _sentences(file: FoundFollower, files: int) -> list[str]:
    sentences = [
        f"Of {file.pairs:,} pairs of a row with coin 1 and a row with coin 0 it orders {file.as_drawn:,g} as "
        f"the coins do. An honest file orders so many of them so once in {once_in(file.chance)} files.",
        f"{files:,} files were looked at: the chance that any honest one among them does is 1 in "
        f"{once_in(min(1.0, file.chance * files))}.",
    ]
    if file.is_known:
        sentences.append("It is a file of the organizers or a benchmark.")
    return sentences
