r"""Any metric by group: values, the worst group, the gap, and a score over groups.

A competition may rank by :math:`w \cdot \text{overall} + (1 - w) \cdot M_p(\text{groups})`, where
:math:`M_p` is a power mean that stresses the worst group: p = -5 if the highest value is the best, and +5 if
the lowest is.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from fairboard.bias.score import power_mean
from fairboard.interface import (
    Columns,
    Description,
    Direction,
    Metric,
    MetricResult,
    RowArray,
    TermSpec,
    UnsuitableTruth,
    remarks_on,
)

POWER = 5.0
LEAST_ROWS = 25
OTHER = ""  # An empty text is no group of its own.
_CHANCE = 0.05
Group = tuple[str, str]  # a column and a value


@dataclass(frozen=True, slots=True)
class GroupRules:
    """Rules for groups in the score.

    Attributes
    ----------
    columns : tuple of str
        The group columns of the solution.
    weight : float
        The weight of the overall value in the score, in [0, 1]; with 1, groups are only reported.
    in_score : tuple of (str, str)
        The groups, as column and value, that enter the power mean; equal in all splits.
    least : int
        All smaller groups of a column that are not in the score become one group, `OTHER`, which is omitted
        if it is too small itself. The size of a group is that of `size_of_group`.
    """

    columns: tuple[str, ...]
    weight: float = 1.0
    in_score: tuple[Group, ...] = ()
    least: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1:
            raise ValueError(f"`weight` must be between 0 and 1, not {self.weight!r}.")
        if self.weight < 1 and not self.in_score:
            raise ValueError(
                "A score over groups needs at least one group in the score. A group needs at least "
                f"{self.least} rows in each split, or of each class if the metric compares classes."
            )


@dataclass(frozen=True, eq=False, slots=True)
class PreparedGroups:
    """The data of a split and of each group, with the positions of the group's rows.

    `skipped` are the reasons for groups in which the metric is undefined.
    """

    overall: Any
    groups: Mapping[Group, tuple[RowArray, Any]]
    skipped: Mapping[Group, tuple[str, ...]]


class GroupedMetric:
    """A metric that is also computed in each group; `groups` of the truth are columns of text."""

    def __init__(self, metric: Metric, rules: GroupRules) -> None:
        about = metric.describe()
        if rules.weight < 1 and (reason := without_mean(about)):
            raise ValueError(reason)
        self._metric, self._rules = metric, rules
        self._power = -POWER if about.direction is Direction.HIGHEST else POWER
        self.name, self.version, self.encoding = metric.name, metric.version, metric.encoding

    def describe(self) -> Description:
        """Describe the metric; if groups are in the score, the overall value is a term."""
        about = self._metric.describe()
        if self._rules.weight == 1:
            return about
        overall = TermSpec("overall", "Overall", about.direction, rows="all rows")
        weight = self._rules.weight
        mean = f"its power mean (p = {self._power:g}) over the groups"
        sentence = f"{weight:.0%} {about.title}, {1 - weight:.0%} {mean}"
        return replace(about, sentence=sentence, terms=(overall, *about.terms))

    def encode(self, predictions: Columns) -> Any:
        """Encode the predictions of all rows."""
        return self._metric.encode(predictions)

    def remarks(self, predictions: Columns) -> list[str]:
        """Return the remarks of the metric."""
        return remarks_on(self._metric, predictions)

    def prepare(self, truth: Columns, rows: RowArray) -> PreparedGroups:
        """Prepare the split and each group; raise UnsuitableTruth if a group in the score is undefined.

        Other groups in which the metric is undefined are skipped, with their reasons.
        """
        overall, about = self._metric.prepare(truth, rows), self._metric.describe()
        groups, skipped = dict[Group, tuple[RowArray, Any]](), dict[Group, tuple[str, ...]]()
        for column in self._rules.columns:
            names, codes = np.unique(truth[column][rows].astype(str), return_inverse=True)
            order = np.argsort(codes, kind="stable")
            starts = np.searchsorted(codes[order], np.arange(1, names.size))
            parts = dict(zip(names.tolist(), np.split(order, starts), strict=True))
            parts.pop("", None)
            small = [
                value
                for value, places in parts.items()
                if (column, value) not in self._rules.in_score
                and size_of_group(about, truth, rows[places]) < self._rules.least
            ]
            if small:
                other = np.sort(np.concatenate([parts.pop(value) for value in small]))
                if size_of_group(about, truth, rows[other]) >= self._rules.least:
                    parts[OTHER] = other
                else:
                    of_class = " of a class" if about.compares_classes else ""
                    few = f"It has fewer than {self._rules.least} rows{of_class}."
                    skipped |= {(column, value): (few,) for value in small}
            for value, places in parts.items():
                try:
                    groups[column, value] = places, self._metric.prepare(truth, rows[places])
                except UnsuitableTruth as error:
                    skipped[column, value] = error.problems
        if missing := [each for each in self._rules.in_score if each not in groups]:
            reasons = (" ".join(skipped.get(each, ("No row has this value.",))) for each in missing)
            named = zip(missing, reasons, strict=True)
            raise UnsuitableTruth([f"{column} = {value}: {reason}" for (column, value), reason in named])
        return PreparedGroups(overall, groups, skipped)

    def score(self, prepared: PreparedGroups, encoded: Any) -> MetricResult:
        """Compute the overall values and those of each group."""
        overall = self._metric.score(prepared.overall, encoded)
        tables: dict[str, dict[str, Any]] = {column: {} for column in self._rules.columns}
        for (column, value), (places, data) in prepared.groups.items():
            tables[column][value] = {"rows": places.size, "score": self._metric.score(data, encoded).score}
        weight = self._rules.weight
        if weight == 1:
            return replace(overall, groups=tables)
        values = [tables[column][value]["score"] for column, value in self._rules.in_score]
        score = math.fsum([weight * overall.score, (1 - weight) * power_mean(values, self._power)])
        terms = {"overall": overall.score, **overall.terms}
        return MetricResult(score, terms, overall.evidence, tables)


def without_mean(about: Description) -> str:
    """Return the reason why the values of a metric in groups have no power mean, or an empty text."""
    if about.is_nonnegative:
        return ""
    return (
        f"{about.title} can be negative, so groups cannot be in the score. Set the weight of the overall "
        "value to 1; a named leaderboard can rank by the worst group."
    )


def size_of_group(about: Description, truth: Columns, rows: RowArray) -> int:
    """Return the size of a group by which all minimums are defined.

    It is the number of rows. If the metric compares classes, it is the number of rows with the most frequent
    class or that of all other rows, whichever is smaller.
    """
    if not about.compares_classes or not rows.size:
        return rows.size
    frequent = [int(np.unique(truth[each.name][rows], return_counts=True)[1].max()) for each in about.truth]
    return min(min(each, rows.size - each) for each in frequent)


class GroupValue(NamedTuple):
    """The value of a group and its standard error."""

    value: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class WeakestGroup:
    """The group with the largest distance from the best group of the same column."""

    column: str
    name: str
    value: float
    distance: float


def weakest_group(
    columns: Mapping[str, Mapping[str, GroupValue]], direction: Direction
) -> WeakestGroup | None:
    """Return the group that is farthest behind the best group of its column, or None.

    A group is named only if it is worse than another group of the column by more than chance explains, with a
    probability of error of 5 % over all pairs of groups.

    Parameters
    ----------
    columns : mapping of str to mapping of str to GroupValue
        The groups of each column by name. `OTHER` is never named.
    direction : Direction
        Which value is the best.

    Examples
    --------
    >>> groups = {"north": GroupValue(0.9, 0.01), "south": GroupValue(0.7, 0.02)}
    >>> weakest_group({"region": groups}, Direction.HIGHEST).name
    'south'
    >>> groups["south"] = GroupValue(0.7, 0.2)
    >>> weakest_group({"region": groups}, Direction.HIGHEST)
    """
    sign = 1 if direction is Direction.HIGHEST else -1
    named = {
        column: {name: each for name, each in groups.items() if name != OTHER}
        for column, groups in columns.items()
        if len(groups.keys() - {OTHER}) > 1
    }
    if not named:
        return None
    pairs = sum(math.comb(len(groups), 2) for groups in named.values())
    quantile = NormalDist().inv_cdf(1 - _CHANCE / pairs / 2)
    candidates = list[WeakestGroup]()
    for column, groups in named.items():
        best = max(sign * each.value for each in groups.values())
        surely = max(groups.values(), key=lambda each: sign * each.value - quantile * each.standard_error)
        for name, each in groups.items():
            behind = sign * (surely.value - each.value)
            if behind > quantile * math.hypot(surely.standard_error, each.standard_error):
                candidates.append(WeakestGroup(column, name, each.value, best - sign * each.value))
    return min(candidates, key=lambda each: (-each.distance, each.column, each.name), default=None)
