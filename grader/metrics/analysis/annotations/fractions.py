"""Raters' fractions: their distribution, and the effect of another label threshold."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from grader.metrics.prepared import FloatArray, refuse_where

TENTHS = tuple(tenth / 10 for tenth in range(11))


@dataclass(frozen=True, slots=True)
class ThresholdCount:
    """How many rows of a column count as true from a threshold on.

    Attributes
    ----------
    threshold : float
    rows : int
        With a value of at least the threshold.
    share : float or None
        Of the rows that are not blank; None without such rows.
    """

    threshold: float
    rows: int
    share: float | None


@dataclass(frozen=True, slots=True)
class FractionCounts:
    """The values of one column.

    Attributes
    ----------
    name : str
    rows, blanks : int
        Rows with a value, and without one.
    tenths : tuple of int
        How many values are 0, 0.1, … 1 when rounded to tenths: the bars of Figure 5.
    sweep : tuple of ThresholdCount
        In the order of the thresholds.
    """

    name: str
    rows: int
    blanks: int
    tenths: tuple[int, ...]
    sweep: tuple[ThresholdCount, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return asdict(self)


def count_fractions(
    name: str, values: FloatArray, thresholds: Sequence[float] = TENTHS[1:]
) -> FractionCounts:
    """Count the values of a column by tenths and from thresholds on.

    Parameters
    ----------
    name : str
    values : ndarray of float64, shape (n,)
        In [0, 1]; NaN is a blank.
    thresholds : sequence of float
        Those to sweep over.

    Returns
    -------
    FractionCounts

    Raises
    ------
    ValueError
        If a value is outside [0, 1].

    Notes
    -----
    Hann, Kalil and Payne, Figure 5. A value halfway between two tenths goes to the even one, as NumPy
    rounds. The thresholds are compared with the values themselves, not with the tenths.

    Examples
    --------
    >>> counts = count_fractions("toxic", np.array([0, 0, 0.04, 0.1, 0.5, 1, np.nan]), [0.1, 0.5])
    >>> counts.tenths
    (3, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1)
    >>> [(each.threshold, each.rows, each.share) for each in counts.sweep]
    [(0.1, 3, 0.5), (0.5, 2, 0.3333333333333333)]
    """
    given = values[~np.isnan(values)]
    refuse_where((given < 0) | (given > 1), name, "between 0 and 1")
    tenths = np.bincount(np.rint(given * 10).astype(np.int64), minlength=11)
    sweep = []
    for threshold in thresholds:
        rows = int(np.count_nonzero(given >= threshold))
        sweep.append(ThresholdCount(float(threshold), rows, rows / given.size if given.size else None))
    return FractionCounts(name, given.size, values.size - given.size, tuple(tenths.tolist()), tuple(sweep))
