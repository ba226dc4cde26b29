"""Standing rows without disqualified teams: updates and rebuilds."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from grader.models import (
    MAIN_BOARD,
    Competition,
    ScoringVersion,
    ScoringVersionState,
    Split,
    Standing,
    Team,
)
from grader.ranking import order, selection
from grader.ranking.order import TeamEntry
from grader.services.competitions import boards, settings
from grader.services.competitions.acting import Act
from grader.services.competitions.metric import Rules
from grader.services.leaderboards import shown_scores

_IN_USE = (ScoringVersionState.LIVE, ScoringVersionState.PREPARING)


def to_row(entry: TeamEntry, *, scoring_version_id: int, split: Split, board: str = MAIN_BOARD) -> Standing:
    """Return an entry as a row."""
    return Standing(
        scoring_version_id=scoring_version_id,
        split=split,
        board=board,
        team_id=entry.team_id,
        submission_id=entry.submission_id,
        score_units=entry.score_units,
        submitted_at=entry.submitted_at,
    )


def to_entry(row: Standing) -> TeamEntry:
    """Return a row as an entry."""
    return TeamEntry(row.team_id, row.submission_id, row.score_units, row.submitted_at)


def enter(session: Session, *, entries: Mapping[str, Collection[TeamEntry]], scoring_version_id: int) -> None:
    """Store the new public entries on each leaderboard that are the best of their teams.

    Entries of disqualified teams are not stored.
    """
    best = {(board, entry.team_id): entry for board, own in entries.items() for entry in order.rank(own)}
    # The teams' rows serve as locks: if two scores are recorded concurrently, the better one must win.
    qualified = session.execute(
        select(Team.id, Team.disqualified_at)
        .where(Team.id.in_({team_id for _, team_id in best}))
        .order_by(Team.id)
        .with_for_update(key_share=True)
    )
    teams = {team_id for team_id, disqualified_at in qualified if disqualified_at is None}
    present = session.scalars(
        select(Standing)
        .where(
            Standing.scoring_version_id == scoring_version_id,
            Standing.split == Split.PUBLIC,
            Standing.board.in_(entries),
            Standing.team_id.in_(teams),
        )
        .execution_options(populate_existing=True)
    )
    rows = {(row.board, row.team_id): row for row in present}
    for (board, team_id), entry in best.items():
        if team_id not in teams:
            continue
        row = rows.get((board, team_id))
        if row is None:
            session.add(to_row(entry, scoring_version_id=scoring_version_id, split=Split.PUBLIC, board=board))
        elif order.order(entry) < order.order(to_entry(row)):
            row.submission_id = entry.submission_id
            row.score_units = entry.score_units
            row.submitted_at = entry.submitted_at
    session.flush()


def in_use(session: Session, *, competition: Competition) -> Sequence[ScoringVersion]:
    """Return the scoring versions that have standings: the live one and the one in preparation."""
    mine = ScoringVersion.competition_id == competition.id
    return session.scalars(select(ScoringVersion).where(mine, ScoringVersion.state.in_(_IN_USE))).all()


def rebuild(session: Session, *, competition: Competition, team_ids: Collection[int] | None = None) -> None:
    """Rewrite the standings of teams, by default all, after a merger, a disqualification or a change of kind.

    The competition must be locked. Public standings exist under the live scoring version and the one in
    preparation. Private standings exist only under the live version, after settling.
    """
    for version in in_use(session, competition=competition):
        splits = [Split.PUBLIC]
        if competition.settled_at is not None and version.state is ScoringVersionState.LIVE:
            splits.append(Split.PRIVATE)
        write(
            session, competition=competition, scoring_version_id=version.id, splits=splits, team_ids=team_ids
        )


def write(
    session: Session,
    *,
    competition: Competition,
    scoring_version_id: int,
    splits: Collection[Split],
    team_ids: Collection[int] | None = None,
) -> None:
    """Replace the standings of these teams (by default, all teams) on these splits."""
    doomed = delete(Standing).where(
        Standing.scoring_version_id == scoring_version_id, Standing.split.in_(splits)
    )
    if team_ids is not None:
        doomed = doomed.where(Standing.team_id.in_(team_ids))
    session.flush()
    session.execute(doomed.execution_options(synchronize_session="fetch"))
    scored = shown_scores.scored(session, scoring_version_id=scoring_version_id, team_ids=team_ids)
    out = shown_scores.disqualified(session, competition_id=competition.id)
    boards = selection.compute(scored, disqualified=out, selection_count=competition.selection_count)
    session.add_all(
        to_row(entry, scoring_version_id=scoring_version_id, split=split, board=board)
        for (board, split), ranking in boards.rankings.items()
        if split in splits
        for entry in ranking
    )
    session.flush()


def change_settings(act: Act, *, changes: Mapping[str, Any]) -> frozenset[str]:
    """Change settings and return the names of the changed ones; the competition must be locked.

    If the named leaderboards change, their standings are rewritten. Raises InvalidCompetition, or
    OrganizerRefusal for a scoring version in preparation.
    """
    changed = settings.change(act, changes=changes)
    if "boards" in changed:
        for version in in_use(act.session, competition=act.competition):
            boards.require(act.competition, Rules.of(version))
        rebuild(act.session, competition=act.competition)
    return changed
