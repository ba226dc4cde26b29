"""Pinned AUC: samples, expectation, components, known weaknesses."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import hypergeom

from fairboard.bias.analysis import Rows
from fairboard.bias.analysis.pinned_auc import NOT_ROBUST, pinned_auc, pinned_aucs


def draw(seed, subgroup=(4, 3), background=(5, 6)):
    rng = np.random.default_rng(seed)
    sizes = (*subgroup, *background)
    labels = np.repeat([1, 0, 1, 0], sizes)
    mentions = np.repeat([1, 1, 0, 0], sizes)
    return Rows.of(labels, rng.integers(0, 6, labels.size) + labels, {"cat": mentions})


def auc(rows, places):
    scores, labels = rows.predictions[places], rows.positive[places]
    pairs = [(p > n) * 2 + (p == n) for p in scores[labels] for n in scores[~labels]]
    return Fraction(int(sum(pairs)), 2 * len(pairs))


def mean_over_all_samples(rows):
    inside, outside = (np.flatnonzero(rows.members["cat"] == side) for side in (True, False))
    size = min(inside.size, outside.size)
    pinned = [
        auc(rows, np.array([*ours, *theirs]))
        for ours in combinations(inside, size)
        for theirs in combinations(outside, size)
    ]
    return sum(pinned) / len(pinned)


@pytest.mark.parametrize(
    ("subgroup", "background"), [((4, 3), (5, 5)), ((2, 4), (3, 3)), ((5, 4), (2, 3)), ((1, 2), (6, 3))]
)
def test_expectation_is_the_mean_over_all_possible_samples(subgroup, background):
    rows = draw(1, subgroup, background)
    assert pinned_auc(rows, "cat").value == pytest.approx(float(mean_over_all_samples(rows)), abs=1e-14)


def test_four_parts_have_about_equal_weights_for_balanced_classes():
    parts = pinned_auc(draw(6, (500, 500), (2000, 2000)), "cat").parts
    assert [part.weight for part in parts] == pytest.approx([0.25] * 4, abs=1e-3)


def test_share_of_positive_rows_changes_the_value():
    rng = np.random.default_rng(7)
    negatives, positives = rng.normal(0.55, 0.05, 1000), rng.normal(0.95, 0.05, 1000)
    background = [rng.normal(0.2, 0.05, 2000), rng.normal(0.6, 0.05, 2000)]

    def pinned(share):
        sets = [*background, negatives[: round(1000 * (1 - share))], positives[: round(1000 * share)]]
        sizes = [each.size for each in sets]
        labels, mentions = np.repeat([0, 1, 0, 1], sizes), np.repeat([0, 0, 1, 1], sizes)
        return pinned_auc(Rows.of(labels, np.concatenate(sets), {"cat": mentions}), "cat").value

    values = [pinned(share) for share in (0.2, 0.4, 0.6, 0.8)]
    assert values == sorted(values)
    assert values[-1] - values[0] > 0.05


def test_perfect_model_has_exactly_one_and_a_constant_model_one_half():
    rows = draw(8, (70, 30), (301, 499))
    assert pinned_auc(rows.predicted(rows.labels), "cat").value == 1
    assert pinned_auc(rows.predicted(np.zeros(rows.size)), "cat").value == 0.5


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
    for part in pinned_auc(draw(9, subgroup, background), "cat").parts:
        assert part.weight == pytest.approx(float((chances * expected[part.name] / pairs).sum()), rel=1e-9)


def test_batch_values_equal_single_values():
    rows = draw(10, (40, 30), (300, 500))
    both = Rows.of(rows.labels, rows.predictions, rows.identities | {"dog": np.arange(rows.size) % 3 == 0})
    assert pinned_aucs(both) == (pinned_auc(both, "cat"), pinned_auc(both, "dog"))


@pytest.mark.parametrize(
    ("subgroup", "background", "reason"),
    [
        ((0, 0), (3, 3), "the subgroup or the background is empty."),
        ((3, 3), (0, 0), "the subgroup or the background is empty."),
        ((3, 0), (5, 3), "a sample may have rows of only one class."),
        ((3, 0), (5, 0), "a sample may have rows of only one class."),
    ],
)
def test_value_is_undefined_if_a_sample_could_lack_a_class(subgroup, background, reason):
    pinned = pinned_auc(draw(11, subgroup, background), "cat")
    assert (pinned.value, pinned.parts, pinned.reason) == (None, (), reason)


def test_undefined_part_has_no_weight():
    # At least one of any three background rows is negative.
    pinned = pinned_auc(draw(12, (3, 0), (2, 6)), "cat")
    parts = {part.name: part for part in pinned.parts}
    assert (parts["subgroup_auc"].auc, parts["subgroup_auc"].weight) == (None, 0)
    assert pinned.value is not None


def test_output_warns_that_pinned_auc_is_not_robust():
    data = pinned_auc(draw(13), "cat").as_dict()
    assert data["robust"] is False
    assert data["warning"] == NOT_ROBUST
    assert "share of positive rows" in NOT_ROBUST


# Printed values of the same model on the same rows: Table 3 of Borkan et al. (2019), TOXICITY@1, and Table 2
# of the note on pinned AUC.
PRINTED_AUCS = {
    "gay": (0.98, 0.57, 1.0),
    "homosexual": (0.98, 0.43, 1.0),
    "lesbian": (0.99, 0.67, 1.0),
    "transgender": (0.99, 0.93, 0.98),
    "heterosexual": (1.0, 0.96, 0.98),
    "white": (1.0, 1.0, 0.97),
    "lgbt": (1.0, 1.0, 0.97),
    "lgbtq": (1.0, 1.0, 0.95),
}
PRINTED_PINNED = {
    "gay": 0.87,
    "homosexual": 0.85,
    "lesbian": 0.91,
    "transgender": 0.97,
    "heterosexual": 0.98,
    "white": 0.98,
    "lgbt": 0.98,
    "lgbtq": 0.98,
}
# The papers do not print this value. It is consistent with the identities that show no bias.
BACKGROUND_AUC = 0.97
# The tolerance is half a digit for the sum and up to one and a half for the mean of four values.
BOTH_ROUNDED = 0.0125


@pytest.mark.parametrize("name", PRINTED_PINNED)
def test_equation_3_reproduces_the_printed_pinned_aucs(name):
    # Half of the rows of every set are positive, so the four parts have equal weights.
    pinned = (BACKGROUND_AUC + sum(PRINTED_AUCS[name])) / 4
    assert pinned == pytest.approx(PRINTED_PINNED[name], abs=BOTH_ROUNDED)


def test_equation_3_reproduces_the_printed_pinned_auc_of_the_skewed_identity():
    # 757 positive and 757 - 378 negative rows, sampled together with as many rows of a balanced background.
    labels = np.repeat([1, 0, 1, 0], (757, 379, 37_525, 37_525))
    mentions = np.repeat([1, 1, 0, 0], (757, 379, 37_525, 37_525))
    parts = pinned_auc(Rows.of(labels, np.zeros(labels.size), {"gay": mentions}), "gay").parts
    weights = {part.name: part.weight for part in parts}
    subgroup, bpsn, bnsp = PRINTED_AUCS["gay"]
    skewed = (
        weights["background_auc"] * BACKGROUND_AUC
        + weights["subgroup_auc"] * subgroup
        + weights["bpsn_auc"] * bpsn
        + weights["bnsp_auc"] * bnsp
    )
    assert f"{skewed:.2f}" == "0.91"
