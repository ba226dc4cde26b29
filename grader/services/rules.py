"""What a scoring version fixes besides the solution."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grader.metrics import MetricSettings


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
