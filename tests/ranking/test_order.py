"""Rounding, ranking and tie-breaking."""

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.ranking import order
from grader.ranking.order import TeamEntry

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)

unit_floats = st.floats(min_value=0, max_value=1)


def entry(submission_id, units, *, second=0, team_id=1):
    return TeamEntry(team_id, submission_id, units, NOON + timedelta(seconds=second))


@given(unit_floats)
def test_score_is_rounded_to_the_nearest_multiple_of_the_exact_value(score):
    error = abs(Fraction(order.SCALE.units(score), 10**5) - Fraction(score))
    assert error <= Fraction(1, 2 * 10**5)


@given(st.integers(0, 10**5 - 1), st.sampled_from([-1, 0, 1]))
def test_score_next_to_a_tie_is_rounded_like_a_decimal(below, side):
    tie = (below + 0.5) / 10**5
    score = math.nextafter(tie, side * math.inf) if side else tie
    assert order.SCALE.units(score) == order.round_half_even(score, 5) * 10**5


@pytest.mark.parametrize(
    ("score", "units"),
    [
        (0.5, 50000),
        (1.0, 100000),
        (0.0, 0),
        # The floats are 0.93412499999999998…, 0.00000500000000000000040… and 0.00001500000000000000038….
        (0.934125, 93412),
        (0.000005, 1),
        (0.000015, 2),
        (2.0**-5 + 2.0**-6 + 2.0**-10, 4785),
    ],
)
def test_score_is_rounded_from_the_exact_value_of_the_float(score, units):
    assert order.SCALE.units(score) == units


@pytest.mark.parametrize(("value", "expected"), [(0.125, "0.12"), (0.375, "0.38"), (0.625, "0.62")])
def test_exact_half_is_rounded_to_the_even_digit(value, expected):
    assert order.round_half_even(value, 2) == Decimal(expected)
    assert order.rounded_cell(value) == float(expected)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.125, "0.12500"), (-9e9, "-9000000000.00000"), (1e23, "1.00000e+23"), (-1e290, "-1.00000e+290")],
)
def test_huge_terms_are_displayed_with_an_exponent(value, text):
    assert order.term_text(float(order.round_half_even(value, 5)), 5) == text
    assert len(order.error_text(abs(value))) < 12


def test_minus_zero_is_never_shown():
    assert str(order.round_half_even(-0.001, 2)) == "0.00"
    assert str(order.rounded_cell(-0.001)) == "0.0"
    assert order.rounded_cell(None) is None


@given(st.integers(0, 10**5))
def test_displayed_score_has_five_decimals_and_can_be_parsed_back(units):
    text = order.SCALE.text(units)
    assert len(text.partition(".")[2]) == 5
    assert order.SCALE.units(float(text)) == units
    assert Decimal(text) * 10**5 == units


def test_higher_scores_come_first_then_earlier_submissions_then_lower_ids():
    lines = ((4, 5, 1, 40), (3, 5, 2, 30), (2, 5, 1, 20), (8, 5, 0, 90), (9, 6, 9, 90))
    board = [entry(each, units, second=second, team_id=team) for each, units, second, team in lines]
    assert [each.submission_id for each in order.rank(board)] == [9, 2, 4, 3]


def test_selected_submissions_are_kept_and_the_rest_is_filled():
    mine = [entry(1, 5), entry(2, 9), entry(3, 7)]
    assert order.select_automatically(mine, picked=[1]) == (1, 2)
    assert order.select_automatically(mine, picked=[1, 3]) == (3, 1)
    assert order.select_automatically(mine, picked=[99]) == (2, 3)
    assert order.select_automatically([entry(1, 5)]) == (1,)


ERRORS = order.Scale(decimals=3, is_lowest_best=True)


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_more_units_are_better_if_the_lowest_score_is_the_best(one, other):
    units = ERRORS.units(one), ERRORS.units(other)
    assert (units[0] > units[1]) <= (one < other)
    assert Decimal(ERRORS.text(units[0])) == order.round_half_even(one, 3)
    assert ERRORS.value(units[0]) == float(ERRORS.text(units[0]))


@pytest.mark.parametrize("decimals", [0, 2, 5, 8])
@given(score=st.floats(-9e7, 9e7))
def test_units_of_large_scores_are_rounded_from_the_exact_value(decimals, score):
    scale = order.Scale(decimals)
    assert scale.units(score) == int(order.round_half_even(score, decimals).scaleb(decimals))


@pytest.mark.parametrize("decimals", [0, 5, 15])
@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(1e12, 1e300))
def test_scores_beyond_the_exact_units_rank_by_six_digits(decimals, one, other):
    scale = order.Scale(decimals)
    first, second = scale.units(one), scale.units(other)
    assert max(abs(first), second) < 2**63
    shown = [float(scale.text(units)) for units in (first, second)]
    assert (first > second) == (shown[0] > shown[1]) and (first == second) == (shown[0] == shown[1])
    assert shown[1] == pytest.approx(other, rel=1e-5) and scale.value(second) == pytest.approx(
        other, rel=1e-5
    )
    lowest = order.Scale(decimals, is_lowest_best=True)
    assert lowest.text(lowest.units(other)) == scale.text(second) and lowest.units(other) < 0


def test_differences_of_huge_scores_are_those_of_their_values():
    scale = order.Scale(is_lowest_best=True)
    units = [scale.units(score) for score in (1e12, 4e12, 2.5)]
    assert [scale.text(each) for each in units] == ["1.00000e+12", "4.00000e+12", "2.50000"]
    assert scale.size_text(scale.difference(units[0], units[1])) == "3.00000e+12"
    assert scale.signed_text(scale.difference(units[0], units[2])) == "+1.00000e+12"
    assert scale.difference(units[2], scale.units(1.5)) == -100_000


def test_changes_have_the_sign_of_the_displayed_score():
    assert [order.SCALE.signed_text(each) for each in (120, 0, -120)] == ["+0.00120", "0.00000", "-0.00120"]
    assert [ERRORS.signed_text(each) for each in (120, 0, -120)] == ["-0.120", "0.000", "+0.120"]
    assert [ERRORS.size_text(each) for each in (120, -120)] == ["0.120", "0.120"]


def test_a_band_shows_its_worst_score():
    assert order.SCALE.text(order.SCALE.band(order.SCALE.units(0.9176), 0.005)) == "0.91500"
    assert ERRORS.text(ERRORS.band(ERRORS.units(12.3), 0.5)) == "12.500"
    whole = order.Scale(0, is_lowest_best=True)
    assert whole.band(whole.units(12.3), 0.0005) == -12  # at least one unit
