"""Prediction histograms for all rows, and by class and identity."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairboard.bias.analysis import Rows
from fairboard.bias.analysis.distributions import (
    all_distributions,
    even_edges,
    score_distributions,
)


def distribution(predictions, bins=50):
    """Return the distribution of the background of an identity that no row mentions."""
    nothing = np.zeros(len(predictions))
    return score_distributions(
        Rows.of(nothing, predictions, {"cat": nothing}), "cat", bins
    ).background_negative


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50))
def test_every_row_is_in_one_bin(predictions):
    found = distribution(predictions)
    assert found.rows == len(predictions)
    assert len(found.edges) == len(found.counts) + 1
    assert sum(found.shares) == pytest.approx(1)


def test_bin_includes_its_lower_edge_and_the_last_bin_both_edges():
    found = distribution([0.0, 0.5, 0.5, 1.0], bins=2)
    assert found.counts == (1, 3)
    assert (found.mean, found.deviation) == (0.5, pytest.approx(0.125**0.5))


def test_edges_span_0_to_1_for_probabilities_and_the_range_otherwise():
    assert even_edges(np.array([0.2, 0.4]), 2) == (0, 0.5, 1)
    assert even_edges(np.array([-1.0, 3.0]), 2) == (-1, 1, 3)
    assert even_edges(np.array([7.0]), 2) == (6.5, 7, 7.5)
    assert even_edges(np.array([]), 2) == (0, 0.5, 1)


def test_distribution_without_rows_has_no_mean():
    found = distribution([])
    assert (found.rows, found.mean, found.deviation) == (0, None, None)
    assert set(found.shares) == {0.0}


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=50), st.integers(1, 12))
def test_bins_equal_those_of_numpy(predictions, bins):
    values = np.array(predictions, float)
    assert distribution(values, bins).counts == tuple(np.histogram(values, even_edges(values, bins))[0])


# The mean of subnormal numbers has too few digits for the tolerance.
SCORES = st.floats(-1e308, 1e308, allow_subnormal=False)


@given(
    st.lists(st.one_of(SCORES, st.integers(-3, 3).map(float)), min_size=1, max_size=60), st.integers(1, 12)
)
def test_distributions_of_a_report_equal_those_of_its_subsets(predictions, bins):
    dice = np.random.default_rng(len(predictions))
    mentions, labels = dice.integers(0, 2, (2, len(predictions)))
    rows = Rows.of(labels, predictions, {"cat": mentions})
    found = score_distributions(rows, "cat", bins=bins)
    edges = found.subgroup_negative.edges
    scale = max(map(abs, predictions)) or 1.0
    for each, of, inside in (
        (found.background_negative, 0, 0),
        (found.background_positive, 1, 0),
        (found.subgroup_negative, 0, 1),
        (found.subgroup_positive, 1, 1),
    ):
        alone = rows.predictions[(labels == of) & (mentions == inside)]
        assert each.counts == tuple(np.histogram(alone, edges)[0])
        if alone.size:
            assert each.mean / scale == pytest.approx((alone / scale).mean(), abs=1e-12)
            assert each.deviation / scale == pytest.approx((alone / scale).std(), abs=1e-7)


def test_constant_background_has_zero_deviation_for_any_subgroup():
    dice = np.random.default_rng(1)
    for value in (0.0, 0.3, 1e-5):
        mentions = dice.random(1000) < 0.2
        rows = Rows.of(np.zeros(1000), np.where(mentions, dice.random(1000), value), {"cat": mentions})
        found = score_distributions(rows, "cat").background_negative
        assert (found.mean, found.deviation) == (pytest.approx(value, abs=1e-15), 0)


def test_background_and_subgroup_share_bins_in_both_classes():
    rng = np.random.default_rng(1)
    cat = rng.choice([0, 1, np.nan], 500)
    rows = Rows.of(rng.integers(0, 2, 500), rng.normal(0, 3, 500), {"cat": cat})
    found = score_distributions(rows, "cat", bins=20)
    sets = [
        found.background_negative,
        found.background_positive,
        found.subgroup_negative,
        found.subgroup_positive,
    ]
    assert len({each.edges for each in sets}) == 1
    assert sum(each.rows for each in sets) == 500
    assert found.subgroup_positive.rows == np.count_nonzero((cat == 1) & (rows.labels == 1))
    annotated = Rows.of(rows.labels, rows.predictions, {"cat": cat}, background="annotated")
    without_blanks = score_distributions(annotated, "cat")
    assert without_blanks.background_negative.rows == np.count_nonzero((cat == 0) & (rows.labels == 0))
    assert list(all_distributions(rows, bins=20)) == [found]
    assert json.loads(json.dumps(found.as_dict()))["subgroup_negative"]["rows"] == sets[2].rows
