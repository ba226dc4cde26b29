"""Metric settings of a competition (identities, power, weights) and those a scoring version keeps."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from grader.metrics import MetricSettings
from grader.models import Competition

MIN_CLASS_ROWS = 25


@dataclass(frozen=True, slots=True)
class MetricChoice:
    """The metric of a draft; its solution is checked with it and makes `Rules` of it.

    `identities` of None are those of the solution with at least `min_class_rows` rows of each class in each
    split.
    """

    identities: tuple[str, ...] | None = None
    min_class_rows: int = MIN_CLASS_ROWS
    metric: MetricSettings = field(default_factory=MetricSettings)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {
            "identities": None if self.identities is None else list(self.identities),
            "min_class_rows": self.min_class_rows,
            "metric": self.metric.as_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "MetricChoice":
        """Read what `as_dict` returned."""
        names = data["identities"]
        return cls(
            identities=None if names is None else tuple(names),
            min_class_rows=data["min_class_rows"],
            metric=MetricSettings.from_dict(data["metric"]),
        )


def of(competition: Competition) -> MetricChoice:
    """Return the metric of the live scoring version; before there is one, what was chosen."""
    draft = competition.draft_metric
    chosen = MetricChoice() if draft is None else MetricChoice.from_dict(draft)
    if competition.live_scoring_version is None:
        return chosen
    rules = Rules.from_dict(competition.live_scoring_version.metric_settings)
    return replace(chosen, identities=rules.identities, metric=rules.metric)


@dataclass(frozen=True, slots=True)
class Rules:
    """The identities in the score and the metric's settings."""

    identities: tuple[str, ...]
    metric: MetricSettings

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {"identities": list(self.identities), "metric": self.metric.as_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Rules":
        """Read what `as_dict` returned."""
        return cls(tuple(data["identities"]), MetricSettings.from_dict(data["metric"]))
