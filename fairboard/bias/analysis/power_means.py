"""Power means: effect of the exponent, and AUCs that reduce the score most."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Protocol

from fairboard.bias.metric_settings import MetricSettings
from fairboard.bias.score import exact_mean, exact_score, rounded
from fairboard.bias.subgroups import BIAS_AUCS, BiasAuc, Flat

POWERS: tuple[float, ...] = tuple(float(power) for power in range(-10, 2))


class IdentityAucs(Protocol):
    """A row of a report or table, with a name and three AUCs."""

    @property
    def name(self) -> str: ...
    @property
    def subgroup_auc(self) -> float | None: ...
    @property
    def bpsn_auc(self) -> float | None: ...
    @property
    def bnsp_auc(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class PowerEffect(Flat):
    """The power means and the score for one exponent; undefined values are None."""

    power: float
    subgroup_auc: float | None
    bpsn_auc: float | None
    bnsp_auc: float | None
    score: float | None


def power_effect(
    overall_auc: float | None,
    lines: Sequence[IdentityAucs],
    settings: MetricSettings,
    powers: Iterable[float] = POWERS,
) -> tuple[PowerEffect, ...]:
    """Return the power means and the score for several exponents.

    Parameters
    ----------
    overall_auc : float or None
    lines : sequence of IdentityAucs
        The identities that enter the score, such as the `subgroups` of a `BiasReport`.
    settings : MetricSettings
        The metric settings; the weights and the policy on undefined AUCs are used, and the power is ignored.
    powers : iterable of float
        The exponents; by default, the integers from -10 to 1, where 1 is the arithmetic mean.

    Returns
    -------
    tuple of PowerEffect
        The results in the order of the exponents.
    """
    effects = []
    columns = {cell: column(lines, cell) for cell in BIAS_AUCS}
    overall = None if overall_auc is None else Decimal(overall_auc)
    for power in powers:
        chosen = replace(settings, power=power)
        means: dict[str, Decimal | None] = {
            cell: exact_mean(values, chosen) for cell, values in columns.items()
        }
        score = exact_score({"overall_auc": overall, **means}, chosen)
        terms = {cell: rounded(mean) for cell, mean in means.items()}
        effects.append(PowerEffect(float(power), **terms, score=rounded(score)))
    return tuple(effects)


def column(lines: Sequence[IdentityAucs], cell: BiasAuc) -> list[Decimal | None]:
    """Return one of the AUCs of every row, as exact decimals."""
    values = (getattr(line, cell) for line in lines)
    return [None if value is None else Decimal(value) for value in values]
