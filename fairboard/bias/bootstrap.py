"""Bootstrap intervals for all values of a bias report."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fairboard.bias.metric_settings import MetricSettings
from fairboard.bias.pair_counting import count_ranks
from fairboard.bias.prepared import IndexArray, PreparedSplit, as_objects, as_vector, prepare
from fairboard.bias.reports import report
from fairboard.bias.subgroups import CELLS
from fairboard.measured import CONFIDENCE
from fairboard.ranks import RankArray, dense_ranks

if TYPE_CHECKING:
    import pandas as pd

TAIL = (1 - CONFIDENCE) / 2


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
) -> "pd.DataFrame":
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
    DataFrame
        The `value` and the bounds `low` and `high` of its 95 % percentile interval, by identity and term. The
        identity of the score and of its four terms is empty. A sample in which a value is undefined is left
        out for this value.

    Raises
    ------
    ValueError, TypeError
        As in `bias_report`.

    Examples
    --------
    >>> from fairboard import bias_bootstrap
    >>> cat = {"cat": [1, 1, 1, 1, 0, 0, 0, 0]}
    >>> table = bias_bootstrap([1, 0, 1, 0] * 2, [0.9, 0.3, 0.4, 0.6, 0.8, 0.2, 0.7, 0.1], cat, samples=100)
    >>> float(table.loc[("cat", "subgroup_auc"), "value"])
    0.75
    """
    import pandas as pd

    if samples < 1:
        raise ValueError(f"`samples` must be at least 1, not {samples}.")
    chosen, split = settings or MetricSettings(), prepare(y_true, subgroups, settings=settings)
    files = [dense_ranks(as_vector("y_score", y_score, rows=split.rows, finite=True))]
    if baseline is not None:
        files.append(dense_ranks(as_vector("baseline", baseline, rows=split.rows, finite=True)))
    inside = np.zeros((len(split.members), split.rows), np.bool_)
    for place, members in enumerate(split.members):
        inside[place, members] = True

    def values_of(rows: IndexArray) -> dict[tuple[str, str], float]:
        members = tuple(map(np.flatnonzero, inside[:, rows]))
        drawn = PreparedSplit(split.labels[rows], split.names, split.in_score, members)
        values, *others = (_values(drawn, each[rows], chosen) for each in files)
        return {key: value - others[0][key] for key, value in values.items()} if others else values

    rng, draw = np.random.default_rng(seed), _drawing(split.rows, cluster)
    value = pd.Series(values_of(np.arange(split.rows)), name="value").rename_axis(["identity", "term"])
    bounds = pd.DataFrame([values_of(draw(rng)) for _ in range(samples)]).quantile([TAIL, 1 - TAIL])
    frame = bounds.set_axis(["low", "high"]).T.set_axis(value.index).where(value.notna(), axis=0)
    frame.insert(0, "value", value)
    return frame


def _values(split: PreparedSplit, ranks: RankArray, settings: MetricSettings) -> dict[tuple[str, str], float]:
    """Return all values of a report; NaN if undefined."""
    whole = report(count_ranks(split, ranks), settings)
    values = {("", name): each for name, each in {"score": whole.score, **whole.terms}.items()}
    values |= {(line.name, cell): getattr(line, cell) for line in whole.subgroups for cell in CELLS}
    return {key: np.nan if each is None else each for key, each in values.items()}


def _drawing(rows: int, cluster: ArrayLike | None) -> Callable[[np.random.Generator], IndexArray]:
    """Return a function that draws rows, or clusters of rows, with replacement."""
    if cluster is None:
        return lambda rng: rng.integers(0, rows, rows)
    clusters = as_objects(cluster)
    if len(clusters) != rows:
        raise ValueError(f"`cluster` must have {rows} values, not {len(clusters)}.")
    numbers = dict[object, int]()
    keys = (object() if each in (None, "") else each for each in clusters)
    codes = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    return lambda rng: np.concatenate([members[each] for each in rng.integers(0, len(members), len(members))])
