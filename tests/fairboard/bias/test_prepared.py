"""Prepared splits: positive labels and identity mentions."""

import numpy as np

from fairboard import prepare

JUST_BELOW_HALF = 0.49999999999999994


def test_label_of_exactly_one_half_is_positive():
    split = prepare([0.5, JUST_BELOW_HALF, 0.3 + 0.2, 1.0, 0.0], {})
    assert split.labels.tolist() == [True, False, True, True, False]


def test_identity_is_mentioned_from_one_half_and_never_in_a_blank():
    split = prepare([1, 1, 1, 1], {"cat": [0.5, JUST_BELOW_HALF, np.nan, 1.0]})
    assert split.members[0].tolist() == [0, 3]
