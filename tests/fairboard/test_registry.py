"""Built-in metrics against scikit-learn, scipy, the bootstrap and their laws."""

import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as oracle

from fairboard import MetricSettings, PairCounts, bias_report, count_pairs
from fairboard.bias.metric import BiasMetric, identity_column
from fairboard.groups import GroupedMetric, GroupRules
from fairboard.interface import Direction, Options, UnsuitablePredictions, UnsuitableTruth
from grader.metrics.registry import METRICS, fitting, of_settings, reporting

ROOT = Path(__file__).parents[2]
CLASSES = ("ham", "spam", "eggs", "toast")
FOUR, TWO = Options(classes=CLASSES), Options(classes=CLASSES[:2], positive=CLASSES[1])
COLUMNS = Options(columns=("a", "b", "c"))
NUMBERS = Options()


def classes(rng, rows, count=4):
    truth = rng.integers(0, count, rows)
    guesses = np.where(rng.random(rows) < 0.6, truth, rng.integers(0, count, rows))
    return {"target": truth}, {"prediction": guesses}


def two_classes(rng, rows):
    return classes(rng, rows, 2)


def binary(rng, rows):
    truth = (rng.random(rows) < 0.3).astype(float)
    truth[:2] = 0, 1
    guesses = np.clip(0.3 + 0.3 * truth + 0.2 * rng.normal(size=rows), 0, 1).round(2)
    return {"target": truth}, {"prediction": guesses}


def probabilities(rng, rows):
    truth = rng.integers(0, 4, rows)
    table = rng.dirichlet(np.ones(4), rows) + 0.5 * np.eye(4)[truth]
    table /= table.sum(axis=1, keepdims=True)
    return {"target": truth}, dict(zip(CLASSES, table.T, strict=True))


def numbers(rng, rows):
    truth = np.round(rng.gamma(2, 10, rows), 1) + 0.1
    return {"target": truth}, {"prediction": np.abs(truth + rng.normal(0, 5, rows)).round(1)}


def lists(rng, rows):
    truth = np.full((rows, 3), -1)
    truth[:, 0] = rng.integers(0, 9, rows)
    truth[::3, 1] = (truth[::3, 0] + 1) % 9
    guesses = np.stack([rng.permutation(9)[:6] for _ in range(rows)])
    guesses[::5, 1] = guesses[::5, 0]
    guesses[::7, 3:] = -1
    return {"target": truth}, {"prediction": guesses}


def columns(of):
    def make(rng: np.random.Generator, rows: int) -> tuple[Any, Any]:
        parts = {name: of(rng, rows) for name in COLUMNS.columns}
        return (
            {name: truth["target"] for name, (truth, _) in parts.items()},
            {name: guesses["prediction"] for name, (_, guesses) in parts.items()},
        )

    return make


def over_columns(score):
    return lambda truth, guesses: np.mean([score(truth[each], guesses[each]) for each in truth])


def plain(score):
    return lambda truth, guesses: score(truth["target"], guesses["prediction"])


def table_of(guesses):
    return np.stack(list(guesses.values()), axis=1)


def average_precision_of_lists(truth, guesses):
    """Return MAP@5 as in its definition, with loops."""
    total = 0.0
    for actual, listed in zip(truth, guesses, strict=True):
        wanted, hits, score = {int(each) for each in actual if each >= 0}, 0, 0.0
        for place, one in enumerate(listed[:5]):
            if one in wanted and one not in listed[:place]:
                hits += 1
                score += hits / (place + 1)
        total += score / min(len(wanted), 5)
    return total / len(truth)


# For each metric: options, data, and the value by another implementation.
CASES: dict[str, tuple[Options, Callable[..., Any], Callable[..., float]]] = {
    "accuracy": (FOUR, classes, plain(oracle.accuracy_score)),
    "balanced_accuracy": (FOUR, classes, plain(oracle.balanced_accuracy_score)),
    "f1": (TWO, two_classes, plain(oracle.f1_score)),
    "macro_f1": (FOUR, classes, plain(lambda t, p: oracle.f1_score(t, p, average="macro", zero_division=0))),
    "mcc": (FOUR, classes, plain(oracle.matthews_corrcoef)),
    "kappa": (FOUR, classes, plain(oracle.cohen_kappa_score)),
    "quadratic_kappa": (
        FOUR,
        classes,
        plain(lambda t, p: oracle.cohen_kappa_score(t, p, weights="quadratic")),
    ),
    "log_loss": (NUMBERS, binary, plain(lambda t, p: oracle.log_loss(t, p, labels=[0, 1]))),
    "multi_class_log_loss": (
        FOUR,
        probabilities,
        lambda t, p: oracle.log_loss(t["target"], table_of(p), labels=range(4)),
    ),
    "brier": (NUMBERS, binary, plain(lambda t, p: np.mean((t - p) ** 2))),
    "rmse": (NUMBERS, numbers, plain(oracle.root_mean_squared_error)),
    "mae": (NUMBERS, numbers, plain(oracle.mean_absolute_error)),
    "rmsle": (NUMBERS, numbers, plain(oracle.root_mean_squared_log_error)),
    "mape": (NUMBERS, numbers, plain(oracle.mean_absolute_percentage_error)),
    "r2": (NUMBERS, numbers, plain(oracle.r2_score)),
    "pearson": (NUMBERS, numbers, plain(lambda t, p: stats.pearsonr(t, p)[0])),
    "spearman": (NUMBERS, numbers, plain(lambda t, p: stats.spearmanr(t, p)[0])),
    "roc_auc": (NUMBERS, binary, plain(oracle.roc_auc_score)),
    "average_precision": (NUMBERS, binary, plain(oracle.average_precision_score)),
    "map_at_k": (NUMBERS, lists, plain(average_precision_of_lists)),
    "mean_roc_auc": (COLUMNS, columns(binary), over_columns(oracle.roc_auc_score)),
    "mean_rmse": (COLUMNS, columns(numbers), over_columns(oracle.root_mean_squared_error)),
    "mean_log_loss": (
        COLUMNS,
        columns(binary),
        over_columns(lambda t, p: oracle.log_loss(t, p, labels=[0, 1])),
    ),
}


def calculated(name, truth, guesses, rows=None):
    metric = METRICS[name](CASES[name][0])
    rows = np.arange(len(next(iter(truth.values())))) if rows is None else rows
    return metric.score(metric.prepare(truth, rows), metric.encode(guesses))


def taken(data, rows):
    return {name: values[rows] for name, values in data.items()}


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("rows", [12, 400])
def test_a_score_equals_that_of_another_implementation(name, rows):
    _, make, expected = CASES[name]
    for seed in range(5):
        truth, guesses = make(np.random.default_rng(seed), rows)
        result = calculated(name, truth, guesses)
        assert result.score == pytest.approx(expected(truth, guesses), rel=1e-13, abs=1e-14)


@pytest.mark.parametrize("name", METRICS)
def test_all_values_are_identical_in_any_order_of_the_rows(name):
    _, make, _ = CASES[name]
    rng = np.random.default_rng(2)
    truth, guesses = make(rng, 300)
    before = calculated(name, truth, guesses)
    for _ in range(5):
        order = rng.permutation(300)
        after = calculated(name, taken(truth, order), taken(guesses, order))
        assert (after.score, after.terms, after.evidence) == (before.score, before.terms, before.evidence)


@pytest.mark.parametrize("name", METRICS)
def test_constant_and_perfect_predictions_have_a_score(name):
    options, make, _ = CASES[name]
    truth, guesses = make(np.random.default_rng(6), 60)
    for value in (0, 1):
        constant = {each: np.full_like(values, value) for each, values in guesses.items()}
        try:
            result = calculated(name, truth, constant)
        except UnsuitablePredictions:
            assert (name, value) == ("multi_class_log_loss", 0)
            continue
        assert np.isfinite(result.score)
    if list(truth) == list(guesses) or name in ("spearman", "pearson", "roc_auc", "average_precision"):
        perfect = dict(zip(guesses, truth.values(), strict=True))
        best = calculated(name, truth, perfect).score
        is_highest = METRICS[name](options).describe().direction is Direction.HIGHEST
        assert best == pytest.approx(1.0 if is_highest else 0.0, abs=1e-14)


def test_a_class_that_occurs_nowhere_does_not_count_in_macro_f1():
    truth, guesses = np.array([0, 1, 1, 0]), np.array([0, 1, 0, 2])
    result = calculated("macro_f1", {"target": truth}, {"prediction": guesses})
    assert result.score == pytest.approx((0.5 + 2 / 3 + 0) / 3)
    assert list(result.terms) == ["f1_ham", "f1_spam", "f1_eggs"]


def test_probabilities_of_classes_are_scaled_to_sum_to_one():
    guesses = dict(zip(CLASSES, np.array([[8.0, 1], [4, 2], [2, 1], [2, 0]]), strict=True))
    result = calculated("multi_class_log_loss", {"target": np.array([0, 1])}, guesses)
    assert result.score == pytest.approx(np.log(2))


def test_unsuitable_solutions_are_refused_with_all_reasons():
    rows = np.arange(3)
    for name, target in (
        ("roc_auc", [1.0, 1, 1]),
        ("r2", [2.0, 2, 2]),
        ("r2", [0.0, 1e-300, 2e-300]),
        ("mape", [0.0, 1, 2]),
        ("rmsle", [-1.0, 1, 2]),
        ("log_loss", [0.0, 1, 2]),
    ):
        with pytest.raises(UnsuitableTruth):
            METRICS[name](NUMBERS).prepare({"target": np.array(target)}, rows)
    with pytest.raises(UnsuitableTruth) as refused:
        truth = {each: np.ones(3) for each in COLUMNS.columns}
        METRICS["mean_roc_auc"](COLUMNS).prepare(truth, rows)
    assert [each[:2] for each in refused.value.problems] == ["a:", "b:", "c:"]


@pytest.mark.parametrize("name", ["rmse", "mae", "r2", "pearson", "spearman", "mape"])
@pytest.mark.parametrize("size", [1e-140, 1e-3, 1e8, 1e140])
def test_scores_are_finite_for_extreme_numbers(name, size):
    rng = np.random.default_rng(7)
    truth, guesses = rng.normal(size=200) * size, rng.normal(size=200) * size
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = calculated(name, {"target": truth}, {"prediction": guesses})
    assert np.isfinite(result.score)


def test_huge_errors_have_a_finite_r_squared():
    truth, guesses = np.array([0.0, 1e-12, 2e-12]), np.array([1e145, -1e145, 0.0])
    assert calculated("r2", {"target": truth}, {"prediction": guesses}).score == -1e290


def two_classes_of(name):
    """Return the options of a metric with two classes, which suit F1 too."""
    return TWO if CASES[name][0] is FOUR else CASES[name][0]


BINARY = {"log_loss", "brier", "roc_auc", "average_precision", "mean_roc_auc", "mean_log_loss"}
PAIRS = [(one, other) for one in METRICS for other in fitting(one, two_classes_of(one)) if one != other]


def data_for(*names, rows=60):
    """Return truth and predictions for which all metrics are defined."""
    name = next((each for each in names if each in BINARY), "mape" if "mape" in names else names[0])
    create = two_classes if two_classes_of(name) is TWO else CASES[name][1]
    return create(np.random.default_rng(rows), rows)


def values_of(metric, truth, guesses, rows):
    return metric.score(metric.prepare(truth, rows), metric.encode(guesses))


def test_metrics_of_the_same_columns_can_be_reported_and_no_others():
    assert {name for pair in PAIRS for name in pair} == set(METRICS) - {"multi_class_log_loss", "map_at_k"}
    assert len(PAIRS) == 7 * 6 + 11 * 10 + 3 * 2  # of classes, of numbers, and means over columns
    for name, wrong, possible in (
        ("rmse", "accuracy", "log_loss, brier, mae, rmsle, mape, r2, pearson, roc_auc"),
        ("mean_rmse", "mae", "mean_roc_auc, mean_log_loss"),
        ("map_at_k", "rmse", "none"),
    ):
        options = CASES[name][0]
        with pytest.raises(ValueError, match=f"{wrong} cannot be reported next to {name}.*: {possible}"):
            reporting(METRICS[name](options), [wrong], options)
    clash = Options(columns=("a", "mean_rmse"))
    with pytest.raises(ValueError, match="no column can be called mean_rmse"):
        reporting(METRICS["mean_roc_auc"](clash), ["mean_rmse"], clash)


# No target is 0 or 1 and never 0.
SUITABLE = [pair for pair in PAIRS if not ("mape" in pair and BINARY.intersection(pair))]


@pytest.mark.parametrize(("name", "other"), SUITABLE)
def test_a_reported_metric_has_its_own_values_and_changes_no_bit_of_the_score(name, other):
    truth, guesses = data_for(name, other)
    options = two_classes_of(name)
    rows = np.arange(0, 60, 2)
    plain, alone = (METRICS[each](options) for each in (name, other))
    truth |= {"city": np.array(["Oslo", "Oslo", "Rome", "Rome"] * 15)}
    for scored in (plain, GroupedMetric(plain, GroupRules(("city",)))):
        metric = reporting(scored, [other], options)
        before, after = (values_of(each, truth, guesses, rows) for each in (scored, metric))
        expected = values_of(alone, truth, guesses, rows)
        terms, evidence = dict(after.terms), dict(after.evidence)
        assert terms.pop(other) == expected.score
        assert evidence.pop("reported") == {other: expected.evidence}
        assert after.score.hex() == before.score.hex()
        assert (terms, evidence, after.groups) == (before.terms, before.evidence, before.groups)
    about = metric.describe()
    term = about.terms[-1]
    assert replace(about, terms=about.terms[:-1]) == scored.describe()
    assert (term.name, term.direction) == (other, alone.describe().direction)
    assert "reported, does not count" in term.rows


def test_a_reported_metric_without_a_value_for_the_solution_is_a_problem_of_the_solution():
    metric = of_settings({"name": "rmse", "reported": ["r2", "mape", "mae"]})
    with pytest.raises(UnsuitableTruth) as refused:
        metric.prepare({"target": np.zeros(3)}, np.arange(3))
    assert refused.value.problems == (
        "R² (reported): The target is the same in all rows.",
        "Mean absolute percentage error (MAPE) (reported): The target must not be 0; rows with 0: 3.",
    )


def test_a_reported_metric_has_no_value_for_predictions_that_it_does_not_accept():
    truth, guesses = binary(np.random.default_rng(1), 40)
    metric = of_settings({"name": "roc_auc", "reported": ["log_loss", "rmse", "rmsle"]})
    rows = np.arange(40)
    fitting_all = values_of(metric, truth, guesses, rows)
    assert set(fitting_all.terms) == {"log_loss", "rmse", "rmsle"}
    wide = values_of(metric, truth, {"prediction": guesses["prediction"] * 8 - 4}, rows[:20])
    assert wide.score == values_of(metric, truth, guesses, rows[:20]).score
    # Also if the predictions of other rows are the cause.
    high = {"prediction": np.where(rows == 39, 1.5, guesses["prediction"])}
    assert [*wide.terms] == ["rmse"]
    assert [*values_of(metric, truth, high, rows[:20]).terms] == ["rmse", "rmsle"]
    texts = [each.rows.partition("count")[2] for each in metric.describe().terms]
    assert texts[1:] == ["", ", only for files with all predictions at least 0"]


# The names of the bias metric's terms, also in a sentence.
TERM = re.compile(r"(overall|subgroup)_auc|bpsn|bnsp|_aeg\b", re.IGNORECASE)
PLATFORM = ("services", "models", "worker", "ranking", "client")


def test_no_module_of_the_platform_names_a_term_of_a_metric():
    folders = [*(ROOT / "grader" / name for name in PLATFORM), ROOT / "webapp"]
    paths = [path for folder in folders for path in folder.rglob("*.py")]
    assert len(paths) > 200
    assert [str(path.relative_to(ROOT)) for path in paths if TERM.search(path.read_text())] == []


def test_settings_without_a_name_are_those_of_the_bias_metric():
    stored = {"identities": ["female"], "metric": MetricSettings().as_dict()}
    bias = of_settings(stored)
    assert (bias.name, bias.describe().direction) == ("bias", Direction.HIGHEST)
    rmse = of_settings({"name": "rmse"})
    assert (rmse.name, rmse.describe().direction) == ("rmse", Direction.LOWEST)
    macro = of_settings({"name": "macro_f1", "classes": ["ham", "spam"]})
    assert [term.name for term in macro.describe().terms] == ["f1_ham", "f1_spam"]
    with pytest.raises(ValueError, match="no metric 'chrf'"):
        of_settings({"name": "chrf"})


@pytest.mark.parametrize("decimals", [1, 6])
def test_the_bias_metric_equals_its_report_behind_the_interface(decimals):
    rng = np.random.default_rng(9)
    labels = (rng.random(600) < 0.4).astype(float)
    identities = {name: (rng.random(600) < 0.5).astype(float) for name in ("female", "target")}
    guesses = (rng.random(600) + 0.4 * labels).round(decimals)
    rows, settings = np.arange(0, 600, 2), MetricSettings()
    metric = BiasMetric(tuple(identities), settings)
    columns = {"target": labels} | {identity_column(name): each for name, each in identities.items()}
    prepared, encoded = metric.prepare(columns, rows), metric.encode({"prediction": guesses})
    result = metric.score(prepared, encoded)
    expected = bias_report(
        labels[rows], guesses[rows], {name: each[rows] for name, each in identities.items()}
    )
    assert result.score == expected.score
    assert result.terms == expected.terms
    assert PairCounts.from_dict(dict(result.evidence)) == count_pairs(prepared.data, guesses[rows])


def test_the_bias_metric_has_no_score_without_negative_rows():
    metric = BiasMetric(("female",), MetricSettings())
    columns = {"target": np.ones(4), identity_column("female"): np.array([0.0, 1, 1, 0])}
    prepared, encoded = metric.prepare(columns, np.arange(4)), metric.encode({"prediction": np.arange(4.0)})
    with pytest.raises(UnsuitableTruth, match="no negative rows"):
        metric.score(prepared, encoded)
    with pytest.raises(UnsuitableTruth, match="no negative rows"):
        metric.measured(prepared, encoded)
