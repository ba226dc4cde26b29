"""Prepared splits: positive labels and identity mentions."""

import numpy as np

from fairboard import MetricSettings, prepare

JUST_BELOW_HALF = 0.49999999999999994


def test_label_of_exactly_one_half_is_positive():
    split = prepare([0.5, JUST_BELOW_HALF, 0.3 + 0.2, 1.0, 0.0], {})
    assert split.labels.tolist() == [True, False, True, True, False]


def test_identity_is_mentioned_from_one_half_and_never_in_a_blank():
    split = prepare([1, 1, 1, 1], {"cat": [0.5, JUST_BELOW_HALF, np.nan, 1.0]})
    assert split.members[0].tolist() == [0, 3]


def test_thresholds_are_configurable():
    settings = MetricSettings(label_threshold=0.8, identity_threshold=0.1)
    split = prepare([0.7, 0.8], {"cat": [0.1, 0.09]}, settings=settings)
    assert split.labels.tolist() == [False, True]
    assert split.members[0].tolist() == [0]
