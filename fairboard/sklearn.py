"""Scorers for scikit-learn, with subgroups as metadata or as columns of X."""

import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from grader.metrics import MetricSettings, bias_report
from grader.metrics.bias.report_tables import flat
from grader.metrics.bias.subgroups import CELLS, MEANS

try:
    from sklearn.exceptions import UndefinedMetricWarning
    from sklearn.metrics import make_scorer
    from sklearn.metrics._scorer import _Scorer
except ImportError as error:
    raise ImportError("fairboard.sklearn requires scikit-learn: pip install scikit-learn") from error


def bias_scorer(
    value: str = "score",
    *,
    columns: Sequence[str] | str | None = None,
    response_method: str | Sequence[str] = ("decision_function", "predict_proba"),
    positive: Any = None,
    settings: MetricSettings | None = None,
) -> Callable[..., float]:
    """Create a scorer for `cross_validate`, `GridSearchCV` and other tools with a `scoring` argument.

    Parameters
    ----------
    value : str
        ``"score"``, ``"overall_auc"``, a power mean such as ``"mean_bpsn_auc"``, or a cell such as
        ``"bpsn_auc/cat"``. Because greater scores are better in scikit-learn, AEGs are scored as
        ``-abs(aeg)``.
    columns : sequence of str, or str, optional
        The columns of the data frame X that contain the identities; a single name selects a column of
        categories. By default, the scorer requests the metadata `subgroups`: a data frame or array with one
        row per row of X, as in `bias_report`. Metadata routing must be enabled.
    response_method : str or sequence of str
        The method of the estimator that returns predictions, or several in order of preference.
    positive, settings : object, MetricSettings, optional
        The positive label and the settings, as in `bias_report`.

    Returns
    -------
    callable
        A picklable scorer. Like `roc_auc_score`, it returns NaN with an `UndefinedMetricWarning` if the
        value is undefined on a fold.

    Raises
    ------
    ValueError
        If `value` is unknown or, when the scorer is called, `subgroups` or X lack a column.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_validate
    >>> X = pd.DataFrame({"word": np.tile([0.0, 1, 2, 3], 10), "cat": np.tile([0.0, 1], 20)})
    >>> scorer = bias_scorer("bpsn_auc/cat", columns=["cat"])
    >>> cross_validate(LogisticRegression(), X, X["word"] > 1, scoring=scorer, cv=2)["test_score"].tolist()
    [1.0, 1.0]
    """
    cell, slash, _ = value.partition("/")
    if cell not in (CELLS if slash else ("score", "overall_auc", *MEANS.values())):
        cells = f"{', '.join(CELLS)} with the name of an identity, such as bpsn_auc/cat"
        known = ", ".join(("score", "overall_auc", *MEANS.values()))
        raise ValueError(f"`value` must be {known}, or one of {cells}; not {value!r}.")
    options = {"value": value, "pos_label": positive, "settings": settings}
    if columns is None:
        return _RoutedScorer(_score, 1, options, response_method).set_score_request()
    make = partial(make_scorer, _score, response_method=response_method, **options)
    return partial(_score_columns, make, columns if isinstance(columns, str) else list(columns))


class _RoutedScorer(_Scorer):  # type: ignore[misc]
    """A scorer that always requests `subgroups`, because scikit-learn replaces all requests."""

    def set_score_request(self, **requests: Any) -> "_RoutedScorer":
        return super().set_score_request(**{"subgroups": True, **requests})  # type: ignore[no-any-return]


def _score_columns(make: Any, columns: Sequence[str] | str, estimator: Any, data: Any, y: Any) -> float:
    return make(subgroups=columns, data=data)(estimator, data, y)  # type: ignore[no-any-return]


def _score(y_true: Any, y_score: Any, *, value: str, pos_label: Any = None, **options: Any) -> float:
    report = bias_report(y_true, y_score, positive=pos_label, **options)
    values = flat(report)
    if value not in values:
        raise ValueError(f"`subgroups` has no identity {value.partition('/')[2]} in this fold.")
    if math.isnan(values[value]):
        reasons = [
            str(each)
            for each in report.undefined
            if value in ("score", each.term, f"mean_{each.term}", f"{each.term}/{each.subgroup}")
        ]
        warnings.warn(f"This fold has no {value}: {' '.join(reasons)}", UndefinedMetricWarning, stacklevel=2)
    return -abs(values[value]) if "_aeg/" in value else values[value]
