"""How the predictions are distributed: Figure 1 and Table 7 of Borkan et al. (2019)."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grader.metrics.analysis.rows import Rows
from grader.metrics.prepared import BoolArray, FloatArray, IndexArray, as_vector, refuse_where

BINS = 50


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
    return _distribution(bounds, _bins(values, bounds), values)


def even_edges(predictions: FloatArray, bins: int = BINS) -> tuple[float, ...]:
    """Return the edges of bins of one width: from 0 to 1 where that holds all, else what is needed."""
    lowest, highest = (float(predictions.min()), float(predictions.max())) if predictions.size else (0.0, 1.0)
    if lowest >= 0 and highest <= 1:
        lowest, highest = 0.0, 1.0
    elif lowest == highest:
        lowest, highest = lowest - 0.5, highest + 0.5
    return tuple(np.linspace(lowest, highest, bins + 1).tolist())


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
    places = _bins(rows.predictions, edges)

    def of(which: BoolArray) -> Distribution:
        return _distribution(edges, places[which], rows.predictions[which])

    for name in rows.names:
        subgroup, background = rows.members[name], rows.background_of(name)
        yield ScoreDistributions(
            name=name,
            background_negative=of(background & ~rows.positive),
            background_positive=of(background & rows.positive),
            subgroup_negative=of(subgroup & ~rows.positive),
            subgroup_positive=of(subgroup & rows.positive),
        )


def _bins(predictions: FloatArray, edges: Sequence[float]) -> IndexArray:
    """Return the bin of each prediction."""
    bins: IndexArray = np.searchsorted(edges, predictions, side="right") - 1
    return np.minimum(bins, len(edges) - 2)


def _distribution(edges: tuple[float, ...], bins: IndexArray, predictions: FloatArray) -> Distribution:
    return Distribution(
        edges=edges,
        counts=tuple(np.bincount(bins, minlength=len(edges) - 1).tolist()),
        mean=float(predictions.mean()) if predictions.size else None,
        deviation=float(predictions.std()) if predictions.size else None,
    )
