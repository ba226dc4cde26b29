"""Bootstrap intervals for all values of a bias report."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fairboard.bias.metric_settings import MetricSettings
from fairboard.bias.pair_counting import count_ranks
from fairboard.bias.prepared import FloatArray, IndexArray, PreparedSplit, as_vector, prepare
from fairboard.bias.reports import BiasReport, report
from fairboard.measured import CONFIDENCE
from fairboard.ranks import dense_ranks

if TYPE_CHECKING:
    import pandas as pd


class BootstrapInterval(NamedTuple):
    """A value, or a difference, with the bounds of its 95 % interval; undefined values are None.

    Examples
    --------
    >>> from fairboard import bias_bootstrap
    >>> bias_bootstrap([1, 0], [0.9, 0.1], {"cat": [1, 1]}, samples=50).overall["overall_auc"]
    BootstrapInterval(value=1.0, low=1.0, high=1.0)
    """

    value: float | None
    low: float | None
    high: float | None


class BootstrapReport(NamedTuple):
    """Intervals with the keys of `BiasReport.overall` and `BiasReport.by_group`.

    Examples
    --------
    >>> from fairboard import bias_bootstrap
    >>> list(bias_bootstrap([1, 0], [0.9, 0.1], {"cat": [1, 1]}, samples=50).by_group)
    ['cat']
    """

    overall: dict[str, BootstrapInterval]
    by_group: dict[str, dict[str, BootstrapInterval]]

    def to_frame(self) -> "pd.DataFrame":
        """Return a pandas data frame with a row for each value; `identity` is empty for overall values."""
        import pandas as pd

        named = {("", name): each for name, each in self.overall.items()}
        for group, values in self.by_group.items():
            named |= {(group, name): each for name, each in values.items()}
        index = pd.MultiIndex.from_tuples(named, names=["identity", "term"])
        return pd.DataFrame(list(named.values()), index, dtype=float)


def bias_bootstrap(
    y_true: ArrayLike,
    y_score: ArrayLike,
    subgroups: Mapping[str, ArrayLike],
    *,
    baseline: ArrayLike | None = None,
    cluster: ArrayLike | None = None,
    settings: MetricSettings | None = None,
    samples: int = 1000,
    seed: int = 0,
) -> BootstrapReport:
    """Estimate how much all values of a report depend on the rows, by drawing rows again.

    Parameters
    ----------
    y_true, y_score, subgroups, settings
        As in `bias_report`.
    baseline : array_like, shape (n,), optional
        Predictions of another model. If given, the values are differences: the model minus the baseline.
    cluster : array_like, shape (n,), optional
        A number or text per row, such as its author. Rows with the same value are drawn together; a row
        without a value is a cluster of its own.
    samples : int
        The number of samples.
    seed : int
        The seed of the random numbers.

    Returns
    -------
    BootstrapReport
        Percentile intervals. A sample in which a value is undefined is left out for this value.

    Raises
    ------
    ValueError, TypeError
        As in `bias_report`.

    Examples
    --------
    >>> from fairboard import bias_bootstrap
    >>> cat = {"cat": [1, 1, 1, 1, 0, 0, 0, 0]}
    >>> found = bias_bootstrap([1, 0, 1, 0] * 2, [0.9, 0.3, 0.4, 0.6, 0.8, 0.2, 0.7, 0.1], cat, samples=100)
    >>> found.by_group["cat"]["subgroup_auc"].value
    0.75
    """
    chosen, split = settings or MetricSettings(), prepare(y_true, subgroups, settings=settings)
    files = [dense_ranks(as_vector("y_score", y_score, rows=split.rows, finite=True))]
    if baseline is not None:
        files.append(dense_ranks(as_vector("baseline", baseline, rows=split.rows, finite=True)))
    inside = np.zeros((len(split.members), split.rows), np.bool_)
    for place, members in enumerate(split.members):
        inside[place, members] = True

    def values_of(rows: IndexArray) -> FloatArray:
        members = tuple(map(np.flatnonzero, inside[:, rows]))
        drawn = PreparedSplit(split.labels[rows], split.names, split.in_score, members)
        values = [_flat(report(count_ranks(drawn, each[rows]), chosen)) for each in files]
        return values[0] - values[1] if baseline is not None else values[0]

    rng, draw = np.random.default_rng(seed), _drawing(split.rows, cluster)
    drawn = np.array([values_of(draw(rng)) for _ in range(samples)])
    intervals = map(_interval, values_of(np.arange(split.rows)), drawn.T)
    names = report(count_ranks(split, files[0]), chosen)
    overall = {name: next(intervals) for name in names.overall}
    by_group = {
        name: {str(cell): next(intervals) for cell in cells} for name, cells in names.by_group.items()
    }
    return BootstrapReport(overall, by_group)


def _drawing(rows: int, cluster: ArrayLike | None) -> Callable[[np.random.Generator], IndexArray]:
    """Return a function that draws rows, or clusters of rows, with replacement."""
    if cluster is None:
        return lambda rng: rng.integers(0, rows, rows)
    codes = _cluster_numbers(np.asarray(cluster, object).tolist(), rows)
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    return lambda rng: np.concatenate([members[each] for each in rng.integers(0, len(members), len(members))])


def _cluster_numbers(clusters: list[object], rows: int) -> IndexArray:
    """Return the number of each row's cluster; a row without a value is a cluster of its own."""
    if len(clusters) != rows:
        raise ValueError(f"`cluster` must have {rows} values, not {len(clusters)}.")
    numbers = dict[object, int]()
    keys = (object() if each in (None, "") or each != each else each for each in clusters)
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def _flat(found: BiasReport) -> FloatArray:
    """Return all values; NaN if undefined."""
    cells = (each for line in found.by_group.values() for each in line.values())
    return np.array([*found.overall.values(), *cells], np.float64)


def _interval(value: float, drawn: FloatArray) -> BootstrapInterval:
    defined = drawn[~np.isnan(drawn)]
    if np.isnan(value) or not defined.size:
        return BootstrapInterval(None if np.isnan(value) else float(value), None, None)
    tail = (1 - CONFIDENCE) / 2
    return BootstrapInterval(float(value), *np.quantile(defined, (tail, 1 - tail)).tolist())
