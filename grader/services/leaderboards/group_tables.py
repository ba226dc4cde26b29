"""Displayed group values: the worst group, the gap, and the losses."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from fairboard.bias.score import power_mean
from fairboard.groups import OTHER, POWER, GroupValue
from fairboard.interface import Description, Direction
from fairboard.lost_score import mean_losses
from grader.services.competitions.metric import NamedMetric

OTHER_NAME = "(other)"  # not "other", which is a common name of a group
Stored = Mapping[str, Mapping[str, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class ShownGroup:
    """A group's value to three significant digits, and its distance from the best group of the column.

    All groups that are too small to be named are one group with the name `(other)`.
    """

    name: str
    rows: int
    score: float
    behind: float


@dataclass(frozen=True, slots=True)
class GroupTable:
    """The groups of a column, the worst first; `gap` is the distance of the worst from the best."""

    column: str
    worst: str
    gap: float
    groups: tuple[ShownGroup, ...]


@dataclass(frozen=True, slots=True)
class WorstGroup:
    """The group with the worst value among all groups of all columns, to three significant digits."""

    column: str
    name: str
    score: float


def rounded(value: float) -> float:
    """Return a value of a group as displayed."""
    return float(f"{value:.2e}")


def text(value: float) -> str:
    """Return a value of a group as text, such as ``0.870``, ``12300`` or ``1.20e+15``."""
    digits = f"{value:.2e}"
    return f"{Decimal(digits):f}" if not value or 1e-6 <= abs(value) < 1e9 else digits


def decimals(value: float) -> int:
    """Return the number of decimals of a displayed value."""
    return len(text(value).partition(".")[2].partition("e")[0])


def tables(stored: Stored, columns: Sequence[str], direction: Direction) -> tuple[GroupTable, ...]:
    """Return the tables of a score's groups by these columns."""
    worst_of, best_of, sign = (max, min, -1) if direction is Direction.LOWEST else (min, max, 1)
    shown = []
    for column in (each for each in columns if stored.get(each)):
        groups = stored[column]
        values = {name: rounded(each["score"]) for name, each in sorted(groups.items())}
        named = [name for name in values if name != OTHER] or [OTHER]
        best = best_of(values[name] for name in named)
        worst = worst_of(named, key=values.__getitem__)
        lines = [
            ShownGroup(name or OTHER_NAME, groups[name]["rows"], values[name], _distance(best, values[name]))
            for name in sorted(values, key=lambda name: (name == OTHER, sign * values[name], name))
        ]
        gap = _distance(best, values[worst])
        shown.append(GroupTable(column, worst or OTHER_NAME, gap, tuple(lines)))
    return tuple(shown)


def _distance(best: float, value: float) -> float:
    return rounded(abs(best - value))


def loss_parts(
    tables: Sequence[GroupTable], metric: NamedMetric, about: Description, terms: Mapping[str, float]
) -> dict[tuple[str, str], float]:
    """Return the parts of the distance to the best score by term and group; empty if it is unknown.

    Without groups in the score, the distance is divided by rows times distance from the best value among the
    groups of one column: the one in which a single group has the largest part.
    """
    best = about.best
    if best is None or not tables:
        return {}
    if metric.weight == 1:
        by_column = [
            {f"{table.column} = {each.name}": each.rows * abs(best - each.score) for each in table.groups}
            for table in tables
        ]
        divided = max(by_column, key=lambda parts: max(parts.values()) / (sum(parts.values()) or 1.0))
        return {("score", name): part for name, part in divided.items()}
    values = {(table.column, each.name): each.score for table in tables for each in table.groups}
    scored = {f"{column} = {name}": values[column, name] for column, name in metric.scored_groups}
    power = POWER if about.direction is Direction.LOWEST else -POWER
    amount = (1 - metric.weight) * abs(best - power_mean(scored.values(), power))
    divided = mean_losses(scored, power, best, amount)
    overall = {("overall", ""): metric.weight * abs(best - terms["overall"])} if "overall" in terms else {}
    return overall | {("groups", name): part for name, part in divided.items()}


def worst_of(stored: Stored, *, is_lowest_best: bool) -> WorstGroup | None:
    """Return the worst group of a stored score, or None if it has no groups."""
    values = [WorstGroup(column, name, rounded(each["score"])) for column, name, each in _all(stored) if name]
    return (max if is_lowest_best else min)(values, key=lambda each: each.score, default=None)


def values_with_errors(
    stored: Stored, about: Description, overall: float, error: float | None
) -> dict[str, dict[str, GroupValue]]:
    """Return the values by column and group with estimated standard errors; empty if `error` is None.

    The standard error of the overall value is scaled by the number of rows and, if errors are sizes, by the
    value of the group.
    """
    if not error:
        return {}
    is_size = about.direction is Direction.LOWEST and overall > 0
    return {
        column: {
            name: GroupValue(
                value := rounded(each["score"]),
                error
                * math.sqrt(sum(line["rows"] for line in groups.values()) / each["rows"])
                * (max(1.0, value / overall) if is_size else 1.0),
            )
            for name, each in groups.items()
        }
        for column, groups in stored.items()
    }


def _all(stored: Stored) -> list[tuple[str, str, Mapping[str, Any]]]:
    return [
        (column, name, each) for column, part in sorted(stored.items()) for name, each in sorted(part.items())
    ]
