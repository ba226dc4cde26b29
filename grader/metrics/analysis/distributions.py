"""How the predictions are distributed: Figure 1 and Table 7 of Borkan et al. (2019)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grader.metrics.analysis.moments import power_of_two_near
from grader.metrics.analysis.rows import Rows
from grader.metrics.prepared import FloatArray, IndexArray, as_vector, refuse_where

BINS = 50
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True)
class Distribution:
    """The predictions of one set of rows.

    Attributes
    ----------
    edges : tuple of float
        Of b bins, b + 1 ascending numbers. A bin holds its lower edge, and the last one both.
    counts : tuple of int
        Rows in each bin; each row is in one.
    mean, deviation : float or None
        Of the predictions themselves, the deviation that of the whole set; None without rows.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    mean: float | None
    deviation: float | None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(self.counts)

    @property
    def shares(self) -> tuple[float, ...]:
        """Share of the rows in each bin, so that sets of different sizes can be compared."""
        return tuple(count / self.rows for count in self.counts) if self.rows else (0.0,) * len(self.counts)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return asdict(self) | {"rows": self.rows}


@dataclass(frozen=True, slots=True)
class ScoreDistributions:
    """Background and subgroup of one identity by class, in the same bins."""

    name: str
    background_negative: Distribution
    background_positive: Distribution
    subgroup_negative: Distribution
    subgroup_positive: Distribution

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {
            "identity": self.name,
            "background_negative": self.background_negative.as_dict(),
            "background_positive": self.background_positive.as_dict(),
            "subgroup_negative": self.subgroup_negative.as_dict(),
            "subgroup_positive": self.subgroup_positive.as_dict(),
        }


def distribution(predictions: ArrayLike, edges: Sequence[float] | None = None) -> Distribution:
    """Sort predictions into bins.

    Parameters
    ----------
    predictions : array_like, shape (n,)
        Finite numbers.
    edges : sequence of float, optional
        The edges of the bins, ascending, that hold all predictions; by default `even_edges`.

    Returns
    -------
    Distribution

    Raises
    ------
    ValueError
        If a prediction is not finite, or lies outside the edges.
    """
    values = as_vector("predictions", predictions)
    refuse_where(~np.isfinite(values), "predictions", "finite")
    bounds = even_edges(values) if edges is None else tuple(map(float, edges))
    refuse_where((values < bounds[0]) | (values > bounds[-1]), "predictions", "within the edges")
    measure = _Measure(bounds, _bins(values, bounds), values)
    return measure.distribution(measure.of(np.arange(values.size)))


def even_edges(predictions: FloatArray, bins: int = BINS) -> tuple[float, ...]:
    """Return the edges of bins of one width: from 0 to 1 where that holds all, else what is needed."""
    lowest, highest = (float(predictions.min()), float(predictions.max())) if predictions.size else (0.0, 1.0)
    if lowest >= 0 and highest <= 1:
        lowest, highest = 0.0, 1.0
    elif lowest == highest:
        room = max(0.5, abs(lowest) * 2.0**-20)
        lowest, highest = max(lowest - room, -_LARGEST), min(highest + room, _LARGEST)
    # Halved, for the range of two finite numbers may not be one.
    return tuple((2 * np.linspace(lowest / 2, highest / 2, bins + 1)).tolist())


def score_distributions(rows: Rows, name: str, bins: int = BINS) -> ScoreDistributions:
    """Return the distributions of background and subgroup by class, in the same bins.

    Parameters
    ----------
    rows : Rows
    name : str
        An identity of the rows.
    bins : int
        From the lowest to the highest prediction of all rows, or from 0 to 1 (`even_edges`).

    Returns
    -------
    ScoreDistributions
    """
    return next(all_distributions(rows.only([name]), bins))


def all_distributions(rows: Rows, bins: int = BINS) -> Iterator[ScoreDistributions]:
    """Yield the distributions of each identity, as `score_distributions` returns them for one."""
    edges = even_edges(rows.predictions, bins)
    measure = _Measure(edges, _even_bins(rows.predictions, edges), rows.predictions)
    members = {name: np.flatnonzero(mentions) for name, mentions in rows.members.items()}
    for names, considered in rows.considered_together():
        classes = considered & ~rows.positive, considered & rows.positive
        everybody = [measure.of(np.flatnonzero(of_class)) for of_class in classes]
        for name in names:
            subgroup = [measure.of(members[name][of_class[members[name]]]) for of_class in classes]
            negative, positive = (all_of - inside for all_of, inside in zip(everybody, subgroup, strict=True))
            yield ScoreDistributions(
                name=name,
                background_negative=measure.distribution(negative),
                background_positive=measure.distribution(positive),
                subgroup_negative=measure.distribution(subgroup[0]),
                subgroup_positive=measure.distribution(subgroup[1]),
            )


@dataclass(frozen=True, eq=False, slots=True)
class _Sums:
    """What is added up of some rows: how many are in each bin, and their centered values and the squares."""

    counts: IndexArray
    values: float
    squares: float

    def __sub__(self, other: "_Sums") -> "_Sums":
        return _Sums(self.counts - other.counts, self.values - other.values, self.squares - other.squares)


class _Measure:
    """Adds up rows, so that a background is all rows less the subgroup and need not be looked at."""

    def __init__(self, edges: tuple[float, ...], bins: IndexArray, predictions: FloatArray) -> None:
        self._edges = edges
        self._bins = bins
        self._scale = power_of_two_near(predictions) if predictions.size else 1.0
        scaled = predictions / self._scale
        self._center = float(scaled.mean()) if scaled.size else 0.0
        self._centered = scaled - self._center

    def of(self, rows: IndexArray) -> _Sums:
        values = self._centered[rows]
        counts = np.bincount(self._bins[rows], minlength=len(self._edges) - 1)
        return _Sums(counts, float(values.sum()), float(np.square(values).sum()))

    def distribution(self, sums: _Sums) -> Distribution:
        size = int(sums.counts.sum())
        mean = sums.values / size if size else 0.0
        deviation = math.sqrt(max(sums.squares / size - mean * mean, 0.0)) if size else 0.0
        return Distribution(
            edges=self._edges,
            counts=tuple(sums.counts.tolist()),
            mean=(self._center + mean) * self._scale if size else None,
            deviation=deviation * self._scale if size else None,
        )


def _bins(predictions: FloatArray, edges: Sequence[float]) -> IndexArray:
    """Return the bin of each prediction."""
    bins: IndexArray = np.searchsorted(edges, predictions, side="right") - 1
    return np.minimum(bins, len(edges) - 2)


def _even_bins(predictions: FloatArray, edges: Sequence[float]) -> IndexArray:
    """Return the same where all bins have one width: by a division, and one step where rounding misled it."""
    most, bounds = len(edges) - 2, np.array(edges)
    if not (bounds[1:] > bounds[:-1]).all():
        return _bins(predictions, edges)
    bins_of_unit = (most + 1) / (edges[-1] / 2 - edges[0] / 2)
    bins = ((predictions / 2 - edges[0] / 2) * bins_of_unit).astype(np.int64)
    np.clip(bins, 0, most, out=bins)
    bins -= predictions < bounds[bins]
    bins += (predictions >= bounds[bins + 1]) & (bins < most)
    return bins
