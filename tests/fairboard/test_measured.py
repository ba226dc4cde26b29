"""Standard errors and differences of scores, against the bootstrap and scipy."""

import numpy as np
import pytest
from scipy import stats

from fairboard import MetricSettings, Weights, bias_report, dense_ranks, prepare
from fairboard.bias.influence import influences
from fairboard.bias.metric import BiasMetric, identity_column
from fairboard.groups import GroupedMetric, GroupRules
from fairboard.interface import Options
from fairboard.measured import GROUPS, measuring, paired_difference
from fairboard.metrics import METRICS, metric
from tests.fairboard.test_registry import CASES, taken

BIAS = BiasMetric(("cat", "dog"), MetricSettings())


def bias_data(rng, rows):
    truth = {"target": (rng.random(rows) < 0.4).astype(float)}
    truth |= {identity_column(name): (rng.random(rows) < 0.3).astype(float) for name in ("cat", "dog")}
    return truth, {"prediction": (truth["target"] + rng.normal(size=rows)).round(1)}


def made(name, rng, rows):
    if name == "bias":
        return BIAS, *bias_data(rng, rows)
    options, make, _ = CASES[name]
    return METRICS[name](options), *make(rng, rows)


@pytest.mark.parametrize("name", ["bias", "roc_auc", "accuracy", "rmse", "macro_f1", "map_at_k"])
def test_the_standard_error_is_about_that_of_the_bootstrap(name):
    rng, rows = np.random.default_rng(4), 800
    scored, truth, guesses = made(name, rng, rows)
    found = measuring(scored, truth, np.arange(rows))(scored.encode(guesses))
    drawn = []
    for _ in range(300):
        places = rng.integers(0, rows, rows)
        one, other = taken(truth, places), taken(guesses, places)
        drawn.append(scored.score(scored.prepare(one, np.arange(rows)), scored.encode(other)).score)
    assert found.errors["score"] == pytest.approx(np.std(drawn), rel=0.15 if name == "bias" else 0.35)


@pytest.mark.parametrize("name", ["bias", "roc_auc", "rmse"])
def test_a_difference_is_more_exact_than_two_independent_scores(name):
    rng, rows = np.random.default_rng(5), 600
    scored, truth, guesses = made(name, rng, rows)
    measure = measuring(scored, truth, np.arange(rows))
    noise = guesses["prediction"].std() / 10 * rng.normal(size=rows)
    one, other = (
        measure(scored.encode(guesses)),
        measure(scored.encode({"prediction": guesses["prediction"] + noise})),
    )
    found = paired_difference(one, other)
    assert found is not None and found.value == one.score - other.score
    assert found.standard_error < 0.7 * one.errors["score"]
    same = paired_difference(one, one)
    assert same is not None and (same.value, same.standard_error, same.margin) == (0, 0, 0)


def test_the_jackknife_measures_terms_and_scores_over_groups():
    truth, guesses = CASES["macro_f1"][1](np.random.default_rng(6), 400)
    truth["city"] = np.array(["Oslo", "Rome"] * 200)
    rules = GroupRules(("city",), 0.5, (("city", "Oslo"), ("city", "Rome")))
    scored = GroupedMetric(metric("macro_f1", CASES["macro_f1"][0]), rules)
    found = measuring(scored, truth, np.arange(400))(scored.encode(guesses))
    assert {"score", "overall", "f1_ham"} <= set(found.errors)
    assert found.quantile == pytest.approx(stats.t.ppf(0.975, GROUPS - 1), abs=1e-4)
    assert {each.size for each in found.influences.values()} == {GROUPS}


def test_there_is_no_error_for_a_perfect_file_or_if_the_metric_is_undefined_without_a_group_of_rows():
    truth = {"target": np.array([1.0, 0, 0, 0, 0, 0])}
    auc = metric("roc_auc", Options())
    found = measuring(auc, truth, np.arange(6))(auc.encode({"prediction": np.arange(6.0)}))
    assert (found.score, found.errors) == (0, {})
    assert paired_difference(found, found) is None
    labels = {"target": np.arange(60) % 2}
    accuracy = metric("accuracy", Options(classes=("0", "1")))
    perfect = measuring(accuracy, labels, np.arange(60))(accuracy.encode({"prediction": labels["target"]}))
    assert (perfect.score, perfect.errors) == (1.0, {})


@pytest.mark.parametrize("power", [-5, 0, -np.inf])
def test_an_influence_is_the_change_of_the_score_by_one_row(power):
    rng, rows = np.random.default_rng(7), 300
    truth, guesses = bias_data(rng, rows)
    settings = MetricSettings(power=power, weights=Weights(0.4, 0.3, 0.2, 0.1))
    subgroups = {name: truth[identity_column(name)] for name in ("cat", "dog")}
    labels, predictions = truth["target"], guesses["prediction"]
    split = prepare(labels, subgroups)
    values = bias_report(labels, predictions, subgroups, settings=settings)
    found = influences(split, dense_ranks(predictions), values, settings)
    assert set(found) == {"score", *values.terms}
    for row in range(0, rows, 50):
        rest = np.delete(np.arange(rows), row)
        without = bias_report(labels[rest], predictions[rest], taken(subgroups, rest), settings=settings)
        for name in found:
            before, after = (
                each.as_dict()[name] if name in ("score", "overall_auc") else each.power_means[name]
                for each in (values, without)
            )
            assert found[name][row] == pytest.approx(before - after, rel=0.06, abs=2e-5)
