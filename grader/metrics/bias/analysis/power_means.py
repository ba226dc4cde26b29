"""Power means: effect of the exponent, and AUCs that reduce the score most."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal, localcontext
from typing import Any, Protocol

from grader.metrics.bias.metric_settings import MetricSettings
from grader.metrics.bias.score import EXACT, exact_mean, exact_score, power_mean, rounded
from grader.metrics.bias.subgroups import BIAS_AUCS, BiasAuc, Flat
from grader.metrics.losses import mean_losses

POWERS: tuple[float, ...] = tuple(float(power) for power in range(-10, 2))

# Four sets of nine equally spaced AUCs with the same mean.
EQUAL_MEANS: Mapping[str, tuple[float, ...]] = {
    f"within {spread:.2f}": tuple(0.85 + spread * step / 4 for step in range(-4, 5))
    for spread in (0.0, 0.05, 0.1, 0.15)
}


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


@dataclass(frozen=True, slots=True)
class MeanLine:
    """A set of values: mean, population standard deviation, and power means by exponent."""

    name: str
    mean: float
    deviation: float
    power_means: Mapping[float, float]


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


def compare_means(
    sets: Mapping[str, Sequence[float]] = EQUAL_MEANS, powers: Iterable[float] = (1.0, -1.0, -5.0)
) -> tuple[MeanLine, ...]:
    """Compare the power means of several sets with their means and standard deviations.

    Parameters
    ----------
    sets : mapping of str to sequence of float
        By default, four sets of AUCs with the same mean and increasing spread, as in the blog post.
    powers : iterable of float
        The exponents.

    Returns
    -------
    tuple of MeanLine

    Notes
    -----
    Koradiya, "Measuring Unintended Bias in text classification" (2019), shows such sets in a figure without
    their values. The sets have equal arithmetic means, so only a power mean distinguishes them.
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
    """Return one of the AUCs of every row, as exact decimals."""
    values = (getattr(line, cell) for line in lines)
    return [None if value is None else Decimal(value) for value in values]


@dataclass(frozen=True, slots=True)
class CellGain:
    """The increase of the score if one AUC rose to the median of its column.

    Attributes
    ----------
    name : str
        The identity.
    cell : str
        One of its three AUCs.
    value, median : float
        The AUC and the median of this AUC over the identities. The AUC is below the median.
    gain : float
        The increase of the score. It is 0 if the term has no weight, or if another identity keeps the power
        mean at 0.
    """

    name: str
    cell: BiasAuc
    value: float
    median: float
    gain: float


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Possible score gains by AUC and by identity, in descending order.

    Attributes
    ----------
    cells : tuple of CellGain
        The gains of all AUCs below the median of their column.
    identities : tuple of (str, float)
        For each identity, the sum of the gains of its AUCs below their medians.
    """

    cells: tuple[CellGain, ...]
    identities: tuple[tuple[str, float], ...]

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {
            "cells": [asdict(cell) for cell in self.cells],
            "identities": [{"name": name, "gain": gain} for name, gain in self.identities],
        }


def held_back(lines: Sequence[IdentityAucs], settings: MetricSettings) -> HeldBack:
    """Rank the AUCs and identities by the score gain that a rise to the median would bring.

    Parameters
    ----------
    lines : sequence of IdentityAucs
        The identities that enter the score. Rounded AUCs are accepted, because teams see only rounded ones.
    settings : MetricSettings
        The metric settings; the power, the weights and the policy on undefined AUCs are used.

    Returns
    -------
    HeldBack
        The gains; empty if all identities are equal. A column with an undefined power mean has no gains.

    Notes
    -----
    Each gain assumes that the overall AUC and all other AUCs stay the same. In practice, a change to the
    model changes all of them.
    """
    cells: list[CellGain] = []
    for cell in BIAS_AUCS:
        cells += _gains(lines, cell, settings)
    by_identity: dict[str, float] = {}
    for gain in cells:
        by_identity[gain.name] = by_identity.get(gain.name, 0.0) + gain.gain
    return HeldBack(
        cells=tuple(sorted(cells, key=lambda gain: -gain.gain)),
        identities=tuple(sorted(by_identity.items(), key=lambda item: -item[1])),
    )


@dataclass(frozen=True, slots=True)
class PowerMeanCost:
    """The cost of a term to the score.

    Attributes
    ----------
    term : str
    value : float
    cost : float
        The weight of the term times its distance from 1, which is how much higher the score would be if the
        term were 1.
    """

    term: str
    value: float
    cost: float


def term_costs(terms: Mapping[str, float], settings: MetricSettings) -> tuple[PowerMeanCost, ...]:
    """Rank the terms by cost.

    Parameters
    ----------
    terms : mapping of str to float
        The terms visible to the reader, exact or rounded.
    settings : MetricSettings

    Returns
    -------
    tuple of PowerMeanCost
        The terms in descending order of cost.
    """
    weights = settings.weights.as_dict()
    total = sum(weights.values())
    costs = (PowerMeanCost(term, value, weights[term] / total * (1 - value)) for term, value in terms.items())
    return tuple(sorted(costs, key=lambda each: -each.cost))


def loss_parts(
    terms: Mapping[str, float], lines: Sequence[IdentityAucs], settings: MetricSettings
) -> dict[tuple[str, str], float]:
    """Divide the costs of the terms among identities.

    Parameters
    ----------
    terms : mapping of str to float
        The terms visible to the reader, exact or rounded.
    lines : sequence of IdentityAucs
        The identities with the AUCs visible to the reader; undefined AUCs have no part.
    settings : MetricSettings

    Returns
    -------
    dict of (str, str) to float
        The parts by term and identity; the identity is empty if the term is not divided.
    """
    parts: dict[tuple[str, str], float] = {}
    for each in term_costs(terms, settings):
        columns = [cell for cell in BIAS_AUCS if cell == each.term]
        aucs = {
            line.name: auc for cell in columns for line in lines if (auc := getattr(line, cell)) is not None
        }
        divided = mean_losses(aucs, settings.power, 1.0, each.cost)
        parts |= {(each.term, name): part for name, part in divided.items()} or {(each.term, ""): each.cost}
    return parts


def weakest_term(costs: Sequence[PowerMeanCost]) -> str | None:
    """Return the term with the highest cost; None if all are equal."""
    return costs[0].term if len({each.cost for each in costs}) > 1 else None


def _gains(lines: Sequence[IdentityAucs], cell: BiasAuc, settings: MetricSettings) -> list[CellGain]:
    """Return the gain of each identity below the median of one column."""
    values = column(lines, cell)
    mean = exact_mean(values, settings)
    if mean is None:
        return []
    weights = settings.weights.as_dict()
    gains = []
    with localcontext(EXACT):
        weight = Decimal(weights[cell]) / sum(map(Decimal, weights.values()))
        median = Decimal(statistics.median(float(value) for value in values if value is not None))
    for place, value in enumerate(values):
        if value is None or value >= median:
            continue
        risen = exact_mean([*values[:place], median, *values[place + 1 :]], settings)
        assert risen is not None  # noqa: S101 - defined whenever the mean is
        with localcontext(EXACT):
            gain = float(weight * (risen - mean))
        gains.append(CellGain(lines[place].name, cell, float(value), float(median), gain))
    return gains
