"""Bias AUCs of overlapping groups, in an object that resembles fairlearn's `MetricFrame`."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from fairboard._values import columns_of
from grader.metrics import MetricSettings, bias_report
from grader.metrics.subgroups import CELLS, GAPS

try:
    import pandas as pd
except ImportError as error:
    raise ImportError("fairboard.fairlearn requires pandas: pip install pandas") from error


class BiasFrame:
    """The bias AUCs and AEGs of groups, including the background rows that `MetricFrame` omits.

    Parameters
    ----------
    metrics : str or sequence of str
        The bias AUCs and AEGs. With a single string, results are Series and scalars, as in `MetricFrame`.
    y_true, y_pred, settings : array_like, shape (n,), and MetricSettings, optional
        Labels, predictions and settings as in `bias_report`.
    sensitive_features : array_like, Series, mapping of str to array_like, or data frame
        Each value of one feature is a group. In a mapping or frame, each column of booleans or numbers is a
        group of the rows with at least `settings.identity_threshold`. Other columns have a group per value.

    Attributes
    ----------
    report : BiasReport
        The underlying report, with sizes and the reasons for undefined values.
    by_group, overall : float, Series or DataFrame
        The metrics of each group (NaN if undefined), and the same comparisons with all rows in both the
        subgroup and the background: the overall AUC, and 0 for AEGs.

    Raises
    ------
    ValueError
        If a metric is unknown, or a numeric column has values outside [0, 1].

    Examples
    --------
    >>> rows = {"y_true": [1, 0, 1, 0], "y_pred": [0.4, 0.3, 0.9, 0.6]}
    >>> groups = {"cat": [1, 1, 0, 0], "dog": [1, 1, 1, 1]}
    >>> BiasFrame(metrics="bpsn_auc", **rows, sensitive_features=groups).by_group.to_dict()
    {'cat': 1.0, 'dog': nan}
    """

    def __init__(
        self,
        *,
        metrics: str | Sequence[str] = CELLS,
        y_true: Any,
        y_pred: Any,
        sensitive_features: Any,
        settings: MetricSettings | None = None,
    ) -> None:
        names = [metrics] if isinstance(metrics, str) else list(metrics)
        if not set(names) <= set(CELLS):
            raise ValueError(f"`metrics` must be of {', '.join(CELLS)}, not {metrics!r}.")
        groups = _groups(sensitive_features)
        self.report = bias_report(y_true, y_pred, groups, settings=settings)
        self._table = self.report.to_frame()[names].set_axis(groups.columns)
        overall = [0.0 if name in GAPS else self.report.overall_auc for name in names]
        self._overall = pd.Series(overall, index=names, dtype=float)
        self._shown = metrics if isinstance(metrics, str) else names
        self.by_group, self.overall = self._table[self._shown], self._overall[self._shown]

    def group_min(self) -> Any:
        """Return the smallest defined value of each metric."""
        return self._table.min()[self._shown]

    def group_max(self) -> Any:
        """Return the largest defined value of each metric."""
        return self._table.max()[self._shown]

    def difference(self, method: Literal["between_groups", "to_overall"] = "between_groups") -> Any:
        """Return the largest absolute difference between two groups, or between a group and `overall`."""
        return (self._table - self._reference(method, self._table.min())).abs().max()[self._shown]

    def ratio(self, method: Literal["between_groups", "to_overall"] = "between_groups") -> Any:
        """Return the smallest ratio of two groups, or of a group and `overall`; NaN for AEGs."""
        ratios = self._table / self._reference(method, self._table.max())
        smallest = ratios.where(ratios <= 1, 1 / ratios).min()
        return smallest.where(~smallest.index.str.endswith("_aeg"))[self._shown]

    def _reference(self, method: str, extreme: Any) -> Any:
        if method not in ("between_groups", "to_overall"):
            raise ValueError(f"`method` must be 'between_groups' or 'to_overall', not {method!r}.")
        return extreme if method == "between_groups" else self._overall


def _groups(features: Any) -> Any:
    """Return a data frame with a column for each group."""
    if not (isinstance(features, Mapping) or hasattr(features, "columns")):
        return pd.get_dummies(pd.Series(features)).rename_axis(columns=getattr(features, "name", None))
    columns = {name: pd.Series(rows).reset_index(drop=True) for name, rows in columns_of(features).items()}
    groups = pd.get_dummies(pd.DataFrame(columns))
    if wrong := [name for name in groups if not groups[name].dropna().between(0, 1).all()]:
        raise ValueError(f"`sensitive_features` has values outside [0, 1] in {', '.join(map(str, wrong))}.")
    return groups
