"""Exact sums against `math.fsum`, and groups against the metric on each group's rows."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from fairboard import score
from fairboard.groups import OTHER, GroupedMetric, GroupRules, size_of_group
from fairboard.interface import Options, UnsuitableTruth
from fairboard.row_statistics import exact_sum
from grader.metrics.registry import METRICS, metric

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e290, max_value=1e290)


@given(st.lists(NUMBERS, max_size=60))
def test_a_sum_is_exact_for_any_numbers(numbers):
    assert exact_sum(np.array(numbers)) == math.fsum(numbers)


@pytest.mark.parametrize("numbers", [[], [5e-324] * 1000, [1e290, 1.0, -1e290], [0.1] * 10, [-0.0]])
def test_a_sum_is_exact_at_the_limits(numbers):
    assert exact_sum(np.array(numbers)) == math.fsum(numbers)


def example(rows=900):
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


def test_groups_below_the_minimum_become_one_group_unless_they_are_in_the_score():
    places = np.repeat(["a", "b", "c", "d", ""], [30, 10, 14, 26, 5])
    truth = {"target": (np.arange(85) % 2).astype(float), "place": places}
    guesses = {"prediction": np.linspace(0, 1, 85)}

    def rows_of(name: str, in_score=(), least=25):
        weight = 0.5 if in_score else 1.0
        grouped = GroupedMetric(metric(name, Options()), GroupRules(("place",), weight, in_score, least))
        result = grouped.score(grouped.prepare(truth, np.arange(85)), grouped.encode(guesses))
        return {each: values["rows"] for each, values in result.groups["place"].items()}

    assert rows_of("mae") == {"a": 30, "d": 26}  # The other groups have only 24 rows.
    assert rows_of("mae", least=20) == {"a": 30, "d": 26, OTHER: 24}
    assert rows_of("mae", (("place", "b"),), 14) == {"a": 30, "b": 10, "c": 14, "d": 26}
    # ROC AUC needs as many rows of each class.
    assert rows_of("roc_auc", least=14) == {"a": 30, OTHER: 50}
    about = metric("roc_auc", Options()).describe()
    assert size_of_group(about, truth, np.arange(30)) == 15


@pytest.mark.parametrize("name", ["r2", "mcc", "kappa", "quadratic_kappa", "pearson", "spearman"])
def test_metrics_that_can_be_negative_have_no_power_mean_over_groups(name):
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
def test_rows_of_one_class_have_no_value_if_the_metric_compares_classes(name):
    # All rows of Oslo are ham.
    truth = {"target": np.array([0, 0, 0, 1, 0, 1, 1, 0]), "city": np.array(["Oslo"] * 3 + ["Rome"] * 5)}
    grouped = GroupedMetric(
        metric(name, Options(classes=("ham", "spam"), positive="ham")), GroupRules(("city",))
    )
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


def test_texts_need_an_order_or_a_positive_class_and_numbers_have_both():
    with pytest.raises(ValueError, match="in their order"):
        score("quadratic_kappa", ["high", "low", "medium"], ["low", "low", "medium"])
    with pytest.raises(ValueError, match="choose the `positive` class"):
        score("f1", ["attack", "benign"], ["benign", "benign"])
    assert score("f1", [0, 1, 1], [0, 1, 0]).terms == {"precision": 1.0, "recall": 0.5}  # of the class 1
    order = ("low", "medium", "high")
    truth, guesses = ["high", "low", "medium", "high"], ["low", "low", "medium", "medium"]
    named = score("quadratic_kappa", truth, guesses, classes=order).score
    places = [[order.index(each) for each in values] for values in (truth, guesses)]
    assert named == score("quadratic_kappa", *places).score == cohen_kappa_score(*places, weights="quadratic")


def test_quadratic_kappa_weights_errors_by_the_distance_of_numeric_classes():
    truth, guesses = [1, 2, 10, 10, 1.5], [1, 10, 2, 10, 1]
    values = np.array([1, 1.5, 2, 10])
    table = np.zeros((4, 4))
    for one, other in zip(truth, guesses, strict=True):
        table[np.searchsorted(values, one), np.searchsorted(values, other)] += 1
    weights = (values[:, None] - values) ** 2
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    assert score("quadratic_kappa", truth, guesses, classes=["1", "1.5", "2", "10"]).score == pytest.approx(
        1 - (weights * table).sum() / (weights * expected).sum(), rel=1e-15
    )


@pytest.mark.parametrize(("level", "step"), [(1e15, 1.0), (1.7e18, 65536.0), (-3e12, 2.0**-8), (0.0, 1.0)])
def test_r2_and_pearson_of_large_values_equal_exact_fractions(level, step):
    rng = np.random.default_rng(5)
    truth = level + step * rng.integers(-50, 50, 400)
    guesses = truth + step * rng.integers(-40, 40, 400)
    y, x = ([Fraction(each) for each in values.tolist()] for values in (truth, guesses))
    y, x = ([each - sum(values) / 400 for each in values] for values in (y, x))
    squares = sum(each * each for each in y)
    unexplained = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(truth, guesses, strict=True))
    assert score("r2", truth, guesses).score == pytest.approx(float(1 - unexplained / squares), abs=1e-12)
    product = sum(a * b for a, b in zip(x, y, strict=True))
    correlation = float(product) / math.sqrt(squares * sum(each * each for each in x))
    assert score("pearson", truth, guesses).score == pytest.approx(correlation, abs=1e-12)
