"""Histograms and moments of predictions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairboard.bias.analysis import Data
from fairboard.bias.analysis.distributions import even_edges, score_histograms, score_moments
from tests.fixtures.examples import examples

SETS = ("background_negative", "background_positive", "subgroup_negative", "subgroup_positive")
# The mean of subnormal numbers has too few digits for the tolerance.
SCORES = st.one_of(st.floats(-1e100, 1e100, allow_subnormal=False), st.integers(-3, 3).map(float))


@examples(50)
@given(st.lists(SCORES, min_size=1, max_size=60), st.integers(1, 12))
def test_sets_have_the_histograms_and_moments_of_their_rows(predictions, bins):
    dice = np.random.default_rng(len(predictions))
    mentions, labels = dice.integers(0, 2, (2, len(predictions)))
    data, scores = Data.of(labels, {"cat": mentions}), np.array(predictions)
    found, moments = score_histograms(data, scores, "cat", bins=bins), score_moments(data, scores, "cat")
    assert found[list(SETS)].to_numpy().sum() == scores.size
    scale = np.abs(scores).max() or 1.0
    for place, name in enumerate(SETS):
        alone = scores[(labels == place % 2) & (mentions == place // 2)]
        assert found[name].tolist() == np.histogram(alone, even_edges(scores, bins))[0].tolist()
        assert moments.loc[name, "rows"] == alone.size
        if alone.size:
            assert moments.loc[name, "mean"] / scale == pytest.approx((alone / scale).mean(), abs=1e-12)
            assert moments.loc[name, "deviation"] / scale == pytest.approx((alone / scale).std(), abs=1e-7)


@pytest.mark.parametrize(
    ("predictions", "edges"),
    [([0.2, 0.4], (0, 0.5, 1)), ([-1.0, 3.0], (-1, 1, 3)), ([7.0], (6.5, 7, 7.5)), ([], (0, 0.5, 1))],
)
def test_edges_span_0_to_1_for_probabilities_and_the_range_otherwise(predictions, edges):
    assert even_edges(np.array(predictions), 2).tolist() == list(edges)
