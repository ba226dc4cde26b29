"""Fair play view: teams and file pairs, each with evidence and marks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grader.charts.frame import order_chart
from grader.fair_play import Sign
from grader.models import FairPlayMark, Submission
from grader.services.fair_play.report import FoundPair, FoundSigns, FoundTeam, Report


@dataclass(frozen=True, slots=True)
class FileLine:
    """A file with signs of probing, and one sentence for each sign."""

    submission: Submission
    signs: tuple[Sign, ...]
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
    """Two similar files of different teams; `svg` is empty if there is no chart."""

    line: str
    one: Submission
    other: Submission
    found: FoundPair
    sentences: tuple[str, ...]
    svg: str
    mark: FairPlayMark | None


@dataclass(frozen=True, slots=True)
class Lines:
    """The page's entries; `near_known` are pairs whose similarity an organizer's file explains."""

    teams: tuple[TeamLine, ...]
    pairs: tuple[PairLine, ...]
    near_known: tuple[PairLine, ...]


def lines_of(
    report: Report, submissions: Mapping[int, Submission], marked: Mapping[str, FairPlayMark]
) -> Lines:
    """Return a report's entries, omitting submissions and teams that no longer exist."""
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
    )


def _team(
    found: FoundTeam, submissions: Mapping[int, Submission], marked: Mapping[str, FairPlayMark]
) -> TeamLine | None:
    # Reports of earlier versions also list files with other signs only.
    files = tuple(
        FileLine(submissions[file.submission_id], signs, tuple(_signs(file)))
        for file in found.files
        if file.submission_id in submissions and (signs := tuple(sign for sign in Sign if sign in file.signs))
    )
    if not files:
        return None
    team = files[0].submission.team
    return TeamLine(found.line, team.id, team.name, found, files, marked.get(found.line))


def _signs(file: FoundSigns) -> Iterator[str]:
    if Sign.FEW_MOVED in file.signs:
        yield (
            f"Only {_rows(file.moved or 0)} of {file.rows:,} moved since #{file.nearest_id}. All other rows "
            "keep their order."
        )
    if Sign.CHANCE in file.signs and file.auc is not None:
        yield (
            f"Its overall AUC on the public rows is {file.auc:.2f}, no better than chance. "
            "Rows in the wrong order can also cause this."
        )
    if Sign.LONE_ROWS in file.signs:
        yield (
            f"{file.lone_levels} values occur in only one or two rows each, between values that occur in ten "
            "rows or more. This makes the score depend on single rows."
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
        yield "Both teams submitted the same file."
    elif found.has_same_order:
        yield "Both files put all rows in the same order, although their values may differ."
    elif found.third_id is not None:
        yield (
            f"One file resembles a blend of the other and #{found.third_id}: among rows that are tied in "
            f"the other file, #{found.third_id} explains {found.agreement:.0%} of the order. Honest models "
            f"stay below 75 %."
        )
    else:
        yield (
            f"On {found.agreement:.1%} of {_rows(found.rows)}, both files differ from the other teams' files "
            "in the same way. In a test, 100 models trained independently on the same data reached at most "
            "96 %."
        )
        yield (
            f"{_rows(found.moved).capitalize()} of these {found.rows:,} moved between the two files. The "
            f"rank correlation is {found.correlation:.4f}."
        )
    if found.distinct < 100:
        yield f"The files have only {found.distinct} different values. A simple rule can also cause this."
    if found.known_ids:
        names = ", ".join(f"#{number}" for number in found.known_ids)
        yield (
            f"The two files are close to {names}, an organizer's file or a benchmark, which explains the "
            "similarity."
        )


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"
