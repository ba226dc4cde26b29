"""View of fair play: teams, pairs of files and canary rows with evidence, chart and mark."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grader.canaries import is_named, least_chance
from grader.charts.frame import order_chart
from grader.fair_play import Sign
from grader.models import FairPlayMark, Submission
from grader.services.fair_play.report import (
    FoundCanaries,
    FoundFollower,
    FoundPair,
    FoundSigns,
    FoundTeam,
    Report,
)

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
            submission = submissions[file.submission_id]
            sentences = tuple(_sentences(file, files))
            lines.append(FollowerLine(file.line, submission, file, sentences, marked.get(file.line)))
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


@dataclass(frozen=True, slots=True)
class FileLine:
    """One file with signs, and a sentence for each of them."""

    submission: Submission
    signs: tuple[str, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TeamLine:
    """A team whose files have signs of probing."""

    line: str
    team_id: int
    team: str
    found: FoundTeam
    files: tuple[FileLine, ...]
    mark: FairPlayMark | None


@dataclass(frozen=True, slots=True)
class PairLine:
    """Two files of different teams that are alike; `svg` is empty where there is no picture."""

    line: str
    one: Submission
    other: Submission
    found: FoundPair
    sentences: tuple[str, ...]
    svg: str
    mark: FairPlayMark | None


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of the page; `near_known` are pairs that a file of the organizers explains."""

    teams: tuple[TeamLine, ...]
    pairs: tuple[PairLine, ...]
    near_known: tuple[PairLine, ...]
    canaries: CanaryView | None


def lines_of(
    report: Report, submissions: Mapping[int, Submission], marked: Mapping[str, FairPlayMark]
) -> Lines:
    """Return the lines of a report, without submissions and teams that are gone since."""
    teams = [_team(found, submissions, marked) for found in report.teams]
    pairs = [
        _pair(found, submissions, marked)
        for found in report.pairs
        if found.one_id in submissions and found.other_id in submissions
    ]
    return Lines(
        teams=tuple(line for line in teams if line is not None),
        pairs=tuple(pair for pair in pairs if not pair.found.known_ids),
        near_known=tuple(pair for pair in pairs if pair.found.known_ids),
        canaries=canary_view(report, submissions, marked),
    )


def _team(
    found: FoundTeam, submissions: Mapping[int, Submission], marked: Mapping[str, FairPlayMark]
) -> TeamLine | None:
    files = tuple(
        FileLine(submissions[file.submission_id], file.signs, tuple(_signs(file)))
        for file in found.files
        if file.submission_id in submissions
    )
    if not files:
        return None
    team = files[0].submission.team
    return TeamLine(found.line, team.id, team.name, found, files, marked.get(found.line))


def _signs(file: FoundSigns) -> Iterator[str]:
    if Sign.FEW_MOVED in file.signs:
        yield (
            f"Only {_rows(file.moved or 0)} of {file.rows:,} moved since #{file.nearest_id}; all others keep "
            "their order."
        )
    if Sign.UNLIKE_BEST in file.signs and file.best_correlation is not None:
        yield (
            f"Its order has nothing to do with that of #{file.best_id}, the team's best file until then: the "
            f"rank correlation is {file.best_correlation:.2f}."
        )
    if Sign.CHANCE in file.signs and file.auc is not None:
        yield (
            f"Its overall AUC on the public rows is {file.auc:.2f}, as for random predictions. "
            "Rows in the wrong order do this as well."
        )
    if Sign.LONE_ROWS in file.signs:
        yield (
            f"{file.lone_levels} values belong to one or two rows each, between values of ten rows or more: "
            "the score then depends on single rows."
        )
    if Sign.COARSE in file.signs:
        yield (
            f"{file.largest_tie:.0%} of the rows have the same value, and there are only {file.distinct} "
            "different values. Rounding does this as well."
        )
    if Sign.BLOCK in file.signs and file.block is not None:
        yield (
            f"The rows of {file.block.identity} moved together: such a row is above a row of the others in "
            f"{file.block.height:.0%} of all pairs, in #{file.best_id} in {file.block.before:.0%}. "
            "Correcting a bias does this as well."
        )


def _pair(
    found: FoundPair, submissions: Mapping[int, Submission], marked: Mapping[str, FairPlayMark]
) -> PairLine:
    svg = order_chart((f"#{found.one_id}", f"#{found.other_id}"), found.points) if found.points else ""
    return PairLine(
        found.line,
        submissions[found.one_id],
        submissions[found.other_id],
        found,
        tuple(_alike(found)),
        svg,
        marked.get(found.line),
    )


def _alike(found: FoundPair) -> Iterator[str]:
    if found.has_same_bytes:
        yield "Both teams sent the same file."
    elif found.has_same_order:
        yield "Both files put all rows in the same order, whatever their values are."
    elif found.third_id is not None:
        yield (
            f"One of them is like a blend of the other and of #{found.third_id}: of rows that the other "
            f"finds equal, that file explains {found.agreement:.0%} of the order. Honest models stay "
            "below 75 %."
        )
    else:
        yield (
            f"On {found.agreement:.1%} of {_rows(found.rows)} both differ from the other teams' files in the "
            "same way. A hundred models that were trained apart on the same data reached 96 % at most."
        )
        yield (
            f"{_rows(found.moved).capitalize()} of these {found.rows:,} moved between the two files; the "
            f"rank correlation is {found.correlation:.4f}."
        )
    if found.distinct < 100:
        yield f"The files have only {found.distinct} different values: a simple rule can do this as well."
    if found.known_ids:
        names = ", ".join(f"#{number}" for number in found.known_ids)
        yield f"They are near {names}, a file of the organizers or a benchmark, which explains it."


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"
