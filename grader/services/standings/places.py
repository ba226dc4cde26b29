"""Read the rank of one team from the database, count teams, list ranks."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, literal, or_, select, tuple_
from sqlalchemy.orm import Session, aliased

from grader.models import STANDING_ORDER, Split, Standing
from grader.ranking import order
from grader.ranking.order import Entry
from grader.services.standings.rows import to_entry


def rank_of(session: Session, *, scoring_version_id: int, split: Split, entry: Entry) -> int:
    """Return the rank that `entry` has, or would have for its team, among the other teams' standings."""
    query = select(func.count()).where(
        *_on(scoring_version_id, split), Standing.team_id != entry.team_id, _is_before(entry)
    )
    return (session.scalar(query) or 0) + 1


def places_of(
    session: Session, *, scoring_version_id: int, split: Split, entries: Sequence[Entry]
) -> list[int]:
    """Return for each entry the rank that it would have among the other teams' standings, in one query."""
    if not entries:
        return []
    counts = [
        select(func.count())
        .where(*_on(scoring_version_id, split), Standing.team_id != entry.team_id, _is_before(entry))
        .scalar_subquery()
        .label(f"place_{number}")
        for number, entry in enumerate(entries)
    ]
    return [count + 1 for count in session.execute(select(*counts)).one()]


def standing_of(session: Session, *, scoring_version_id: int, split: Split, team_id: int) -> Entry | None:
    """Return a team's entry on a leaderboard, None if it has none."""
    row = session.scalar(select(Standing).where(*_on(scoring_version_id, split), Standing.team_id == team_id))
    return None if row is None else to_entry(row)


def above(session: Session, *, scoring_version_id: int, split: Split, entry: Entry) -> Entry | None:
    """Return the entry directly above one, None above the first."""
    last_first = [
        column if each.is_highest_first else column.desc()
        for each, column in ((each, getattr(Standing, each.name)) for each in order.COLUMNS)
    ]
    row = session.scalar(
        select(Standing)
        .where(*_on(scoring_version_id, split), Standing.team_id != entry.team_id, _is_before(entry))
        .order_by(*last_first)
        .limit(1)
    )
    return None if row is None else to_entry(row)


def first(session: Session, *, scoring_version_id: int, split: Split) -> Entry | None:
    """Return the entry that leads a leaderboard, None if it is empty."""
    row = session.scalar(
        select(Standing).where(*_on(scoring_version_id, split)).order_by(*STANDING_ORDER).limit(1)
    )
    return None if row is None else to_entry(row)


def count_teams(session: Session, *, scoring_version_id: int, split: Split) -> int:
    """Return how many teams a leaderboard has."""
    return session.scalar(select(func.count()).where(*_on(scoring_version_id, split))) or 0


def count_and_best(session: Session, *, scoring_version_id: int, split: Split) -> tuple[int, int | None]:
    """Return how many teams a leaderboard has, and the leader's score in units; None without teams."""
    query = select(func.count(), func.max(Standing.score_units)).where(*_on(scoring_version_id, split))
    count, best = session.execute(query).one()
    return count, best


def ranks(
    session: Session, *, scoring_version_id: int, split: Split, team_ids: Collection[int] | None = None
) -> dict[int, int]:
    """Return the ranks of teams, by default of all on the leaderboard."""
    ranked = ranked_teams(scoring_version_id, split).subquery()
    query = select(ranked.c.team_id, ranked.c.rank)
    if team_ids is not None:
        query = query.where(ranked.c.team_id.in_(team_ids))
    return dict(session.execute(query).all())


def ranked_teams(scoring_version_id: int, split: Split) -> Select[tuple[int, int]]:
    """Return the query of `team_id` and `rank` of a complete leaderboard."""
    rank = func.row_number().over(order_by=STANDING_ORDER).label("rank")
    return select(Standing.team_id, rank).where(*_on(scoring_version_id, split))


def ranks_on(session: Session, *, boards: Mapping[int, Split], team_ids: Collection[int]) -> dict[int, int]:
    """Return the ranks of teams on several leaderboards, given by scoring version, in one query."""
    if not boards or not team_ids:
        return {}
    own = aliased(Standing)
    better = (
        select(func.count())
        .where(
            Standing.scoring_version_id == own.scoring_version_id,
            Standing.split == own.split,
            Standing.team_id != own.team_id,
            _is_above([getattr(own, column.name) for column in order.COLUMNS]),
        )
        .correlate(own)
        .scalar_subquery()
    )
    is_on = or_(
        *(
            and_(own.scoring_version_id == version_id, own.split == split)
            for version_id, split in boards.items()
        )
    )
    rows = session.execute(select(own.team_id, better + 1).where(own.team_id.in_(team_ids), is_on))
    return dict(rows.all())


def _on(scoring_version_id: int, split: Split) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return Standing.scoring_version_id == scoring_version_id, Standing.split == split


def _is_before(entry: Entry) -> ColumnElement[bool]:
    return _is_above(
        [
            literal(getattr(entry, column.name), getattr(Standing, column.name).type)
            for column in order.COLUMNS
        ]
    )


def _is_above(values: Sequence[ColumnElement[Any]]) -> ColumnElement[bool]:
    """Return the condition that a standing comes before one with these values of the order's columns."""
    lower: list[ColumnElement[Any]] = []
    higher: list[ColumnElement[Any]] = []
    for column, own in zip(order.COLUMNS, values, strict=True):
        row = getattr(Standing, column.name)
        # A comparison of tuples has one direction: a column whose highest value comes first changes sides.
        lower.append(own if column.is_highest_first else row)
        higher.append(row if column.is_highest_first else own)
    return tuple_(*lower) < tuple_(*higher)
