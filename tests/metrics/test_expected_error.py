"""The standard errors that a solution's counts promise."""

import math

import numpy as np
import pytest

from grader.metrics import MetricSettings, Weights, count_pairs, prepare, report
from grader.metrics.expected_error import auc_standard_error, score_standard_error, swap_probability

IDENTITIES = ("a", "b", "c")


def test_the_error_of_one_auc_is_hanley_and_mcneils() -> None:
    # Their Table III: an area of 0.893 between 51 abnormal and 58 normal images.
    assert auc_standard_error(51, 58, 0.893) == pytest.approx(0.032, abs=0.001)


def test_an_auc_without_both_classes_has_no_error() -> None:
    assert auc_standard_error(0, 5) is None
    assert auc_standard_error(5, 0) is None


def test_a_model_that_knows_nothing_has_the_error_of_the_rank_sum() -> None:
    expected = math.sqrt((40 + 60 + 1) / (12 * 40 * 60))
    assert auc_standard_error(40, 60, 0.5) == pytest.approx(expected)


def simulated_error(labels: np.ndarray, members: dict[str, np.ndarray], draws: int = 300) -> float:
    """The spread of the score over draws of predictions whose every AUC is 0.9 (negative exponentials)."""
    generator = np.random.default_rng(5)
    split = prepare(labels, members)
    settings = MetricSettings(power=1.0)
    scores = []
    for _ in range(draws):
        # P(positive > negative) = r / (1 + r) for exponentials whose means are as r to 1
        predictions = generator.exponential(np.where(labels, 9.0, 1.0))
        scores.append(report(count_pairs(split, predictions), settings).score)
    return float(np.std(scores))


def test_the_error_of_a_score_is_what_drawing_predictions_again_and_again_shows() -> None:
    generator = np.random.default_rng(3)
    labels = generator.random(3000) < 0.3
    members = {
        name: generator.random(3000) < share for name, share in zip("abc", (0.1, 0.2, 0.4), strict=True)
    }
    members["c"] |= members["a"]  # a is inside c
    expected = score_standard_error(prepare(labels, members), MetricSettings())
    assert expected == pytest.approx(simulated_error(labels, members), rel=0.15)


def test_a_score_that_is_the_overall_auc_alone_has_the_error_of_an_auc() -> None:
    labels = np.arange(4000) % 2 == 0
    split = prepare(labels, {"a": np.arange(4000) % 7 == 0})
    settings = MetricSettings(weights=Weights(overall_auc=1.0, subgroup_auc=0, bpsn_auc=0, bnsp_auc=0))
    assert score_standard_error(split, settings) == pytest.approx(auc_standard_error(2000, 2000), rel=0.01)


def test_an_undefined_cell_has_no_error() -> None:
    labels = np.arange(40) % 2 == 0
    assert score_standard_error(prepare(labels, {"a": labels}), MetricSettings()) is None
    assert score_standard_error(prepare(labels, {}), MetricSettings()) is None


def test_teams_that_are_equal_swap_half_the_time_and_teams_far_apart_never() -> None:
    assert swap_probability(0.0, 0.01) == 0.5
    assert swap_probability(1.0, 0.01) < 1e-9
    # 0.43 standard errors of the difference: one in three
    assert swap_probability(0.002, 0.002 / 0.4307 / math.sqrt(0.4)) == pytest.approx(1 / 3, abs=0.001)
