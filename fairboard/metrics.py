"""All metrics by name with those over several columns, and a function that scores predictions."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairboard.bias.metric import BiasMetric, identity_column
from fairboard.bias.metric_settings import MetricSettings
from fairboard.bias.prepared import as_objects, as_vector, is_table, refuse_where
from fairboard.classification import CLASSIFICATION, LOG_LOSS
from fairboard.groups import GroupedMetric, GroupRules
from fairboard.interface import (
    ColumnKind,
    Columns,
    ColumnSpec,
    Description,
    Metric,
    MetricResult,
    Options,
    PreparedRows,
    RowArray,
    TermSpec,
    prepare_all,
)
from fairboard.metric_bases import PREDICTION, TARGET, BuiltIn, values_of
from fairboard.ranking import RANKING, ROC_AUC
from fairboard.regression import REGRESSION, RMSE


@dataclass(frozen=True, kw_only=True)
class MeanOverColumns(BuiltIn):
    """The mean over columns of a metric of one column; the terms are the values of the columns."""

    one: BuiltIn

    def with_options(self, options: Options) -> Self:
        """Return the metric with other options; raise ValueError without columns."""
        if not options.columns:
            raise ValueError("The metric needs the names of its columns.")
        return super().with_options(options)

    def describe(self) -> Description:
        """Describe the metric."""
        one, names = self.one.describe(), self.options.columns
        return replace(
            one,
            title=self.title,
            sentence=self.sentence,
            truth=tuple(replace(one.truth[0], name=each) for each in names),
            predictions=tuple(replace(one.predictions[0], name=each) for each in names),
            terms=tuple(TermSpec(each, each, one.direction) for each in names),
            decimals=self.options.decimals,
        )

    def encode(self, predictions: Columns) -> dict[str, Any]:
        """Encode each column."""
        return {each: self.one.encode({PREDICTION: predictions[each]}) for each in self.options.columns}

    def prepare(self, truth: Columns, rows: RowArray) -> PreparedRows:
        """Prepare each column; raise UnsuitableTruth with the reasons of all columns."""
        names = self.options.columns
        parts = ((f"{each}: ", self.one, {TARGET: truth[each]}) for each in names)
        return PreparedRows(rows, dict(zip(names, prepare_all(parts, rows), strict=True)))

    def score(self, prepared: PreparedRows, encoded: dict[str, Any]) -> MetricResult:
        """Compute the values of one file on one split."""
        results = {each: self.one.score(data, encoded[each]) for each, data in prepared.data.items()}
        terms = {each: result.score for each, result in results.items()}
        evidence = {each: result.evidence for each, result in results.items()}
        return MetricResult(fmean(terms.values()), terms, evidence)


def _mean_over_columns(one: BuiltIn, title: str) -> MeanOverColumns:
    sentence = f"The mean over columns. {one.sentence}"
    return MeanOverColumns(name=f"mean_{one.name}", title=title, sentence=sentence, one=one)


COLUMNS = (
    _mean_over_columns(ROC_AUC, "Mean ROC AUC over columns"),
    _mean_over_columns(RMSE, "Mean RMSE over columns (MCRMSE)"),
    _mean_over_columns(LOG_LOSS, "Mean log loss over columns"),
)

METRICS: Mapping[str, Callable[[Options], Metric]] = MappingProxyType(
    {each.name: each.with_options for each in (*CLASSIFICATION, *REGRESSION, *RANKING, *COLUMNS)}
)
Values = ArrayLike | Mapping[str, ArrayLike]


def metric(name: str, options: Options) -> Metric:
    """Return a built-in metric; raise ValueError if it does not exist or needs other options."""
    if name not in METRICS:
        raise ValueError(f"There is no metric {name!r}. Metrics: {', '.join(METRICS)}.")
    return METRICS[name](options)


def score(
    name: str,
    y_true: Values,
    y_score: Values,
    *,
    groups: Mapping[str, ArrayLike] | None = None,
    classes: Sequence[str] | None = None,
    positive: str | None = None,
    cutoff: int = 5,
    settings: MetricSettings | None = None,
) -> MetricResult:
    """Compute a metric and its terms, overall and in each group.

    Parameters
    ----------
    name : str
        The name of a metric, such as ``"rmse"``; ``"bias"`` is the unintended bias metric.
    y_true, y_score : array_like, or mapping of str to array_like
        Targets and predictions, one for each row: numbers, classes, or lists of classes. A mapping (or a
        data frame) contains the columns of a metric with several columns.
    groups : mapping of str to array_like, optional
        For the bias metric, the identities as in `bias_report`. For other metrics, columns of texts: each of
        their values is a group, unless it is missing or an empty text.
    classes : sequence of str, optional
        All classes in their order; by default, those of `y_true`, sorted by number or as texts. Required if
        the metric depends on the order of texts.
    positive : str, optional
        The positive class; by default, the last one. Required if the classes are texts.
    cutoff : int
        The number of classes that count in a list.
    settings : MetricSettings, optional
        The settings of the bias metric.

    Returns
    -------
    MetricResult
        The score, the terms and the values of the groups.

    Raises
    ------
    ValueError
        If the metric does not exist, needs other options, or is undefined for the values; also as
        `UnsuitableTruth` and `UnsuitablePredictions`.

    Examples
    --------
    >>> score("rmse", [1, 2, 3], [1, 2, 5], groups={"city": ["Rome", "Rome", "Oslo"]}).groups["city"]["Oslo"]
    {'rows': 1, 'score': 2.0}
    >>> score("f1", ["ham", "spam"], ["ham", "spam"], positive="spam").terms
    {'precision': 1.0, 'recall': 1.0}
    >>> score("bias", [1, 0, 1, 0], [0.9, 0.3, 0.4, 0.2], groups={"cat": [1, 1, 0, 0]}).score
    1.0
    """
    targets: Any = y_true
    columns = tuple(targets.keys()) if is_table(y_true) else ()
    group_columns = dict({} if groups is None else groups)
    named: dict[str, NDArray[Any]]
    if name == BiasMetric.name:
        scored: Metric = BiasMetric(tuple(group_columns), settings or MetricSettings())
        named = {identity_column(each): as_vector(each, values) for each, values in group_columns.items()}
    else:
        named = {each: _group_names(values) for each, values in group_columns.items()}
        about = metric(name, Options(columns, classes=("0", "1"))).describe()
        kind = about.truth[0].kind
        if not classes and kind is not ColumnKind.NUMBER:
            classes = classes_of({each for row in _lists(y_true, kind) for each in row})
            if about.orders_classes and values_of(classes) is None:
                raise ValueError("The classes are texts, so list them in `classes` in their order.")
        classes = tuple(dict.fromkeys(classes or ()))
        scored = metric(name, Options(columns, classes, positive, cutoff))
        scored = GroupedMetric(scored, GroupRules(tuple(named))) if named else scored
    about = scored.describe()
    expected = about.truth[:1] if name == BiasMetric.name else about.truth
    truth = _columns(expected, y_true, classes or ())
    if clash := truth.keys() & named.keys():
        raise ValueError(f"Groups cannot be called {', '.join(sorted(clash))}: the metric uses this name.")
    truth |= named
    predictions = _columns(about.predictions, y_score, classes or ())
    sizes = sorted({len(each) for each in (*truth.values(), *predictions.values())})
    if len(sizes) > 1:
        raise ValueError(f"All columns must have equally many values, not {' and '.join(map(str, sizes))}.")
    return scored.score(scored.prepare(truth, np.arange(sizes[0])), scored.encode(predictions))


def _group_names(values: ArrayLike) -> NDArray[Any]:
    return np.array(["" if each is None else str(each) for each in as_objects(values)], object)


def _columns(columns: Sequence[ColumnSpec], values: Any, classes: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the values of a metric's columns: numbers, or the positions of classes."""
    if not is_table(values):
        values = {columns[0].name: values}
    if missing := [each.name for each in columns if each.name not in values]:
        raise ValueError(f"There are no values of {', '.join(missing)}.")
    return {each.name: _column(each, values[each.name], classes) for each in columns}


def _column(column: ColumnSpec, values: Any, classes: Sequence[str]) -> NDArray[Any]:
    if column.kind is ColumnKind.NUMBER:
        numbers = as_vector(column.name, values, finite=True)
        within = f"between {column.lowest:g} and {column.highest:g}"
        refuse_where((numbers < column.lowest) | (numbers > column.highest), column.name, within)
        return numbers
    codes, rows = {name: code for code, name in enumerate(classes)}, _lists(values, column.kind)
    if unknown := sorted({each for row in rows for each in row if each not in codes}):
        raise ValueError(f"`{column.name}` contains unknown classes: {', '.join(unknown)}.")
    table = np.full((len(rows), max(map(len, rows), default=0)), -1)
    for place, row in enumerate(rows):
        table[place, : len(row)] = [codes[each] for each in row]
    return table if column.kind is ColumnKind.CLASSES else table[:, 0]


def classes_of(names: Collection[str]) -> list[str]:
    """Return distinct classes in the order of numbers if all are numbers, or else in the order of texts."""
    ordered = sorted(names)
    values = values_of(ordered)
    if values is None:
        return ordered
    return [name for _, name in sorted(zip(values, ordered, strict=True))]


def _lists(values: Any, kind: ColumnKind) -> list[list[str]]:
    """Return the classes of each row as texts; raise ValueError if a row has no class or no list of them."""
    if kind is ColumnKind.CLASSES:
        if any(isinstance(row, str) or not isinstance(row, Iterable) for row in values):
            raise ValueError("Each row must be a list of classes.")
        return [[str(each) for each in row] for row in values]
    objects = as_objects(values)
    if None in objects:
        raise ValueError(f"The class at position {objects.index(None)} is missing.")
    return [[str(each)] for each in objects]
