"""Print a rescoring's difference, or write it as CSV files."""

from collections.abc import Iterator
from pathlib import Path

from sqlalchemy.orm import Session

from grader.models import Competition, ScoringVersion
from grader.ranking.comparison import BoardChange, TeamChange
from grader.services.rescoring import difference
from grader.services.rescoring import difference as rescoring_difference
from grader.services.rescoring.difference import TOPS, Compared, NothingToCompare, Preview
from grader.text import counted


def describe_difference(session: Session, competition: Competition, version: ScoringVersion) -> Iterator[str]:
    """Return the difference to the live version in sentences."""
    versions = _versions(session, competition, version)
    found = rescoring_difference.preview(session, competition=competition, versions=versions)
    difference = found.difference
    yield f"From scoring version {versions.before.number} to {versions.after.number}:"
    if not found.is_complete:
        have = "has" if found.gaps.unfinished == 1 else "have"
        yield (
            f"The difference is not complete yet: {counted(found.gaps.unfinished, 'submission')} {have} "
            "no score "
            "under it."
        )
    if found.gaps.lost:
        theirs = "its score" if found.gaps.lost == 1 else "their scores"
        yield f"{counted(found.gaps.lost, 'submission')} would lose {theirs}."
    get = "gets" if difference.changed == 1 else "get"
    scored = counted(difference.scored_after, "submission")
    yield f"{difference.changed:,} of {scored} {get} a different displayed score."
    for name, board in (("Public", difference.public), ("Private", difference.private)):
        move = "moves" if len(board.moved) == 1 else "move"
        yield f"{name} leaderboard: {len(board.moved):,} of {counted(len(board.teams), 'team')} {move}."
        yield from _tops(found, board)
    compete = "competes" if len(difference.selections) == 1 else "compete"
    yield f"{counted(len(difference.selections), 'team')} {compete} with different submissions."
    for split, changes in found.term_changes.items():
        words = ", ".join(f"{term} {change:+.4f}" for term, change in changes.items())
        yield f"Mean change of each term on the {split} rows: {words}."


def write_difference(
    session: Session, competition: Competition, version: ScoringVersion, folder: Path
) -> Iterator[Path]:
    """Write submissions.csv, teams.csv and selections.csv into a folder; return where they are."""
    versions = _versions(session, competition, version)
    found = rescoring_difference.preview(session, competition=competition, versions=versions)
    folder.mkdir(parents=True, exist_ok=True)
    for name, pieces in (
        (
            "submissions.csv",
            difference.submissions_csv(session, competition=competition, versions=versions),
        ),
        ("teams.csv", difference.teams_csv(found)),
        ("selections.csv", difference.selections_csv(found)),
    ):
        path = folder / name
        with path.open("w", encoding="utf-8", newline="") as file:
            file.writelines(pieces)
        yield path


def _versions(session: Session, competition: Competition, version: ScoringVersion) -> Compared:
    versions = rescoring_difference.versions_of(session, competition=competition, version=version)
    if versions is None:
        raise NothingToCompare(version=version)
    return versions


def _tops(found: Preview, board: BoardChange) -> Iterator[str]:
    for top in TOPS:
        entering, leaving = board.entering(top), board.leaving(top)
        if entering or leaving:
            yield f"  Top {top}: enters {_names(found, entering)}; leaves {_names(found, leaving)}."


def _names(found: Preview, teams: tuple[TeamChange, ...]) -> str:
    return ", ".join(found.teams[team.team_id] for team in teams) or "nobody"
