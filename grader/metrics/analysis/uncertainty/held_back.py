"""Where to gain most: the identities and AUCs that hold a score back, and what it would gain."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal, localcontext
from typing import Any

from grader.metrics.analysis.uncertainty import exponent
from grader.metrics.analysis.uncertainty.exponent import IdentityAucs
from grader.metrics.bias import EXACT
from grader.metrics.metric_settings import MetricSettings
from grader.metrics.subgroups import BIAS_AUCS, BiasAuc


@dataclass(frozen=True, slots=True)
class CellGain:
    """What the score would gain if one AUC rose to the median of its column.

    Attributes
    ----------
    name : str
        The identity.
    cell : str
        Which of its three AUCs.
    value, median : float
        The AUC, below the median of that AUC over the identities.
    gain : float
        Of the score; 0 where the term has no weight, or another identity holds its power mean at 0.
    """

    name: str
    cell: BiasAuc
    value: float
    median: float
    gain: float


@dataclass(frozen=True, slots=True)
class HeldBack:
    """What holds a score back, the largest gain first.

    Attributes
    ----------
    cells : tuple of CellGain
        Every AUC below the median of its column.
    identities : tuple of (str, float)
        What the score would gain if all of an identity's AUCs below their medians rose to them.
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
    """Rank the AUCs and identities by what the score would gain if they rose to the median.

    Parameters
    ----------
    lines : sequence of IdentityAucs
        The identities that enter the score. Rounded AUCs will do: a team sees no others.
    settings : MetricSettings
        Power, weights, and what an undefined AUC does.

    Returns
    -------
    HeldBack
        Empty where all identities are equal. A column whose power mean is undefined has no gains.

    Notes
    -----
    The overall AUC is taken to stay what it is, and so are the other AUCs, though a model that is
    changed changes all of them.
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
class TermCost:
    """A term of the score, and the AUCs that hold it back.

    Attributes
    ----------
    term : str
    value : float
    cost : float
        What the score would gain if the term were 1: its weight times its distance from 1.
    cells : tuple of CellGain
        Its AUCs below their median, the largest gain first.
    """

    term: str
    value: float
    cost: float
    cells: tuple[CellGain, ...]


def diagnose(
    terms: Mapping[str, float], lines: Sequence[IdentityAucs], settings: MetricSettings
) -> tuple[TermCost, ...]:
    """Rank the terms by what they cost the score, and within each its AUCs by what they hold back.

    Parameters
    ----------
    terms : mapping of str to float
        The terms that the reader sees, rounded or not.
    lines : sequence of IdentityAucs
        The identities, empty where the reader sees no table.
    settings : MetricSettings
    """
    weights = settings.weights.as_dict()
    cells = held_back(lines, settings).cells if terms and lines else ()
    costs = (
        TermCost(
            term,
            value,
            weights[term] / sum(weights.values()) * (1 - value),
            tuple(cell for cell in cells if cell.cell == term),
        )
        for term, value in terms.items()
    )
    return tuple(sorted(costs, key=lambda each: -each.cost))


def weakest_term(diagnosis: Sequence[TermCost]) -> str | None:
    """Return the term that costs the score most; None where all cost the same."""
    return diagnosis[0].term if len({each.cost for each in diagnosis}) > 1 else None


def _gains(lines: Sequence[IdentityAucs], cell: BiasAuc, settings: MetricSettings) -> list[CellGain]:
    """Return the gain of each identity below the median of one column."""
    column = exponent.column(lines, cell)
    mean = exponent.exact_mean(column, settings)
    if mean is None:
        return []
    weights = settings.weights.as_dict()
    gains = []
    with localcontext(EXACT):
        weight = Decimal(weights[cell]) / sum(map(Decimal, weights.values()))
        median = Decimal(statistics.median(float(value) for value in column if value is not None))
    for place, value in enumerate(column):
        if value is None or value >= median:
            continue
        risen = exponent.exact_mean([*column[:place], median, *column[place + 1 :]], settings)
        assert risen is not None  # noqa: S101 - as defined as the mean before
        with localcontext(EXACT):
            gain = float(weight * (risen - mean))
        gains.append(CellGain(lines[place].name, cell, float(value), float(median), gain))
    return gains
