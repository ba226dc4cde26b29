"""Where to gain most: the identities and AUCs that hold a score back, and what it would gain."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal, localcontext
from typing import Any

from grader.metrics.analysis.uncertainty import power
from grader.metrics.analysis.uncertainty.power import IdentityAucs
from grader.metrics.means import EXACT
from grader.metrics.settings import MetricSettings
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


def _gains(lines: Sequence[IdentityAucs], cell: BiasAuc, settings: MetricSettings) -> list[CellGain]:
    """Return the gain of each identity below the median of one column."""
    column = power.column(lines, cell)
    mean = power.exact_mean(column, settings)
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
        risen = power.exact_mean([*column[:place], median, *column[place + 1 :]], settings)
        assert risen is not None  # noqa: S101 - as defined as the mean before
        with localcontext(EXACT):
            gain = float(weight * (risen - mean))
        gains.append(CellGain(lines[place].name, cell, float(value), float(median), gain))
    return gains
