"""Theorems 3.1 to 3.3 of Borkan et al. (2019) for the curve of Figure 2."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid  # numpy.trapezoid requires NumPy 2

from fairboard.bias.analysis import Rows
from fairboard.bias.analysis.curve import equality_curve, equality_curves
from fairboard.bias.analysis.rows import count

predictions = st.one_of(st.integers(-3, 3).map(float), st.floats(0, 1), st.floats(-1e300, 1e300))
sets = st.lists(predictions, min_size=1, max_size=30)
classes = pytest.mark.parametrize("label_class", ["positive", "negative"])


def rows_of(subgroup, background, label_class="positive"):
    labels = np.full(len(subgroup) + len(background), label_class == "positive")
    mentions = [1] * len(subgroup) + [0] * len(background)
    return Rows.of(labels, [*subgroup, *background], {"cat": mentions})


def curve_of(subgroup, background, label_class="positive"):
    return equality_curve(rows_of(subgroup, background, label_class), "cat", label_class)


@classes
@given(subgroup=sets, background=sets)
def test_all_definitions_of_the_aeg_agree(label_class, subgroup, background):
    curve = curve_of(subgroup, background, label_class)
    # Definition 2, with the sign of the other definitions: the area between the diagonal and the curve.
    area = trapezoid(curve.x - curve.y, curve.x)
    # Definition 3: the share of pairs in which the background row is above the subgroup row; ties count one
    # half.
    pairs = [(b > s) + (b == s) / 2 for b in background for s in subgroup]
    # Definition 4: the Mann-Whitney statistic that the score uses.
    counted = count(rows_of(subgroup, background, label_class)).cells["cat"][f"{label_class}_aeg"]
    assert curve.comparison == counted
    assert curve.aeg == counted.gap == 0.5 - sum(pairs) / len(pairs) or curve.aeg == pytest.approx(
        0.5 - sum(pairs) / len(pairs), abs=1e-15
    )
    assert area == pytest.approx(curve.aeg, abs=1e-12)


@given(subgroup=sets, times=st.integers(1, 4))
def test_zero_equality_gap_at_every_threshold_implies_zero_aeg(subgroup, times):
    curve = curve_of(subgroup, subgroup * times)
    assert all(curve.at(threshold).equality_gap == 0 for threshold in curve.thresholds)
    assert curve.aeg == 0
    assert curve.meets_diagonal()


@given(subgroup=sets, background=sets, shares=st.lists(st.floats(0.01, 1), min_size=1, max_size=5))
def test_thresholds_that_reach_shares_equal_those_of_a_search(subgroup, background, shares):
    curve = curve_of(subgroup, background)
    for share, found in zip(shares, curve.reaching(shares), strict=True):
        enough = [each for each in curve.thresholds if curve.at(each).background_rate >= share]
        assert found == max(enough)


def test_curve_with_zero_aeg_meets_the_diagonal_between_its_ends():
    small = [list(values) for size in (1, 2, 3) for values in combinations_with_replacement(range(4), size)]
    curves = [curve_of(subgroup, background) for subgroup in small for background in small]
    without_gap = [curve for curve in curves if curve.aeg == 0]
    assert 100 < len(without_gap) < len(curves)
    assert all(curve.meets_diagonal() for curve in without_gap)
    assert not all(curve.meets_diagonal() for curve in curves)


def test_curve_of_few_rows_can_meet_the_diagonal_only_between_thresholds():
    curve = curve_of([0.3, 0.1], [0.2, 0.2])
    assert curve.aeg == 0
    assert [curve.at(threshold).equality_gap for threshold in (0.3, 0.2, 0.1)] == [0.5, -0.5, 0.0]
    assert curve.meets_diagonal()


@given(
    subgroup=st.lists(st.floats(0, 1), min_size=1, max_size=20),
    background=st.lists(st.floats(0, 1), min_size=1, max_size=20),
)
def test_literal_equation_4_is_a_difference_of_means(subgroup, background):
    curve = curve_of(subgroup, background)
    # The rate is constant between neighboring thresholds.
    widths = -np.diff(curve.thresholds, append=0.0)
    integral = float(np.dot(curve.x[1:] - curve.y[1:], widths))
    assert integral == pytest.approx(np.mean(subgroup) - np.mean(background), abs=1e-12)


@given(subgroup=sets, background=sets)
def test_curve_rises_monotonically_from_no_rows_to_all_rows(subgroup, background):
    curve = curve_of(subgroup, background)
    for rates in (curve.x, curve.y):
        assert (rates[0], rates[-1]) == (0, 1)
        assert (np.diff(rates) >= 0).all()
    assert -0.5 <= curve.aeg <= 0.5


def test_mark_between_predictions_has_the_rates_at_its_threshold():
    curve = curve_of([0.9, 0.8, 0.3, 0.1], [0.7, 0.2])
    mark = curve.at(0.5)
    assert (mark.subgroup_rate, mark.background_rate, mark.equality_gap) == (0.5, 0.5, 0)
    assert curve.at(0.7).background_rate == 0.5
    assert curve.at(0.71).background_rate == 0
    assert curve.at(2).equality_gap == curve.at(-2).equality_gap == 0
    assert curve.widest().threshold == 0.8
    assert curve.widest().equality_gap == 0.5


def test_negative_class_has_false_positive_rates_with_the_same_sign():
    curve = curve_of([0.9, 0.8], [0.1, 0.2], "negative")
    assert curve.aeg == 0.5
    assert curve.at(0.5).subgroup_rate == 1
    assert curve.at(0.5).background_rate == 0


def test_curve_requires_both_sets():
    rows = rows_of([0.5], [])
    assert equality_curve(rows, "cat", "positive") is None
    assert equality_curve(rows, "cat", "negative") is None


def test_batch_curves_equal_single_curves():
    rng = np.random.default_rng(2)
    identities = {name: rng.choice([0, 1, np.nan], 200) for name in ("cat", "dog")} | {"cow": np.zeros(200)}
    for background in ("all", "annotated"):
        rows = Rows.of(rng.integers(0, 2, 200), rng.integers(0, 50, 200), identities, background=background)
        found = {(curve.name, curve.label_class): curve.as_dict() for curve in equality_curves(rows)}
        assert found == {
            (name, label_class): equality_curve(rows, name, label_class).as_dict()
            for name in ("cat", "dog")
            for label_class in ("positive", "negative")
        }
        for (name, label_class), curve in found.items():
            assert curve["aeg"] == count(rows).cells[name][f"{label_class}_aeg"].gap


def test_annotated_background_excludes_blanks():
    rows = Rows.of([1, 1, 1], [0.5, 0.9, 0.1], {"cat": [1, np.nan, 0]}, background="annotated")
    assert equality_curve(rows, "cat", "positive").aeg == 0.5


def test_plotted_points_are_few_and_include_both_ends():
    rng = np.random.default_rng(1)
    curve = curve_of(rng.random(2000), rng.random(3000))
    points = curve.points(50)
    assert len(points) <= 50
    assert (points[0], points[-1]) == ((0, 0), (1, 1))
    data = curve.as_dict()
    assert data["aeg"] == curve.aeg
    assert (data["subgroup_rows"], data["background_rows"]) == (2000, 3000)
    assert len(data["points"]) <= 200
