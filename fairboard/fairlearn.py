"""Bias AUCs of overlapping groups, in an object that resembles fairlearn's `MetricFrame`."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from grader.metrics import MetricSettings, bias_report
from grader.metrics.bias.inputs import columns_of, complete_column, is_table
from grader.metrics.bias.prepared import as_array, as_column
from grader.metrics.bias.subgroups import CELLS, GAPS
from grader.text import listed

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
        Each value of one feature is a group. In a mapping, matrix or frame, each column of booleans or
        numbers is a group of the rows with at least `settings.identity_threshold`. Other columns have a
        group per value.
    control_features : array_like or Series, optional
        One feature. All results are computed separately on the rows of each of its values.

    Attributes
    ----------
    report : BiasReport, or dict of BiasReport by control value
        The underlying report, with sizes and the reasons for undefined values.
    by_group, overall : float, Series or DataFrame
        The metrics of each group (NaN if undefined), and the same comparisons with all rows in both the
        subgroup and the background: `overall_auc` for all AUCs, and 0 for AEGs.

    Raises
    ------
    ValueError
        If a metric is unknown, columns have different lengths, or a numeric column has values outside [0, 1].

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
        control_features: Any = None,
        settings: MetricSettings | None = None,
    ) -> None:
        names = [metrics] if isinstance(metrics, str) else list(metrics)
        if not set(names) <= set(CELLS):
            raise ValueError(f"`metrics` must be of {', '.join(CELLS)}, not {metrics!r}.")
        groups, self._shown = _groups(sensitive_features), metrics if isinstance(metrics, str) else names
        levels: dict[Any, Any] = {None: None}
        if control_features is not None:
            controls = complete_column("control_features", control_features, len(groups))
            levels = dict(pd.get_dummies(pd.Series(controls)))
        reports, self._parts = {}, {}
        for level, rows in levels.items():
            # A row of weight 0 is treated as absent, and equal weights do not change any result.
            report = bias_report(y_true, y_pred, groups, settings=settings, sample_weight=rows)
            overall = [0.0 if name in GAPS else report.overall_auc for name in names]
            table = report.to_frame()[names].set_axis(groups.columns)
            reports[level], self._parts[level] = report, (table, pd.Series(overall, names, dtype=float))
        self.report = reports.get(None, reports)
        self.by_group = self._each(lambda table, _: table)
        # The AUCs share one overall value. An AEG of all rows is 0.
        names = [name if name in GAPS else "overall_auc" for name in names]
        whole = {level: overall.set_axis(names) for level, (_, overall) in self._parts.items()}
        whole = {level: each[~each.index.duplicated()] for level, each in whole.items()}
        shown = names[0] if isinstance(metrics, str) else list(dict.fromkeys(names))
        self.overall = (whole[None] if None in whole else pd.DataFrame(whole).T)[shown]

    def group_min(self) -> Any:
        """Return the smallest defined value of each metric."""
        return self._each(lambda table, _: table.min())

    def group_max(self) -> Any:
        """Return the largest defined value of each metric."""
        return self._each(lambda table, _: table.max())

    def difference(self, method: Literal["between_groups", "to_overall"] = "between_groups") -> Any:
        """Return the largest absolute difference between two groups, or between a group and `overall`."""
        return self._each(lambda table, other: (table - other).abs().max(), method, "min")

    def ratio(self, method: Literal["between_groups", "to_overall"] = "between_groups") -> Any:
        """Return the smallest ratio of two groups, or of a group and `overall`; NaN for AEGs."""
        return self._each(_smallest_ratio, method, "max")

    def _each(
        self, function: Callable[[Any, Any], Any], method: str = "to_overall", extreme: str = ""
    ) -> Any:
        """Return a function of the table and the overall or extreme values, for each control value."""
        if method not in ("between_groups", "to_overall"):
            raise ValueError(f"`method` must be 'between_groups' or 'to_overall', not {method!r}.")
        values = {
            level: function(table, overall if method == "to_overall" else getattr(table, extreme)())
            for level, (table, overall) in self._parts.items()
        }
        if None in values:
            return values[None][self._shown]
        has_groups = any(isinstance(each, pd.DataFrame) for each in values.values())
        return (pd.concat(values) if has_groups else pd.DataFrame(values).T)[self._shown]


def _smallest_ratio(table: Any, other: Any) -> Any:
    ratios = table / other
    smallest = ratios.where(ratios <= 1, 1 / ratios).min()
    return smallest.where(~smallest.index.isin(GAPS))


def _groups(features: Any) -> Any:
    """Return a data frame with a column for each group."""
    if is_table(features):
        columns = columns_of("sensitive_features", features)
    elif (array := as_array("sensitive_features", features)).ndim == 2:
        columns = {str(place): column for place, column in enumerate(array.T)}
    else:
        groups = pd.get_dummies(_series("sensitive_features", features))
        return groups.rename_axis(columns=getattr(features, "name", None))
    series = {name: _series(f"sensitive_features[{name!r}]", columns[name]) for name in list(columns.keys())}
    if len(sizes := sorted({str(each.size) for each in series.values()})) > 1:
        raise ValueError(f"The columns of `sensitive_features` have different lengths: {listed(sizes)}.")
    groups = pd.get_dummies(pd.DataFrame(series).convert_dtypes())
    if wrong := groups.columns[((groups < 0) | (groups > 1)).any()].tolist():
        message = f"`sensitive_features` has values outside [0, 1] in {', '.join(map(str, wrong))}."
        raise ValueError(f"{message} Convert numbers to text if they are categories.")
    return groups


def _series(argument: str, values: Any) -> Any:
    """Return a column as a Series that keeps the categories of pandas."""
    if isinstance(values, (pd.Series, pd.api.extensions.ExtensionArray)):
        return pd.Series(values).reset_index(drop=True)
    return pd.Series(as_column(argument, values))
