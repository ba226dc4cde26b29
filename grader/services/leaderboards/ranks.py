"""Teams' ranks and entries on a leaderboard, read from the standings."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, tuple_, type_coerce
from sqlalchemy.orm import Session, aliased

from grader.models import MAIN_BOARD, STANDING_ORDER, Competition, Split, Standing, Team, on_board
from grader.ranking import order
from grader.ranking.order import TeamEntry
from grader.services.leaderboards.rows import to_entry

_OWN = aliased(Standing)


@dataclass(frozen=True, slots=True)
class Standings:
    """The standings of one leaderboard on one split under a scoring version, or of one of its divisions."""

    session: Session
    scoring_version_id: int
    split: Split
    board: str = MAIN_BOARD
    division: str | None = None

    @property
    def rows(self) -> tuple[ColumnElement[bool], ...]:
        """The conditions for the rows."""
        return self._conditions(Standing)

    def rank_of(self, entry: TeamEntry) -> int:
        """Return the rank that `entry` has, or would have, among the other teams' entries."""
        return self.places_of([entry])[0]

    def places_of(self, entries: Sequence[TeamEntry]) -> list[int]:
        """Return the rank of each entry among the other teams' entries, in one query."""
        if not entries:
            return []
        counts = [
            select(func.count()).where(*self._rows_before(entry)).scalar_subquery().label(f"place_{number}")
            for number, entry in enumerate(entries)
        ]
        return [count + 1 for count in self.session.execute(select(*counts)).one()]

    def entry_of(self, team_id: int) -> TeamEntry | None:
        """Return a team's entry, or None if it has none."""
        row = self.session.scalar(select(Standing).where(*self.rows, Standing.team_id == team_id))
        return None if row is None else to_entry(row)

    def ranked_entry_of(self, team_id: int) -> tuple[TeamEntry, int] | None:
        """Return a team's entry and its rank, or None if it has no entry."""
        place = select(func.count() + 1).where(*self._rows_before(_OWN)).scalar_subquery()
        query = select(_OWN, place).where(*self._conditions(_OWN), _OWN.team_id == team_id)
        ranked = self.session.execute(query).one_or_none()
        return None if ranked is None else (to_entry(ranked[0]), ranked[1])

    def above(self, entry: TeamEntry) -> TeamEntry | None:
        """Return the entry directly above another, or None for the first."""
        last_first = [
            column if each.is_highest_first else column.desc()
            for each, column in ((each, getattr(Standing, each.name)) for each in order.COLUMNS)
        ]
        row = self.session.scalar(
            select(Standing).where(*self._rows_before(entry)).order_by(*last_first).limit(1)
        )
        return None if row is None else to_entry(row)

    def count_teams(self) -> int:
        """Return the number of teams."""
        return self.session.scalar(select(func.count()).where(*self.rows)) or 0

    def ranks(self, team_ids: Collection[int] | None = None) -> dict[int, int]:
        """Return the ranks of teams, by default all teams."""
        ranked = self.ranked_teams().subquery()
        query = select(ranked.c.team_id, ranked.c.rank)
        if team_ids is not None:
            query = query.where(ranked.c.team_id.in_(team_ids))
        return dict(self.session.execute(query).all())

    def ranked_teams(self) -> Select[tuple[int, int]]:
        """Return a query for the `team_id` and `rank` of all teams."""
        rank = func.row_number().over(order_by=STANDING_ORDER).label("rank")
        return select(Standing.team_id, rank).where(*self.rows)

    def ranks_in_divisions(self) -> dict[int, int]:
        """Return the ranks of teams inside their divisions."""
        rank = func.row_number().over(partition_by=Team.division, order_by=STANDING_ORDER)
        query = select(Standing.team_id, rank).join(Team, Team.id == Standing.team_id)
        return dict(self.session.execute(query.where(*self.rows, Team.division.is_not(None))).all())

    def _conditions(self, row: type[Standing]) -> tuple[ColumnElement[bool], ...]:
        return on_board(
            self.scoring_version_id, self.split, board=self.board, division=self.division, row=row
        )

    def _rows_before(self, entry: TeamEntry | type[Standing]) -> tuple[ColumnElement[bool], ...]:
        """Return the conditions for the rows of other teams before an entry, which may be a row."""
        lower: list[ColumnElement[Any]] = []
        higher: list[ColumnElement[Any]] = []
        for column in order.COLUMNS:
            row = getattr(Standing, column.name)
            own = type_coerce(getattr(entry, column.name), row.type)
            # A tuple comparison has only one direction, so the operands of descending columns are swapped.
            lower.append(own if column.is_highest_first else row)
            higher.append(row if column.is_highest_first else own)
        # With the first pair as a range, the index is read only from the entry on.
        is_before = and_(lower[0] <= higher[0], tuple_(*lower) < tuple_(*higher))
        return *self.rows, Standing.team_id != entry.team_id, is_before


def is_on(boards: Mapping[int, Split]) -> ColumnElement[bool]:
    """Return the condition for the rows of several main leaderboards, given as splits by scoring version."""
    return or_(*(and_(*on_board(version_id, split)) for version_id, split in boards.items()))


def ranks_on(session: Session, *, boards: Mapping[int, Split], team_ids: Collection[int]) -> dict[int, int]:
    """Return the ranks of teams on several main leaderboards in one query."""
    if not boards or not team_ids:
        return {}
    rank = func.row_number().over(partition_by=Standing.scoring_version_id, order_by=STANDING_ORDER)
    ranked = select(Standing.team_id, rank.label("rank")).where(is_on(boards)).subquery()
    return dict(session.execute(select(ranked).where(ranked.c.team_id.in_(team_ids))).all())


def version(session: Session, *, competition: Competition) -> str:
    """Return a hash of a leaderboard's public content: scores, ranks and the reveal."""
    live_id, revealed_at = competition.live_scoring_version_id, competition.revealed_at
    splits = [Split.PUBLIC] if revealed_at is None else list(Split)
    sums = session.execute(
        select(
            func.count(),
            func.sum(Standing.submission_id),
            func.max(Standing.submission_id),
            func.sum(Standing.score_units),
        ).where(*on_board(live_id or 0, *splits))
    ).one()
    return hashlib.sha256(repr((live_id, revealed_at, *sums)).encode()).hexdigest()[:16]
