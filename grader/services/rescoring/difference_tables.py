"""CSV files of a rescoring's difference: rows and columns for submissions, teams and selections."""

from collections.abc import Iterator

from sqlalchemy.orm import Session

from grader.models import Competition, Split
from grader.ranking import order
from grader.ranking.comparison import ScorePair
from grader.ranking.order import Standing
from grader.services.rescoring import difference
from grader.services.rescoring.difference import Compared, Preview
from grader.text import csv_lines

CHUNK = 2_000


def submissions_csv(session: Session, *, competition: Competition, versions: Compared) -> Iterator[str]:
    """Return every submission's displayed scores under both versions as CSV, piece by piece."""
    numbers = tuple(f"v{version.number}" for version in versions)
    yield csv_lines(
        [
            [
                *("submission", "team_id", "team", "kind", "is_selected", "submitted_at"),
                *(f"{split}_{number}" for split in Split for number in numbers),
                *(f"{split}_change" for split in Split),
            ]
        ]
    )
    batch: list[tuple[object, ...]] = []
    for team, pair in difference.pairs(session, competition=competition, versions=versions):
        batch.append(_submission_cells(team, pair))
        if len(batch) == CHUNK:
            yield csv_lines(batch)
            batch.clear()
    yield csv_lines(batch)


def teams_csv(found: Preview) -> Iterator[str]:
    """Return every team's rank on both leaderboards under both versions as CSV."""
    numbers = tuple(f"v{version.number}" for version in found.versions)
    columns = [f"{name}_{number}" for name in ("rank", "score", "submission") for number in numbers]
    yield csv_lines([["board", "team_id", "team", *columns, "rank_change", "score_change"]])
    for split, board in ((Split.PUBLIC, found.difference.public), (Split.PRIVATE, found.difference.private)):
        yield csv_lines(
            [
                split.value,
                each.team_id,
                found.teams[each.team_id],
                *(
                    cell
                    for pair in zip(_cells(each.before), _cells(each.after), strict=True)
                    for cell in pair
                ),
                each.rank_change,
                change_text(each.score_change),
            ]
            for each in board.teams
        )


def selections_csv(found: Preview) -> Iterator[str]:
    """Return which submissions come to compete on the private leaderboard, or cease to, as CSV."""
    yield csv_lines([["team_id", "team", "submission", "change"]])
    yield csv_lines(
        [each.team_id, found.teams[each.team_id], submission_id, words]
        for each in found.difference.selections
        for words, submission_ids in (("enters", each.entering), ("leaves", each.leaving))
        for submission_id in submission_ids
    )


def change_text(units: int | None) -> str | None:
    """Return a change of a displayed score with its sign, such as ``+0.00120``; None where unknown."""
    return None if units is None else order.signed_text(units)


def _cells(line: Standing | None) -> tuple[int | None, str | None, int | None]:
    if line is None:
        return None, None, None
    return line.rank, order.score_text(line.entry.score_units), line.entry.submission_id


def _submission_cells(team: str, pair: ScorePair) -> tuple[object, ...]:
    known = pair.known
    return (
        known.submission_id,
        known.team_id,
        team,
        known.kind.value,
        "true" if known.is_selected else "false",
        known.submitted_at.isoformat().replace("+00:00", "Z"),
        *(side and order.score_text(side.public_units) for side in (pair.before, pair.after)),
        *(side and order.score_text(side.private_units) for side in (pair.before, pair.after)),
        change_text(pair.public_change),
        change_text(pair.private_change),
    )
