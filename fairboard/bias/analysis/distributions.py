"""Histograms of predictions by subgroup and class (Borkan et al., 2019, Figure 1, Table 7)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairboard.bias.analysis.rows import Rows
from fairboard.bias.prepared import BoolArray, FloatArray, IndexArray
from fairboard.bias.subgroups import Flat

BINS = 50
_LARGEST = float(np.finfo(np.float64).max)
_NOTHING = 1e-13
_SMALLEST_WIDTH = 1e-290  # The inverse of a smaller width could overflow.


def mean(values: FloatArray) -> float | None:
    """Return the mean, or None if there are no values.

    The last bit may depend on the order of the values.
    """
    if not values.size:
        return None
    largest = power_of_two_near(values)
    return float((values / largest).mean()) * largest


def deviation(values: FloatArray) -> float | None:
    """Return the sample standard deviation (denominator n - 1); None for n < 2."""
    if values.size < 2:
        return None
    if values.min() == values.max():
        return 0.0
    largest = power_of_two_near(values)
    return float((values / largest).std(ddof=1)) * largest


def power_of_two_near(values: FloatArray) -> float:
    """Return a power of two near the largest absolute value; dividing by it is exact."""
    _, exponent = np.frexp(np.abs(values).max())
    return float(2.0 ** min(max(int(exponent), -1000), 1000))


@dataclass(frozen=True, slots=True)
class Distribution(Flat):
    """The histogram of the predictions for one set of rows.

    Attributes
    ----------
    edges : tuple of float
        The b + 1 ascending edges of b bins. Each bin includes its lower edge; the last bin also includes
        its upper edge.
    counts : tuple of int
        Number of rows in each bin. Each row is in exactly one bin.
    mean, deviation : float or None
        Mean and population standard deviation (denominator n) of the predictions; None if there are no
        rows.
    """

    DERIVED = ("rows",)

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
        """Share of the rows in each bin, for comparing sets of different sizes."""
        rows = self.rows or 1
        return tuple(count / rows for count in self.counts)


@dataclass(frozen=True, slots=True)
class ScoreDistributions:
    """Histograms of an identity's background and subgroup by class, with common bins."""

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


def even_edges(predictions: FloatArray, bins: int = BINS) -> tuple[float, ...]:
    """Return the edges of bins of equal width, from 0 to 1 or over the range of the predictions.

    The range from 0 to 1 is used if it contains all predictions.
    """
    lowest, highest = (float(predictions.min()), float(predictions.max())) if predictions.size else (0.0, 1.0)
    if lowest >= 0 and highest <= 1:
        lowest, highest = 0.0, 1.0
    elif lowest == highest:
        room = max(0.5, abs(lowest) * 2.0**-20)
        lowest, highest = max(lowest - room, -_LARGEST), min(highest + room, _LARGEST)
    half = 1 if math.isfinite(highest - lowest) else 2
    return tuple((half * np.linspace(lowest / half, highest / half, bins + 1)).tolist())


def score_distributions(rows: Rows, name: str, bins: int = BINS) -> ScoreDistributions:
    """Return the distributions for the background and the subgroup by class, with common bins.

    Parameters
    ----------
    rows : Rows
    name : str
        An identity of the rows.
    bins : int
        Number of bins, with the edges of `even_edges` for all rows.

    Returns
    -------
    ScoreDistributions
    """
    return next(all_distributions(rows.only([name]), bins))


def all_distributions(rows: Rows, bins: int = BINS) -> Iterator[ScoreDistributions]:
    """Yield the distributions of each identity, as returned by `score_distributions`."""
    edges = even_edges(rows.predictions, bins)
    measure = _Measure(edges, _even_bins(rows.predictions, edges), rows.predictions)
    for names, considered in rows.considered_together():
        for_class = [measure.of(considered & ~rows.positive), measure.of(considered & rows.positive)]
        for name in names:
            (background_negative, subgroup_negative), (background_positive, subgroup_positive) = (
                of_class.divided(rows.mentions[name]) for of_class in for_class
            )
            yield ScoreDistributions(
                name, background_negative, background_positive, subgroup_negative, subgroup_positive
            )


class _Measure:
    """Binned predictions, scaled so that squares do not overflow."""

    def __init__(self, edges: tuple[float, ...], bins: IndexArray, predictions: FloatArray) -> None:
        self.edges = edges
        self.bins = bins
        self.scale = power_of_two_near(predictions) if predictions.size else 1.0
        self.values = predictions / self.scale

    def of(self, rows: BoolArray) -> "_ClassMeasure":
        """Return the measure of one class of rows."""
        return _ClassMeasure(self, rows)

    def distribution(self, counts: IndexArray, mean: float, deviation: float) -> Distribution:
        """Create a distribution from its counts and from the moments of the scaled values."""
        is_empty = not counts.any()
        return Distribution(
            edges=self.edges,
            counts=tuple(counts.tolist()),
            mean=None if is_empty else mean * self.scale,
            deviation=None if is_empty else deviation * self.scale,
        )

    def directly(self, rows: IndexArray | slice) -> Distribution:
        """Compute the distribution of a subset of rows directly."""
        counts = np.bincount(self.bins[rows], minlength=len(self.edges) - 1)
        values = self.values[rows]
        return self.distribution(counts, *((values.mean(), values.std()) if values.size else (0.0, 0.0)))


class _ClassMeasure:
    """Sums over a class, from which a background is computed by subtracting the subgroup."""

    def __init__(self, measure: _Measure, rows: BoolArray) -> None:
        self._measure = measure
        self._rows = rows
        kept = np.flatnonzero(rows)
        values = measure.values[kept]
        self._counts = np.bincount(measure.bins[kept], minlength=len(measure.edges) - 1)
        self._center = float(values.mean()) if values.size else 0.0
        self._sum, self._size = float(values.sum()), float(np.abs(values).sum())
        self._squares = float(np.square(values - self._center).sum())

    def divided(self, members: IndexArray) -> tuple[Distribution, Distribution]:
        """Return the distributions for the background and for the subgroup within this class."""
        subgroup = members[self._rows[members]]
        values = self._measure.values[subgroup]
        counts = self._counts - np.bincount(self._measure.bins[subgroup], minlength=self._counts.size)
        size = max(int(counts.sum()), 1)
        # A difference between sums that is within their rounding error is treated as 0.
        left = self._sum - float(values.sum())
        mean = left / size if abs(left) > _NOTHING * self._size else 0.0
        centered = values - self._center
        squares = (self._squares - float(np.square(centered).sum())) / size
        # The centered values of the whole class sum to 0.
        offset = float(centered.sum()) / size
        variance = squares - offset * offset
        deviation = math.sqrt(variance) if variance > _NOTHING * (self._squares / size + offset**2) else 0.0
        return self._measure.distribution(counts, mean, deviation), self._measure.directly(subgroup)


def _bins(predictions: FloatArray, edges: Sequence[float]) -> IndexArray:
    """Return the bin number of each prediction."""
    bins: IndexArray = np.searchsorted(edges, predictions, side="right") - 1
    return np.minimum(bins, len(edges) - 2)


def _even_bins(predictions: FloatArray, edges: Sequence[float]) -> IndexArray:
    """Return the bin number of each prediction for bins of equal width.

    A division finds the bin; a correction by one bin compensates for rounding.
    """
    most, bounds = len(edges) - 2, np.array(edges)
    width = edges[-1] / 2 - edges[0] / 2
    if width < _SMALLEST_WIDTH or not (bounds[1:] > bounds[:-1]).all():
        return _bins(predictions, edges)
    bins_of_unit = (most + 1) / width
    bins = ((predictions / 2 - edges[0] / 2) * bins_of_unit).astype(np.int64)
    np.clip(bins, 0, most, out=bins)
    bins -= predictions < bounds[bins]
    bins += (predictions >= bounds[bins + 1]) & (bins < most)
    return bins
