"""Expected standard errors from the counts of a solution."""

import math

import numpy as np
import pytest

from grader.metrics import MetricSettings, Weights, count_pairs, prepare, report
from grader.metrics.bias.expected_error import (
    auc_standard_error,
    rows_needed,
    score_standard_error,
    swap_probability,
)

IDENTITIES = ("a", "b", "c")


def test_error_of_one_auc_equals_that_of_hanley_and_mcneil():
    # Table III of their paper: an area of 0.893 for 51 abnormal and 58 normal images.
    assert auc_standard_error(51, 58, 0.893) == pytest.approx(0.032, abs=0.001)


def test_auc_without_both_classes_has_no_error():
    assert auc_standard_error(0, 5) is None
    assert auc_standard_error(5, 0) is None


@pytest.mark.parametrize(
    ("positives", "negatives", "auc"), [(3, 5, 0.8), (1, 1, 0.6), (2, 9, 1.0), (7, 2, 0.0)]
)
def test_error_of_an_auc_follows_the_documented_formula(positives: int, negatives: int, auc: float):
    q1, q2 = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    of_rows = (positives - 1) * (q1 - auc**2) + (negatives - 1) * (q2 - auc**2)
    expected = math.sqrt((auc * (1 - auc) + of_rows) / (positives * negatives))
    assert auc_standard_error(positives, negatives, auc) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("error", "positive_share", "mention_share", "auc"),
    [(0.02, 0.08, 0.01, 0.9), (0.1, 0.5, 1.0, 0.6), (0.4, 0.9, 0.3, 0.999), (0.001, 0.3, 1.0, 0.8)],
)
def test_rows_needed_are_the_fewest_with_that_error(
    error: float, positive_share: float, mention_share: float, auc: float
):
    def largest(rows: int) -> float:
        members = int(rows * mention_share)
        positives = int(rows * mention_share * positive_share)
        outside = int((rows - members) * positive_share)
        compared = {
            "subgroup_auc": (positives, members - positives),
            "bpsn_auc": (outside, members - positives),
            "bnsp_auc": (positives, rows - members - outside),
        }
        errors = [
            auc_standard_error(*sets, auc)
            for cell, sets in compared.items()
            if cell == "subgroup_auc" or mention_share < 1
        ]
        return max(math.inf if each is None else each for each in errors)

    rows = rows_needed(error, positive_share, mention_share, auc)
    assert largest(rows) <= error < largest(rows - 1)


def test_rows_needed_by_an_identity_in_most_rows_depend_on_the_few_other_rows():
    assert rows_needed(0.02, 0.5, 0.99) > 5 * rows_needed(0.02, 0.5)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((0.0, 0.5), "standard_error"),
        ((0.02, 1.0), "positive_share"),
        ((0.02, 0.5, 0.0), "mention_share"),
        ((0.02, 0.5, 1.0, 1.0), "auc"),
    ],
)
def test_rows_needed_name_the_argument_that_is_out_of_range(arguments: tuple[float, ...], name: str):
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        rows_needed(*arguments)


LABELS = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 1], bool)
MEMBERS = {
    "a": np.array([1, 0, 0, 1, 1, 0, 0, 0, 0, 1], bool),
    "b": np.array([1, 1, 0, 0, 1, 1, 1, 0, 0, 0], bool),
    # This identity is undefined and not part of the score.
    "c": np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, 1], bool),
}


def test_error_of_a_score_is_summed_over_its_rows():
    wanted, auc = Weights(0.1, 0.2, 0.3, 0.4), 0.7
    settings = MetricSettings(weights=wanted)
    pulls = []
    for row, is_positive in enumerate(LABELS):
        alike = is_positive == LABELS
        pull = wanted.overall_auc / np.count_nonzero(alike)
        for member in (MEMBERS["a"], MEMBERS["b"]):
            cells = {
                wanted.subgroup_auc: member,
                wanted.bpsn_auc: member != LABELS,
                wanted.bnsp_auc: member == LABELS,
            }
            for weight, cell in cells.items():
                if cell[row]:
                    pull += weight / 2 / np.count_nonzero(cell & alike)
        pulls.append(pull)
    squares = np.array(pulls) ** 2
    of_positives, of_negatives = 2 * auc**2 / (1 + auc) - auc**2, auc / (2 - auc) - auc**2
    expected = of_positives * squares[LABELS].sum() + of_negatives * squares[~LABELS].sum()
    split = prepare(LABELS, MEMBERS, in_score=["a", "b"])
    assert score_standard_error(split, settings, auc) == pytest.approx(math.sqrt(expected), rel=1e-12)
    assert score_standard_error(prepare(LABELS, MEMBERS), settings, auc) is None


@pytest.mark.parametrize(
    "cell", ["positive, inside", "negative, inside", "positive, outside", "negative, outside"]
)
def test_score_with_an_empty_cell_has_no_error(cell: str):
    label, place = cell.split(", ")
    labels = np.array([1, 1, 0, 0], bool)
    member = np.array([1, 0, 1, 0], bool)
    member[labels == (label == "positive")] = place == "outside"
    assert score_standard_error(prepare(labels, {"a": member}), MetricSettings()) is None
    ones = np.ones(2, bool)
    assert score_standard_error(prepare(ones, {"a": ones}), MetricSettings()) is None
    assert score_standard_error(prepare(~ones, {"a": ones}), MetricSettings()) is None


def test_swap_probability_follows_the_normal_distribution():
    # Phi(-1): the difference equals its standard error.
    assert swap_probability(-0.02, 0.01, 1 - 2.0) == pytest.approx(0.15865525393145707, rel=1e-12)
    assert swap_probability(0.01 * math.sqrt(0.4), 0.01) == pytest.approx(0.15865525393145707, rel=1e-12)
    assert (swap_probability(0.0, 0.0), swap_probability(1e-9, 0.0)) == (0.5, 0.0)
    assert (swap_probability(0.0, 0.1, 1.0), swap_probability(0.1, 0.1, 1.0)) == (0.5, 0.0)


def test_random_model_has_the_error_of_the_rank_sum():
    expected = math.sqrt((40 + 60 + 1) / (12 * 40 * 60))
    assert auc_standard_error(40, 60, 0.5) == pytest.approx(expected)


def simulated_error(labels: np.ndarray, members: dict[str, np.ndarray], draws: int = 300) -> float:
    """Return the score's standard deviation over simulated exponential predictions with AUCs of 0.9."""
    generator = np.random.default_rng(5)
    split = prepare(labels, members)
    settings = MetricSettings(power=1.0)
    scores = []
    for _ in range(draws):
        # For exponentials whose means have the ratio r, P(positive > negative) = r / (1 + r).
        predictions = generator.exponential(np.where(labels, 9.0, 1.0))
        scores.append(report(count_pairs(split, predictions), settings).score)
    return float(np.std(scores))


def test_error_of_a_score_agrees_with_simulation():
    generator = np.random.default_rng(3)
    labels = generator.random(3000) < 0.3
    members = {
        name: generator.random(3000) < share for name, share in zip("abc", (0.1, 0.2, 0.4), strict=True)
    }
    # Make `a` a subset of `c`.
    members["c"] |= members["a"]
    expected = score_standard_error(prepare(labels, members), MetricSettings())
    assert expected == pytest.approx(simulated_error(labels, members), rel=0.15)


def test_error_of_a_score_of_only_the_overall_auc_is_that_of_the_auc():
    labels = np.arange(4000) % 2 == 0
    split = prepare(labels, {"a": np.arange(4000) % 7 == 0})
    settings = MetricSettings(weights=Weights(overall_auc=1.0, subgroup_auc=0, bpsn_auc=0, bnsp_auc=0))
    assert score_standard_error(split, settings) == pytest.approx(auc_standard_error(2000, 2000), rel=0.01)


def test_undefined_cell_has_no_error():
    labels = np.arange(40) % 2 == 0
    assert score_standard_error(prepare(labels, {"a": labels}), MetricSettings()) is None
    assert score_standard_error(prepare(labels, {}), MetricSettings()) is None


def test_equal_teams_swap_half_the_time_and_distant_teams_never():
    assert swap_probability(0.0, 0.01) == 0.5
    assert swap_probability(1.0, 0.01) < 1e-9
    # A difference of 0.43 standard errors has a probability of one third.
    assert swap_probability(0.002, 0.002 / 0.4307 / math.sqrt(0.4)) == pytest.approx(1 / 3, abs=0.001)
