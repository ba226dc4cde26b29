"""Pinned AUC, the simulation of Table 2 (Borkan et al., 2019), and the tables of the note on pinned AUC."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import hypergeom

from fairboard.bias.analysis import Data
from fairboard.bias.analysis.pinned_auc import PARTS, WEIGHTS, pinned_auc
from fairboard.bias.analysis.skew_scenarios import TABLE_2, draw, skew_experiment
from fairboard.bias.analysis.table import metric_table
from fairboard.bias.subgroups import BIAS_AUCS


def drawn(seed, subgroup=(4, 3), background=(5, 6)):
    rng, sizes = np.random.default_rng(seed), (*subgroup, *background)
    labels = np.repeat([1, 0, 1, 0], sizes)
    return Data.of(labels, {"cat": np.repeat([1, 1, 0, 0], sizes)}), rng.integers(0, 6, labels.size) + labels


def of_cat(data, predictions):
    return pinned_auc(data, predictions).loc["cat"]


def auc(data, predictions, places):
    scores, labels = predictions[places], data.positive["label"].to_numpy()[places]
    pairs = [(p > n) * 2 + (p == n) for p in scores[labels] for n in scores[~labels]]
    return Fraction(int(sum(pairs)), 2 * len(pairs))


@pytest.mark.parametrize(
    ("subgroup", "background"), [((4, 3), (5, 5)), ((2, 4), (3, 3)), ((5, 4), (2, 3)), ((1, 2), (6, 3))]
)
def test_expectation_is_the_mean_over_all_possible_samples(subgroup, background):
    data, predictions = drawn(1, subgroup, background)
    inside, outside = (np.flatnonzero(data.members["cat"] == side) for side in (True, False))
    size = min(inside.size, outside.size)
    pinned = [
        auc(data, predictions, np.array([*ours, *theirs]))
        for ours in combinations(inside, size)
        for theirs in combinations(outside, size)
    ]
    expected = float(sum(pinned) / len(pinned))
    assert of_cat(data, predictions)["value"] == pytest.approx(expected, abs=1e-14)


def test_perfect_model_has_exactly_one_and_a_constant_model_one_half():
    data, _ = drawn(8, (70, 30), (301, 499))
    assert of_cat(data, data.labels["label"])["value"] == 1
    assert of_cat(data, np.zeros(data.size))["value"] == 0.5


@pytest.mark.parametrize(
    ("subgroup", "background"), [((20_000, 10_000), (100_000, 400_000)), ((757, 757), (37_000, 38_000))]
)
def test_expected_weights_follow_the_hypergeometric_distribution(subgroup, background):
    size = sum(subgroup)
    positives = np.arange(size + 1)
    chances = hypergeom(sum(background), background[0], size).pmf(positives)
    pairs = (subgroup[0] + positives) * (subgroup[1] + size - positives)
    expected = {
        "background_auc": positives * (size - positives),
        "subgroup_auc": subgroup[0] * subgroup[1],
        "bpsn_auc": positives * subgroup[1],
        "bnsp_auc": (size - positives) * subgroup[0],
    }
    found = of_cat(*drawn(9, subgroup, background))
    for part, weight in zip(PARTS, WEIGHTS, strict=True):
        assert found[weight] == pytest.approx(float((chances * expected[part] / pairs).sum()), rel=1e-9)


@pytest.mark.parametrize(("subgroup", "background"), [((0, 0), (3, 3)), ((3, 3), (0, 0)), ((3, 0), (5, 3))])
def test_value_is_undefined_if_a_set_is_empty_or_a_sample_could_lack_a_class(subgroup, background):
    found = of_cat(*drawn(11, subgroup, background))
    assert pd.isna(found["value"]) and found["reason"]


def test_undefined_part_has_no_weight():
    # At least one of any three background rows is negative.
    found = of_cat(*drawn(12, (3, 0), (2, 6)))
    assert pd.isna(found["subgroup_auc"]) and found["subgroup_auc_weight"] == 0 and found["value"] > 0


# The papers do not print this value; the AUCs of `gay` are those of Table 3 of Borkan et al. (2019),
# TOXICITY@1. It is consistent with the identities that show no bias.
BACKGROUND_AUC = 0.97


def test_equation_3_reproduces_the_printed_pinned_auc_of_the_skewed_identity():
    # 757 positive and 757 - 378 negative rows, sampled together with as many rows of a balanced background.
    sizes = (757, 379, 37_525, 37_525)
    data = Data.of(np.repeat([1, 0, 1, 0], sizes), {"cat": np.repeat([1, 1, 0, 0], sizes)})
    weights = of_cat(data, np.zeros(data.size))[list(WEIGHTS)].to_numpy(float)
    assert f"{weights @ np.array([BACKGROUND_AUC, 0.98, 0.57, 1.0]):.2f}" == "0.91"


# The simulation uses twenty times as many rows as the paper. The tolerance covers the sampling error of a
# thousand rows and the rounding to two decimals.
ROWS = 20_000
PRINTED_WITHIN = 0.02


def simulated(scenario):
    frame = draw(scenario, seed=2019, rows=ROWS)
    return Data.of(frame["label"], frame[["subgroup"]]), frame["prediction"]


@pytest.mark.parametrize("scenario", TABLE_2, ids=lambda scenario: scenario.column)
def test_simulation_reproduces_the_values_of_table_2(scenario):
    line = metric_table(*simulated(scenario)).loc["subgroup"]
    printed = dict(zip((*BIAS_AUCS, "positive_aeg", "negative_aeg"), scenario.printed, strict=True))
    if scenario.column == "A":  # a misprint
        assert (printed["positive_aeg"], printed["negative_aeg"]) == (0.42, 0.42)
        printed |= {"positive_aeg": 0.498, "negative_aeg": 0.498}
    assert line[list(printed)].to_dict() == pytest.approx(printed, abs=PRINTED_WITHIN)


# Rows of each identity, as in the note; half of them are positive. Blocks of this size without any identity,
# so that a single identity has little effect.
NAMES, EACH, OTHERS = ("gay", "white", "elderly"), 1514, 27


@pytest.fixture(scope="module")
def experiment():
    rng = np.random.default_rng(1)
    labels = np.tile(np.repeat([1, 0], EACH // 2), len(NAMES) + OTHERS)
    of = np.repeat([*NAMES, *[""] * OTHERS], EACH)
    shift = np.array([{"gay": 0.5, "white": 0.1}.get(name, 0.0) for name in of])
    before, after = (labels * 0.5 + rng.normal(0, 0.1, labels.size) + shift / part for part in (1, 4))
    data = Data.of(labels, {name: of == name for name in NAMES})
    return skew_experiment(data, {"@1": before, "@6": after}, "gay", seed=2, trials=5)


def test_skew_hides_remaining_bias_of_one_identity(experiment):
    pinned = experiment.xs("pinned_auc", axis=1, level="metric")
    gay = pinned.loc["gay"]
    assert gay["@1", "original"] < gay["@6", "original"]
    rise = {model: gay[model, "skewed"] - gay[model, "original"] for model in ("@1", "@6")}
    assert rise["@1"] > 0.03 and rise["@6"] < rise["@1"]
    assert 0 < gay["@1", "deviation"] < 0.01
    others = pinned.drop("gay")
    for model in ("@1", "@6"):
        assert others[model, "skewed"].tolist() == pytest.approx(others[model, "original"].tolist(), abs=0.01)
