"""Strict pydantic models for JSON columns."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator

from grader.metrics import MetricSettings


class StoredJson(BaseModel):
    """The content of a JSON column; missing or unknown keys and wrong types are rejected.

    Fields with a default may be missing, because rows written by earlier versions lack them. Errors do not
    show the value, which may be secret.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", hide_input_in_errors=True)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Parse the output of `as_dict` of this or an earlier version; raise ValidationError."""
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
    _Metric.model_validate(data)  # This validates the types; MetricSettings validates the values.
    return MetricSettings.from_dict(data)


# JSON has no tuples, and the metrics package does not depend on pydantic.
StoredNames = Annotated[tuple[str, ...], Field(strict=False)]
StoredMetric = Annotated[
    MetricSettings, PlainValidator(_metric), PlainSerializer(MetricSettings.as_dict, return_type=dict)
]
