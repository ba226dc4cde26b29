r"""Any metric by group: values, the worst group, the gap, and a score over groups.

A competition may rank by :math:`w \cdot \text{overall} + (1 - w) \cdot M_p(\text{groups})`, where
:math:`M_p` is a power mean that stresses the worst group: p = -5 if the highest value is the best, and +5 if
the lowest is.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

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
)

POWER = 5.0
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
    """

    columns: tuple[str, ...]
    weight: float = 1.0
    in_score: tuple[Group, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1:
            raise ValueError(f"`weight` must be between 0 and 1, not {self.weight!r}.")
        if self.weight < 1 and not self.in_score:
            raise ValueError("A score over groups needs at least one group in the score.")


@dataclass(frozen=True, eq=False, slots=True)
class PreparedGroups:
    """The data of a split and of each group, with the positions of the group's rows.

    `skipped` are the reasons for groups in which the metric is undefined.
    """

    overall: Any
    size: int
    power: float
    groups: Mapping[Group, tuple[RowArray, Any]]
    skipped: Mapping[Group, tuple[str, ...]]


class GroupedMetric:
    """A metric that is also computed in each group; `groups` of the truth are columns of text."""

    def __init__(self, metric: Metric, rules: GroupRules) -> None:
        if rules.weight < 1 and (reason := without_mean(metric.describe())):
            raise ValueError(reason)
        self._metric, self._rules = metric, rules
        self.name, self.version, self.encoding = metric.name, metric.version, metric.encoding

    def describe(self) -> Description:
        """Describe the metric; if groups are in the score, the overall value is a term."""
        about = self._metric.describe()
        if self._rules.weight == 1:
            return about
        overall = TermSpec("overall", "Overall", about.direction, rows="all {rows}")
        weight = self._rules.weight
        sentence = f"{weight:.0%} {about.title}, {1 - weight:.0%} its power mean over the groups"
        return replace(about, sentence=sentence, terms=(overall, *about.terms))

    def encode(self, predictions: Columns) -> Any:
        """Encode the predictions of all rows."""
        return self._metric.encode(predictions)

    def prepare(self, truth: Columns, rows: RowArray) -> PreparedGroups:
        """Prepare the split and each group; raise UnsuitableTruth if a group in the score is undefined.

        Other groups in which the metric is undefined are skipped, with their reasons.
        """
        groups, skipped = dict[Group, tuple[RowArray, Any]](), dict[Group, tuple[str, ...]]()
        for column in self._rules.columns:
            names, codes = np.unique(truth[column][rows].astype(str), return_inverse=True)
            order = np.argsort(codes, kind="stable")
            starts = np.searchsorted(codes[order], np.arange(1, names.size))
            for value, places in zip(names.tolist(), np.split(order, starts), strict=True):
                if not value:
                    continue
                try:
                    groups[column, value] = places, self._metric.prepare(truth, rows[places])
                except UnsuitableTruth as error:
                    skipped[column, value] = error.problems
        if missing := [each for each in self._rules.in_score if each not in groups]:
            reasons = (" ".join(skipped.get(each, ("No row has this value.",))) for each in missing)
            named = zip(missing, reasons, strict=True)
            raise UnsuitableTruth([f"{column} = {value}: {reason}" for (column, value), reason in named])
        is_highest = self._metric.describe().direction is Direction.HIGHEST
        overall = self._metric.prepare(truth, rows)
        return PreparedGroups(overall, rows.size, -POWER if is_highest else POWER, groups, skipped)

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
        score = math.fsum([weight * overall.score, (1 - weight) * power_mean(values, prepared.power)])
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


def worst(values: Mapping[str, Mapping[str, Any]], direction: Direction) -> tuple[str, float] | None:
    """Return the group with the worst value and its distance from the best group, or None without groups."""
    if not values:
        return None
    order = sorted(values, key=lambda name: (values[name]["score"], name))
    low, high = order[0], order[-1]
    gap = values[high]["score"] - values[low]["score"]
    return (low if direction is Direction.HIGHEST else high), gap
