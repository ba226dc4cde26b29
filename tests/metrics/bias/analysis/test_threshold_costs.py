"""Costs at all thresholds, compared with brute force."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grader.metrics.bias.analysis.threshold_costs import cost_curve

ROWS = st.lists(st.tuples(st.booleans(), st.sampled_from([-3.0, 0.0, 0.25, 0.5, 70.0])), min_size=1)
COSTS = st.integers(1, 9).map(float)


@given(ROWS, COSTS, COSTS)
def test_costs_at_every_threshold_equal_counted_errors(rows, false_alarm, missed):
    positive = np.array([label for label, _ in rows])
    predictions = np.array([prediction for _, prediction in rows])
    curve = cost_curve(positive, predictions, false_alarm, missed)
    assert curve.thresholds.tolist() == [math.inf, *sorted(set(predictions), reverse=True)]
    for threshold, flagged, cost in zip(curve.thresholds, curve.flagged, curve.costs, strict=True):
        is_flagged = predictions >= threshold
        errors = false_alarm * np.sum(is_flagged & ~positive) + missed * np.sum(positive & ~is_flagged)
        assert (flagged, cost) == (is_flagged.sum(), errors / len(rows))
    lowest = np.flatnonzero(curve.costs == curve.costs.min())
    assert (curve.best, curve.threshold) == (lowest[0], curve.thresholds[lowest[0]])


@given(ROWS)
def test_another_scale_changes_only_the_thresholds(rows):
    positive = np.array([label for label, _ in rows])
    predictions = np.array([prediction for _, prediction in rows])
    plain, percent = (cost_curve(positive, scale * predictions, 1.0, 2.0) for scale in (1, 100))
    assert np.array_equal(plain.costs, percent.costs)
    assert np.array_equal(plain.flagged, percent.flagged)
    assert np.array_equal(100 * plain.thresholds, percent.thresholds)
