"""The second implementation of the built-in metrics returns the values of the first."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.metrics.interface import ColumnKind, Exactness, Options, UnsuitableTruth
from grader.metrics.registry import METRICS, fitting, of_settings
from grader.receipts.recount_metrics import (
    NamedSettings,
    RecountedValue,
    RecountOptions,
    recount_groups,
    recount_metric,
)

CLASSES = ("ham", "spam", "eggs")
COLUMNS = ("a", "b")
# Without logarithms, both implementations round only a few times.
NEARLY = 4 * np.finfo(float).eps
LOGARITHMS = 1e-13


def options_of(name: str) -> dict[str, Any]:
    classes = CLASSES[:2] if name == "f1" else CLASSES
    return {"classes": classes, "columns": COLUMNS if name.startswith("mean_") else (), "cutoff": 2}


def values_of(name: str, kind: ColumnKind, *, is_truth: bool) -> st.SearchStrategy[Any]:
    one_class = st.integers(0, len(options_of(name)["classes"]) - 1)
    if kind is ColumnKind.CLASS:
        return one_class
    if kind is ColumnKind.CLASSES:
        return st.lists(one_class, min_size=1, max_size=3)
    if name.endswith(("log_loss", "brier", "roc_auc", "average_precision")):
        return st.sampled_from([0.0, 1.0]) if is_truth else st.sampled_from([0.0, 0.25, 1 / 3, 0.9, 1.0])
    lowest = {"rmsle": 0, "mape": 0.5}.get(name, -100)
    return st.integers(-1000, 1000).map(lambda n: max(n / 7, lowest)) | st.sampled_from([1.0, 2.0])


def codes(values: Sequence[Any]) -> np.ndarray:
    if isinstance(values[0], list):
        return np.array([[*each, -1, -1, -1][:3] for each in values])
    return np.array(values)


def names(values: Sequence[Any], kind: ColumnKind) -> Sequence[Any]:
    if kind is ColumnKind.CLASS:
        return [CLASSES[each] for each in values]
    return [[CLASSES[code] for code in each] for each in values] if kind is ColumnKind.CLASSES else values


def reported_values_agree(name: str, drawn: Sequence[Any], sides: Sequence[Any]) -> None:
    """Assert that both implementations report the same metrics with the same values, for any score."""
    options = Options(**options_of(name))
    truth, predictions = ({each: codes(values) for each, values in side.items()} for side in drawn)
    rows, others = np.arange(len(next(iter(truth.values())))), []
    for each, metric in fitting(name, options).items():
        with suppress(UnsuitableTruth):
            metric.prepare(truth, rows)
            others += [each] if each != name else []
    settings = {"name": name, **options_of(name), "positive": None, "weight": 1, "groups": []}
    settings |= {"scored_groups": [], "reported": others}
    metric = of_settings(settings)
    first = metric.score(metric.prepare(truth, rows), metric.encode(predictions))
    named = NamedSettings.from_dict(settings).for_file(sides[1].values())
    second = recount_groups(named, *sides)
    assert list(second.terms) == list(first.terms)
    for term in named.reported:
        allowed = named.of_term(term).leeway(first.terms[term])
        assert second.terms[term] == pytest.approx(first.terms[term], rel=0, abs=allowed)


@pytest.mark.parametrize("name", METRICS)
@given(data=st.data())
def test_both_implementations_return_the_same_values(name: str, data: st.DataObject):
    metric = METRICS[name](Options(**options_of(name)))
    described, rows = metric.describe(), data.draw(st.integers(2, 12))
    drawn = [
        {
            column.name: data.draw(
                st.lists(values_of(name, column.kind, is_truth=is_truth), min_size=rows, max_size=rows)
            )
            for column in columns
        }
        for columns, is_truth in ((described.truth, True), (described.predictions, False))
    ]
    if name == "multi_class_log_loss":
        drawn[1][CLASSES[0]] = [each or 0.5 for each in drawn[1][CLASSES[0]]]
    truth, predictions = drawn
    try:
        prepared = metric.prepare({each: codes(values) for each, values in truth.items()}, np.arange(rows))
    except UnsuitableTruth:
        return
    first = metric.score(
        prepared, metric.encode({each: codes(values) for each, values in predictions.items()})
    )
    kinds = {column.name: column.kind for column in (*described.truth, *described.predictions)}
    sides = [{each: names(values, kinds[each]) for each, values in side.items()} for side in drawn]
    second = recount_metric(name, RecountOptions(**options_of(name)), *sides)
    reported_values_agree(name, drawn, sides)
    if described.exactness is Exactness.COUNTS:
        assert second == RecountedValue(first.score, first.terms, first.evidence)
        return
    tolerance = LOGARITHMS if "log" in name or name == "rmsle" else NEARLY
    assert second.score == pytest.approx(first.score, rel=tolerance, abs=tolerance)
    assert set(second.terms) == set(first.terms)
    for term, value in first.terms.items():
        assert second.terms[term] == pytest.approx(value, rel=tolerance, abs=tolerance)
