"""Losses: the distance of a score from the best possible one, by term and group."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from fairboard.bias.score import power_mean
from fairboard.interface import TermSpec

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Loss:
    """A part of the distance between the best possible score and a score, in units of the displayed score.

    `group` is empty if the term has no groups. `amount` is the same part as a number.
    """

    term: str
    group: str
    units: int
    amount: float


@dataclass(frozen=True, slots=True)
class CostedTerm:
    """The value of a term, and its cost: how much higher the score would be if the term were 1."""

    term: str
    value: float
    cost: float


def term_costs(terms: Mapping[str, float], specs: Sequence[TermSpec]) -> tuple[CostedTerm, ...]:
    """Return the terms that have a weight by cost, the costliest first.

    `terms` contains the values that are visible to the reader.
    """
    weights = {each.name: each.weight for each in specs if each.weight is not None}
    total = sum(weights.values())
    costs = (
        CostedTerm(term, value, weights[term] / total * (1 - value))
        for term, value in terms.items()
        if term in weights
    )
    return tuple(sorted(costs, key=lambda each: -each.cost))


def mean_losses(values: Mapping[Key, float], power: float, best: float, amount: float) -> dict[Key, float]:
    """Divide the loss of a power mean among its groups.

    Parameters
    ----------
    values : mapping of Key to float
        The non-negative values of the groups.
    power : float
        The exponent of the mean.
    best : float
        The best possible value.
    amount : float
        The loss of the mean.

    Returns
    -------
    dict of Key to float
        For each group, the improvement of the mean if only this group had the best value, scaled so that the
        sum is `amount`; a worse group never has a smaller loss than a better one. If no group alone improves
        the mean, the distances from the best value are scaled. Empty if all groups have the best value.
    """
    if not values:
        return {}
    numbers, gains = list(values.values()), dict[Key, float]()
    before = _mean(numbers, power)
    for place, key in enumerate(values):
        improved = [*numbers[:place], best, *numbers[place + 1 :]]
        gains[key] = abs(_mean(improved, power) - before)
    distances = {key: abs(best - value) for key, value in values.items()}
    return _scaled(gains, amount) or _scaled(distances, amount)


def _mean(values: list[float], power: float) -> float:
    """Return the power mean with the precision of float64, which takes less time."""
    pivot = (max if power > 0 else min)(values)
    if abs(power) < 1e-6 or not pivot or math.isinf(power):
        return power_mean(values, power)
    # All ratios to the pivot have powers in [0, 1].
    return float(pivot * (math.fsum((each / pivot) ** power for each in values) / len(values)) ** (1 / power))


def _scaled(parts: Mapping[Key, float], amount: float) -> dict[Key, float]:
    """Return parts with the sum `amount`; empty if all are 0."""
    total = sum(parts.values())
    return {key: part / total * amount for key, part in parts.items()} if total else {}


def in_units(
    parts: Mapping[tuple[str, str], float], total: int, to_amount: Callable[[int], float]
) -> list[Loss]:
    """Return losses in units that sum exactly to `total`, the largest first, then by term and group.

    `parts` are the losses by term and group. Each is scaled and rounded down; the remaining units go to the
    parts with the largest remainders.
    """
    exact = {key: Fraction(part) for key, part in sorted(parts.items())}
    whole = sum(exact.values())
    if total <= 0 or not whole:
        return []
    exact = {key: part / whole * total for key, part in exact.items()}
    units = {key: int(part) for key, part in exact.items()}
    by_remainder = sorted(exact, key=lambda key: (units[key] - exact[key], -exact[key], key))
    for key in by_remainder[: total - sum(units.values())]:
        units[key] += 1
    order = sorted(exact, key=lambda key: (-units[key], -exact[key], key))
    return [Loss(*key, units[key], to_amount(units[key])) for key in order if units[key]]
