"""Exact sums against `math.fsum`, and groups against the metric on each group's rows."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairboard.groups import GroupedMetric, GroupRules, worst
from fairboard.interface import Direction, Options, UnsuitableTruth
from fairboard.row_statistics import exact_sum
from grader.metrics.registry import METRICS, metric

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e290, max_value=1e290)


@given(st.lists(NUMBERS, max_size=60))
def test_a_sum_is_exact_for_any_numbers(numbers: list[float]):
    assert exact_sum(np.array(numbers)) == math.fsum(numbers)


@pytest.mark.parametrize("numbers", [[], [5e-324] * 1000, [1e290, 1.0, -1e290], [0.1] * 10, [-0.0]])
def test_a_sum_is_exact_at_the_limits(numbers: list[float]):
    assert exact_sum(np.array(numbers)) == math.fsum(numbers)


def example(rows: int = 900):
    rng = np.random.default_rng(2)
    target = rng.gamma(2, 10, rows)
    place = np.array(["north", "south", ""])[rng.integers(0, 3, rows)]
    noise = np.where(place == "south", 8, 3)
    return {"target": target, "place": place}, {"prediction": target + rng.normal(size=rows) * noise}


def test_each_group_is_scored_on_its_own_rows():
    truth, guesses = example()
    rmse = metric("rmse", Options())
    grouped = GroupedMetric(rmse, GroupRules(("place",)))
    rows = np.arange(1, 900, 2)
    result = grouped.score(grouped.prepare(truth, rows), grouped.encode(guesses))
    encoded = rmse.encode(guesses)
    assert result.score == rmse.score(rmse.prepare(truth, rows), encoded).score
    assert set(result.groups["place"]) == {"north", "south"}
    for name, values in result.groups["place"].items():
        is_in = truth["place"][rows] == name
        alone = rmse.score(rmse.prepare(truth, rows[is_in]), encoded)
        assert values == {"rows": is_in.sum(), "score": alone.score}
    name, gap = worst(result.groups["place"], Direction.LOWEST) or ("", 0.0)
    assert name == "south"
    assert gap == pytest.approx(5, abs=1)


def test_a_score_over_groups_combines_the_overall_value_and_a_power_mean():
    truth, guesses = example()
    in_score = (("place", "north"), ("place", "south"))
    grouped = GroupedMetric(metric("rmse", Options()), GroupRules(("place",), 0.4, in_score))
    result = grouped.score(grouped.prepare(truth, np.arange(900)), grouped.encode(guesses))
    values = [result.groups["place"][name]["score"] for _, name in in_score]
    mean = (sum(value**5 for value in values) / 2) ** 0.2
    assert result.score == pytest.approx(0.4 * result.terms["overall"] + 0.6 * mean, rel=1e-14)


def test_groups_without_a_defined_value_are_left_out_or_refused():
    truth = {"target": np.array([0.0, 1, 0, 1]), "place": np.array(["a", "a", "b", "c"])}
    auc = metric("roc_auc", Options())
    grouped = GroupedMetric(auc, GroupRules(("place",)))
    encoded = grouped.encode({"prediction": np.array([0.1, 0.9, 0.2, 0.8])})
    assert set(grouped.score(grouped.prepare(truth, np.arange(4)), encoded).groups["place"]) == {"a"}
    rules = GroupRules(("place",), 0.5, (("place", "b"), ("place", "d")))
    with pytest.raises(UnsuitableTruth) as refused:
        GroupedMetric(auc, rules).prepare(truth, np.arange(4))
    assert [problem[:9] for problem in refused.value.problems] == ["place = b", "place = d"]


@pytest.mark.parametrize("name", ["r2", "mcc", "kappa", "quadratic_kappa", "pearson", "spearman"])
def test_metrics_that_can_be_negative_have_no_power_mean_over_groups(name: str):
    with pytest.raises(ValueError, match="negative"):
        GroupedMetric(METRICS[name](Options(classes=("a", "b"))), GroupRules(("g",), 0.5, (("g", "x"),)))


def test_invalid_options_and_unknown_metrics_are_refused():
    for name, options in (("f1", Options(classes=("a", "b", "c"))), ("accuracy", Options())):
        with pytest.raises(ValueError, match="classes"):
            metric(name, options)
    with pytest.raises(ValueError, match="not one of the classes"):
        metric("f1", Options(classes=("a", "b"), positive="c"))
    with pytest.raises(ValueError, match="columns"):
        metric("mean_rmse", Options())
    with pytest.raises(ValueError, match="cutoff"):
        metric("map_at_k", Options(cutoff=0))
    with pytest.raises(ValueError, match="no metric 'score'"):
        metric("score", Options())
    with pytest.raises(ValueError, match="between 0 and 1"):
        GroupRules((), 2.0)
    with pytest.raises(ValueError, match="at least one group"):
        GroupRules((), 0.5)


@pytest.mark.parametrize("name", ["f1", "mcc", "kappa", "quadratic_kappa"])
def test_rows_of_one_class_have_no_value_if_the_metric_compares_classes(name: str):
    # All rows of Oslo are ham.
    truth = {"target": np.array([0, 0, 0, 1, 0, 1, 1, 0]), "city": np.array(["Oslo"] * 3 + ["Rome"] * 5)}
    grouped = GroupedMetric(metric(name, Options(classes=("ham", "spam"))), GroupRules(("city",)))
    prepared = grouped.prepare(truth, np.arange(8))
    assert [*prepared.groups] == [("city", "Rome")]
    assert [*prepared.skipped] == [("city", "Oslo")] and "ham" in prepared.skipped["city", "Oslo"][0]
    perfect = grouped.score(prepared, grouped.encode({"prediction": truth["target"]}))
    assert perfect.groups["city"]["Rome"]["score"] == pytest.approx(1)
    for code in (0, 1):
        with pytest.raises(UnsuitableTruth):
            grouped.prepare(truth | {"target": np.full(8, code)}, np.arange(8))


def test_other_metrics_of_classes_are_defined_for_one_class():
    for name in ("accuracy", "balanced_accuracy", "macro_f1"):
        one = metric(name, Options(classes=("ham", "spam")))
        prepared = one.prepare({"target": np.zeros(8, int)}, np.arange(8))
        assert one.score(prepared, one.encode({"prediction": np.zeros(8, int)})).score == 1.0
