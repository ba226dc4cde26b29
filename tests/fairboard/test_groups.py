"""Groups in the score: the solution alone decides which ones."""

from typing import Any

import numpy as np
import pytest

from fairboard.groups import GroupedMetric, GroupRules
from fairboard.interface import Options, UnsuitableTruth
from grader.metrics.registry import METRICS, metric

COMPARING = ("f1", "mcc", "kappa", "quadratic_kappa")
ROWS = np.arange(8)
# All rows of Oslo are ham.
TRUTH = {
    "target": np.array([0, 0, 0, 1, 0, 1, 1, 0]),
    "city": np.array(["Oslo"] * 3 + ["Rome"] * 5),
}


def of(name: str, **rules: Any) -> GroupedMetric:
    return GroupedMetric(metric(name, Options(classes=("ham", "spam"))), GroupRules(("city",), **rules))


@pytest.mark.parametrize("name", COMPARING)
def test_a_group_of_one_class_has_no_value_if_the_metric_compares_classes(name: str):
    grouped = of(name)
    prepared = grouped.prepare(TRUTH, ROWS)
    assert [*prepared.groups] == [("city", "Rome")]
    assert [*prepared.skipped] == [("city", "Oslo")] and "ham" in prepared.skipped["city", "Oslo"][0]
    perfect = grouped.score(prepared, grouped.encode({"prediction": TRUTH["target"]}))
    assert {value: each["score"] for value, each in perfect.groups["city"].items()} == {
        "Rome": pytest.approx(1)
    }


def test_the_best_file_has_the_best_score_and_a_constant_one_keeps_its_value():
    grouped = of("f1", weight=0.5, in_score=(("city", "Rome"),))
    prepared = grouped.prepare(TRUTH, ROWS)
    assert grouped.score(prepared, grouped.encode({"prediction": TRUTH["target"]})).score == 1.0
    constant = grouped.score(prepared, grouped.encode({"prediction": np.zeros(8, int)}))
    assert (constant.score, constant.groups["city"]["Rome"]["score"]) == (0.0, 0.0)


@pytest.mark.parametrize("name", COMPARING)
@pytest.mark.parametrize("code", [0, 1])
def test_a_split_of_one_class_is_refused_if_the_metric_compares_classes(name: str, code: int):
    with pytest.raises(UnsuitableTruth):
        of(name).prepare(TRUTH | {"target": np.full(8, code)}, ROWS)


def test_other_metrics_of_classes_are_defined_for_one_class():
    for name in ("accuracy", "balanced_accuracy", "macro_f1"):
        one = METRICS[name](Options(classes=("ham", "spam")))
        result = one.score(
            one.prepare({"target": np.zeros(8, int)}, ROWS), one.encode({"prediction": ROWS * 0})
        )
        assert result.score == 1.0
