"""Expected standard errors from the counts of a solution."""

import math

import numpy as np
import pytest

from fairboard import MetricSettings, Weights, prepare
from fairboard.bias.influence import paired_standard_error

LABELS = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 1], bool)
MEMBERS = {
    "a": np.array([1, 0, 0, 1, 1, 0, 0, 0, 0, 1], bool),
    "b": np.array([1, 1, 0, 0, 1, 1, 1, 0, 0, 0], bool),
    # This identity is undefined and not part of the score.
    "c": np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, 1], bool),
}


def test_error_of_a_difference_is_summed_over_its_rows():
    wanted, auc = Weights(0.1, 0.2, 0.3, 0.4), 0.9
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
    assert paired_standard_error(split, settings) == pytest.approx(math.sqrt(expected * 0.4), rel=1e-12)
    assert paired_standard_error(prepare(LABELS, MEMBERS), settings) is None


def test_score_with_an_empty_cell_has_no_error():
    labels, member = np.array([1, 1, 0, 0], bool), np.array([1, 0, 1, 0], bool)
    assert paired_standard_error(prepare(labels, {"a": member}), MetricSettings()) is not None
    for row in range(4):
        flipped = member ^ (np.arange(4) == row)
        assert paired_standard_error(prepare(labels, {"a": flipped}), MetricSettings()) is None
    assert paired_standard_error(prepare(labels, {}), MetricSettings()) is None
