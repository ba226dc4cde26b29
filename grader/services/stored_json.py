"""JSON columns as strict models."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator

from grader.metrics import MetricSettings


class StoredJson(BaseModel):
    """The content of a JSON column; missing or unknown keys and wrong types are rejected.

    A field with a default may be missing: rows of earlier versions lack it. Errors do not show the value,
    which may be secret.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", hide_input_in_errors=True)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read what `as_dict` returned, in this version or an earlier one; raise ValidationError."""
        return cls.model_validate(data)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return self.model_dump(mode="json")


class _Metric(StoredJson):
    power: float | Literal["inf", "-inf"] = 0
    weights: dict[str, float] = {}
    label_threshold: float = 0
    identity_threshold: float = 0
    undefined: str = ""


def _metric(data: Any) -> MetricSettings:
    if isinstance(data, MetricSettings):
        return data
    _Metric.model_validate(data)  # the types; the values are for the metric's own check
    return MetricSettings.from_dict(data)


# A list in JSON, and the settings of a metric, whose package knows no pydantic.
StoredNames = Annotated[tuple[str, ...], Field(strict=False)]
StoredMetric = Annotated[
    MetricSettings, PlainValidator(_metric), PlainSerializer(MetricSettings.as_dict, return_type=dict)
]
