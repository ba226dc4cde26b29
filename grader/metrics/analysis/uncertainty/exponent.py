"""Effect of the power mean's exponent: the means and the score at every power."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any, Protocol

from grader.metrics.bias import exact_power_mean, exact_score, power_mean
from grader.metrics.metric_settings import MetricSettings
from grader.metrics.subgroups import BIAS_AUCS, BiasAuc

POWERS: tuple[float, ...] = tuple(float(power) for power in range(-10, 2))

# Four sets of nine AUCs in equal steps around one mean.
EQUAL_MEANS: Mapping[str, tuple[float, ...]] = {
    f"within {spread:.2f}": tuple(0.85 + spread * step / 4 for step in range(-4, 5))
    for spread in (0.0, 0.05, 0.1, 0.15)
}


class IdentityAucs(Protocol):
    """Any line of a report or table: a name and three AUCs."""

    @property
    def name(self) -> str: ...
    @property
    def subgroup_auc(self) -> float | None: ...
    @property
    def bpsn_auc(self) -> float | None: ...
    @property
    def bnsp_auc(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class PowerEffect:
    """The power means and the score at one exponent; None is undefined."""

    power: float
    subgroup_auc: float | None
    bpsn_auc: float | None
    bnsp_auc: float | None
    score: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class MeanLine:
    """One set of values: its mean, the deviation of the whole set, and power means by exponent."""

    name: str
    mean: float
    deviation: float
    power_means: Mapping[float, float]

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        means = [{"power": power, "mean": mean} for power, mean in self.power_means.items()]
        return {"name": self.name, "mean": self.mean, "deviation": self.deviation, "power_means": means}


def power_effect(
    overall_auc: float | None,
    lines: Sequence[IdentityAucs],
    settings: MetricSettings,
    powers: Iterable[float] = POWERS,
) -> tuple[PowerEffect, ...]:
    """Return the power means and the score at several exponents.

    Parameters
    ----------
    overall_auc : float or None
    lines : sequence of IdentityAucs
        The identities that enter the score, such as the `subgroups` of a `BiasReport`.
    settings : MetricSettings
        Weights, and what an undefined AUC does. The power is not looked at.
    powers : iterable of float
        By default from -10 to 1, the plain mean.

    Returns
    -------
    tuple of PowerEffect
        In the order of the powers.
    """
    effects = []
    for power in powers:
        chosen = replace(settings, power=power)
        means: dict[str, Decimal | None] = {
            cell: exact_mean(column(lines, cell), chosen) for cell in BIAS_AUCS
        }
        overall = None if overall_auc is None else Decimal(overall_auc)
        score = exact_score({"overall_auc": overall, **means}, chosen)
        effects.append(
            PowerEffect(
                power=float(power),
                subgroup_auc=_rounded(means["subgroup_auc"]),
                bpsn_auc=_rounded(means["bpsn_auc"]),
                bnsp_auc=_rounded(means["bnsp_auc"]),
                score=_rounded(score),
            )
        )
    return tuple(effects)


def compare_means(
    sets: Mapping[str, Sequence[float]] = EQUAL_MEANS, powers: Iterable[float] = (1.0, -1.0, -5.0)
) -> tuple[MeanLine, ...]:
    """Put the power means of several sets beside their plain means and deviations.

    Parameters
    ----------
    sets : mapping of str to sequence of float
        By default four sets of AUCs with one mean and growing spread, as in the blog post.
    powers : iterable of float

    Returns
    -------
    tuple of MeanLine

    Notes
    -----
    Koradiya, "Measuring Unintended Bias in text classification" (2019), shows such sets as a
    picture, without their values: sets of equal means that a plain mean cannot tell apart.
    """
    chosen = tuple(float(power) for power in powers)
    return tuple(
        MeanLine(
            name=name,
            mean=power_mean(values, 1),
            deviation=statistics.pstdev(values),
            power_means={power: power_mean(values, power) for power in chosen},
        )
        for name, values in sets.items()
    )


def column(lines: Sequence[IdentityAucs], cell: BiasAuc) -> list[Decimal | None]:
    """Return one AUC of every line, exactly."""
    values = (getattr(line, cell) for line in lines)
    return [None if value is None else Decimal(value) for value in values]


def exact_mean(values: Sequence[Decimal | None], settings: MetricSettings) -> Decimal | None:
    """Return the power mean of a column, not rounded; None where it is undefined."""
    defined = [value for value in values if value is not None]
    if not defined or (settings.undefined == "error" and len(defined) < len(values)):
        return None
    return exact_power_mean(defined, settings.power)


def _rounded(value: Decimal | None) -> float | None:
    return None if value is None else float(value)
