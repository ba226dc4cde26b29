"""Theorems 3.1 to 3.3 of Borkan et al. (2019) for the curve of Figure 2."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid  # numpy.trapezoid requires NumPy 2

from fairboard.bias.analysis import Data
from fairboard.bias.analysis.data import count
from fairboard.bias.analysis.distributions import aeg, equality_curve, widest
from tests.fixtures.examples import examples

predictions = st.one_of(st.integers(-3, 3).map(float), st.floats(0, 1), st.floats(-1e300, 1e300))
sets = st.lists(predictions, min_size=1, max_size=30)


def data_of(subgroup, background, label_class="positive"):
    labels = np.full(len(subgroup) + len(background), label_class == "positive")
    return Data.of(labels, {"cat": [1] * len(subgroup) + [0] * len(background)})


def curve_of(subgroup, background, label_class="positive"):
    data = data_of(subgroup, background, label_class)
    return equality_curve(data, [*subgroup, *background], "cat", label_class)


@examples(50)
@given(label_class=st.sampled_from(["positive", "negative"]), subgroup=sets, background=sets)
def test_all_definitions_of_the_aeg_agree(label_class, subgroup, background):
    curve = curve_of(subgroup, background, label_class)
    # Definition 2, with the sign of the other definitions: the area between the diagonal and the curve.
    x, y = (np.append(0, curve[f"{part}_rate"]) for part in ("subgroup", "background"))
    assert trapezoid(x - y, x) == pytest.approx(aeg(curve), abs=1e-12)
    # Definition 3: the share of pairs in which the background row is above; ties count one half.
    pairs = [(b > s) + (b == s) / 2 for b in background for s in subgroup]
    assert aeg(curve) == pytest.approx(0.5 - sum(pairs) / len(pairs), abs=1e-15)
    # Definition 4: the Mann-Whitney statistic that the score uses.
    counted = count(data_of(subgroup, background, label_class), [*subgroup, *background])
    assert aeg(curve) == counted["cat"][f"{label_class}_aeg"].gap


@examples(30)
@given(subgroup=sets, times=st.integers(1, 4))
def test_zero_equality_gap_at_every_threshold_implies_zero_aeg(subgroup, times):
    curve = curve_of(subgroup, subgroup * times)
    assert (curve["equality_gap"] == 0).all()
    assert aeg(curve) == 0


def test_zero_aeg_implies_that_the_curve_meets_the_diagonal_between_its_ends():
    curves = [curve_of(*np.random.default_rng(seed).integers(0, 4, (2, 3))) for seed in range(200)]
    balanced = [curve["equality_gap"][:-1] for curve in curves if aeg(curve) == 0]
    assert balanced and all(gaps.empty or gaps.min() <= 0 <= gaps.max() for gaps in balanced)


def test_the_widest_gap_of_either_class_has_the_same_sign():
    for each in ("positive", "negative"):
        curve = curve_of([0.9, 0.8, 0.3, 0.1], [0.7, 0.2], each)
        assert widest(curve)[["threshold", "equality_gap"]].tolist() == [0.8, 0.5]
    assert aeg(curve_of([0.9, 0.8], [0.1, 0.2], "negative")) == 0.5


def test_curve_requires_both_sets_and_excludes_blanks():
    data = data_of([0.5], [])
    assert all(np.isnan(aeg(equality_curve(data, [0.5], "cat", each))) for each in ("positive", "negative"))
    blank = Data.of([1, 1, 1], {"cat": [1, np.nan, 0]}, background="annotated")
    assert aeg(equality_curve(blank, [0.5, 0.9, 0.1], "cat", "positive")) == 0.5
