"""Search a leaderboard by team name, and sort it by another column.

The order follows the displayed values, so that it tells no more than they do.
"""

import enum
from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import Select, null, select
from sqlalchemy.orm import Session

from grader.models import STANDING_ORDER, Score, ScoringVersion, Split, Standing, Team
from grader.ranking import order
from grader.services.leaderboards import lines as board_lines
from grader.services.leaderboards.lines import BoardRow, Placed
from grader.services.people.names import folded

Line = BoardRow | tuple[int, int]
"""A benchmark, or a team's id and rank."""


class Sort(enum.StrEnum):
    """The columns that a leaderboard can be sorted by: those that it shows."""

    RANK = "rank"
    CHANGE = "change"
    TEAM = "team"
    SCORE = "score"
    OVERALL_AUC = "overall_auc"
    SUBGROUP_AUC = "subgroup_auc"
    BPSN_AUC = "bpsn_auc"
    BNSP_AUC = "bnsp_auc"
    ENTRIES = "entries"
    LAST_SUBMITTED_AT = "last_submitted_at"

    @property
    def is_usually_descending(self) -> bool:
        """Whether people look for the greatest value first."""
        return self not in (Sort.RANK, Sort.TEAM)

    @property
    def is_term(self) -> bool:
        """Whether it is one of the four terms, which a competition may keep back."""
        return self.value in board_lines.TERMS


def lines(
    session: Session,
    *,
    version: ScoringVersion,
    split: Split,
    sort: Sort,
    descending: bool,
    search: str,
    benchmarks: Sequence[Placed],
    now: datetime,
) -> list[Line]:
    """Return all lines of a leaderboard whose team name contains `search`, sorted; ties by rank."""
    wanted = folded(search.strip())
    is_change = sort is Sort.CHANGE
    before = board_lines.earlier_ranks(session, version=version, split=split, now=now) if is_change else {}
    found: list[_Found] = []
    for rank, (team_id, name, value) in enumerate(session.execute(_teams(version, split, sort)), 1):
        if wanted in folded(name):
            found.append(_Found(rank, _value(sort, rank, name, value, before.get(team_id)), (team_id, rank)))
    for each in benchmarks:
        if wanted in folded(each.row.team):
            found.append(_Found(each.place + 0.5, _benchmark_value(sort, each), each.row))
    found.sort(key=attrgetter("place"))
    known = [each for each in found if each.value is not None]
    known.sort(key=attrgetter("value"), reverse=descending)  # stable: equal values stay in the order of ranks
    return [each.line for each in known] + [each.line for each in found if each.value is None]


class _Found(NamedTuple):
    place: float
    value: Any
    line: Line


def _teams(version: ScoringVersion, split: Split, sort: Sort) -> Select[Any]:
    """Return the query of each team's id, name and, unless sorted by rank, value; best first."""
    query = (
        select(Standing.team_id, Team.name)
        .join(Team, Team.id == Standing.team_id)
        .where(Standing.scoring_version_id == version.id, Standing.split == split)
        .order_by(*STANDING_ORDER)
    )
    if sort.is_term:
        return (
            query.add_columns(getattr(Score, sort.value))
            .join(Score, Score.submission_id == Standing.submission_id)
            .where(Score.scoring_version_id == version.id, Score.split == split)
        )
    if sort in (Sort.ENTRIES, Sort.LAST_SUBMITTED_AT):
        done = board_lines.activity()
        value = done.c.entry_count if sort is Sort.ENTRIES else done.c.last_submitted_at
        return query.add_columns(value).join(done, done.c.team_id == Standing.team_id)
    return query.add_columns(null())


def _value(sort: Sort, rank: int, name: str, value: Any, before: int | None) -> Any:
    match sort:
        case Sort.RANK:
            return rank
        case Sort.SCORE:
            return -rank  # ranks go by the displayed score
        case Sort.TEAM:
            return folded(name)
        case Sort.CHANGE:
            return None if before is None else before - rank
        case Sort.ENTRIES | Sort.LAST_SUBMITTED_AT:
            return value
        case _:
            return order.rounded_term(value)


def _benchmark_value(sort: Sort, placed: Placed) -> Any:
    row = placed.row
    match sort:
        case Sort.RANK:
            return placed.place + 0.5
        case Sort.SCORE:
            return -placed.place - 0.5
        case Sort.TEAM:
            return folded(row.team)
        case Sort.CHANGE:
            return None
        case Sort.ENTRIES:
            return row.entry_count
        case Sort.LAST_SUBMITTED_AT:
            return row.last_submitted_at
        case _:
            return row.terms[sort.value]
