"""Metric settings and their validation: power, weights, thresholds, undefined cells."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

WEIGHT_SUM_TOLERANCE = 1e-12

UndefinedPolicy = Literal["error", "skip"]


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of the four terms of the score.

    Attributes
    ----------
    overall_auc, subgroup_auc, bpsn_auc, bnsp_auc : float
        Finite, non-negative weights that sum to 1 within 1e-12.

    Raises
    ------
    ValueError
        If a weight is negative or not finite, or the weights do not sum to 1.

    Examples
    --------
    >>> Weights(overall_auc=0.4, subgroup_auc=0.2, bpsn_auc=0.2, bnsp_auc=0.2).overall_auc
    0.4
    """

    overall_auc: float = 0.25
    subgroup_auc: float = 0.25
    bpsn_auc: float = 0.25
    bnsp_auc: float = 0.25

    def __post_init__(self) -> None:
        for term in fields(self):
            weight = _as_float(f"weights.{term.name}", getattr(self, term.name))
            if not (math.isfinite(weight) and weight >= 0):
                raise ValueError(f"`weights.{term.name}` must be finite and not negative, not {weight!r}.")
            object.__setattr__(self, term.name, weight)
        total = math.fsum(self.as_dict().values())
        if abs(total - 1) > WEIGHT_SUM_TOLERANCE:
            raise ValueError(f"`weights` must sum to 1, but they sum to {total!r}.")

    def as_dict(self) -> dict[str, float]:
        """Return the weights by term, in the order of the score's formula."""
        return {term.name: getattr(self, term.name) for term in fields(self)}


@dataclass(frozen=True, slots=True)
class MetricSettings:
    """The parameters of the score; equal settings produce bit-for-bit identical scores.

    Attributes
    ----------
    power : float
        Exponent p of the power means: any finite number, or positive or negative infinity for the largest or
        smallest value. With 0, the mean is the geometric mean.
    weights : Weights
        The weight of each term in the score.
    label_threshold, identity_threshold : float
        Finite thresholds. A row is positive, or mentions an identity, if ``value >= threshold``.
    undefined : {"error", "skip"}
        The handling of an undefined AUC: ``"error"`` makes its power mean and the score undefined;
        ``"skip"`` excludes it from the mean.

    Raises
    ------
    ValueError
        If a value is invalid; the message contains the name of the setting.
    TypeError
        If `weights` is not a `Weights`.

    Examples
    --------
    >>> MetricSettings(power=-10, undefined="skip").as_dict()["power"]
    -10.0
    """

    power: float = -5.0
    weights: Weights = field(default_factory=Weights)
    label_threshold: float = 0.5
    identity_threshold: float = 0.5
    undefined: UndefinedPolicy = "error"

    def __post_init__(self) -> None:
        power = _as_float("power", self.power)
        if math.isnan(power):
            raise ValueError("`power` must be a finite number or positive or negative infinity, not NaN.")
        object.__setattr__(self, "power", power)
        for name in ("label_threshold", "identity_threshold"):
            threshold = _as_float(name, getattr(self, name))
            if not math.isfinite(threshold):
                raise ValueError(f"`{name}` must be finite, not {threshold!r}.")
            object.__setattr__(self, name, threshold)
        if not isinstance(self.weights, Weights):
            raise TypeError(f"`weights` must be Weights(...), not {self.weights!r}.")
        if self.undefined not in get_args(UndefinedPolicy):
            raise ValueError(f'`undefined` must be "error" or "skip", not {self.undefined!r}.')

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data, with an infinite power as the string ``"inf"`` or ``"-inf"``."""
        finite = math.isfinite(self.power)
        data = {setting.name: getattr(self, setting.name) for setting in fields(self)}
        return data | {
            "power": self.power if finite else str(self.power),
            "weights": self.weights.as_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "MetricSettings":
        """Create settings from the output of `as_dict`, with defaults for missing keys."""
        return cls(**{**data, "weights": Weights(**data.get("weights", {}))})


def _as_float(name: str, value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (OverflowError, TypeError, ValueError):
        raise ValueError(f"`{name}` must be a number, not {value!r}.") from None
