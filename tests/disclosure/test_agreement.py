"""Agreement beyond chance between a column and a target: codes, thresholds, numbers."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from grader.disclosure import agreement
from grader.disclosure.agreement import Bounds, Values, agreeing, is_no_chance

ROWS = 400
RANDOM = np.random.default_rng(11)
TRUE = RANDOM.random(ROWS) < 0.3
OTHER = RANDOM.random(ROWS) < 0.5
TRUTHS = np.stack([TRUE, OTHER], axis=1)
SAID = np.where(TRUE, RANDOM.choice([0.6, 0.8, 1.0], ROWS), RANDOM.choice([0.0, 0.2, 0.4], ROWS))
RAW: list[Any] = [SAID, None]
ALL = np.arange(ROWS)


def column(*, codes=None, numbers=None, rows=ALL) -> Values:
    return Values(
        rows,
        None if codes is None else np.asarray(codes, np.uint8),
        None if numbers is None else np.asarray(numbers, np.float64),
    )


def wrong(values, count: int):
    """Invert the first true rows."""
    values = np.array(values)
    values[np.flatnonzero(TRUE)[:count]] ^= True
    return values


RARER = int(np.count_nonzero(TRUE))
ALLOWED = int(agreement.TOLERANCE * RARER)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (column(codes=TRUE), [0]),
        (column(codes=~TRUE), [0]),
        (column(codes=np.where(TRUE, RANDOM.integers(0, 4, ROWS), RANDOM.integers(4, 8, ROWS))), [0]),
        (column(codes=OTHER), [1]),
        (column(codes=TRUE + 2 * OTHER), [0, 1]),
        (column(codes=np.zeros(ROWS)), []),
        (column(codes=RANDOM.integers(0, 9, ROWS)), []),
        (column(codes=wrong(TRUE, ALLOWED)), [0]),
        (column(codes=wrong(TRUE, ALLOWED + 1)), []),
        (column(numbers=7 * TRUE + RANDOM.random(ROWS)), [0]),
        (column(numbers=-7 * TRUE + RANDOM.random(ROWS)), [0]),
        (column(numbers=np.where(OTHER, np.nan, 7 * TRUE + RANDOM.random(ROWS))), [0]),
        (column(numbers=RANDOM.random(ROWS)), []),
        (column(numbers=np.full(ROWS, np.nan)), []),
        (column(numbers=wrong(TRUE, ALLOWED) + RANDOM.random(ROWS) / 2), [0]),
        (column(numbers=wrong(TRUE, ALLOWED + 1) + RANDOM.random(ROWS) / 2), []),
        (column(numbers=SAID), [0]),
        (column(codes=TRUE[::-1], rows=ALL[::-1]), [0]),
        (column(numbers=9.0 * TRUE[::-1], rows=ALL[::-1]), [0]),
    ],
)
def test_disclosed_target_is_found_and_no_other(values: Values, found: list[int]):
    assert agreeing(values, TRUTHS, RAW) == found
    if found:
        assert Bounds(TRUTHS, RAW).may_agree(values)
    assert agreeing(values, ~TRUTHS, RAW) == found  # The negative rows are now the rarer class.


def test_numbers_of_the_solution_are_recognized_without_a_threshold():
    said = RANDOM.choice([0.0, 0.25, 0.5, 0.75, 1.0], ROWS)
    within = (said == 0.25) | (said == 0.75)  # No threshold separates these rows.
    truths, raw = within[:, None], [said]
    assert agreeing(column(numbers=said), truths, raw) == [0]
    assert agreeing(column(numbers=said + 1e-10), truths, raw) == [0]
    assert agreeing(column(numbers=said + 1e-8), truths, raw) == []
    assert agreeing(column(numbers=said), truths, [None]) == []
    blank = np.where(np.arange(ROWS) % 9 == 0, np.nan, said)
    assert agreeing(column(numbers=blank), truths, raw) == [0]
    assert agreeing(column(numbers=said), truths, [blank]) == [0]
    two = np.where(said > 0.5, 1.0, 0.0)
    # Two distinct numbers contain no more information than true and false.
    assert not agreement._are_equal(two, two)
    assert agreement._are_equal(said, said)
    few = ALL[:5]
    assert agreeing(column(numbers=said[few], rows=few), truths, raw) == []


@pytest.mark.parametrize("rarer", [1, 20, 50])
@pytest.mark.parametrize("errors", [0, 1, 2])
def test_chance_is_the_share_of_possible_row_selections(rarer: int, errors: int):
    rows = 100
    bits = math.log2(Fraction(math.comb(rows, rarer), math.comb(rows, errors)))
    is_close_enough = errors <= agreement.TOLERANCE * rarer
    for choices in (0.0, bits - agreement.BITS - 1e-6, bits - agreement.BITS + 1e-6):
        expected = is_close_enough and bits - choices >= agreement.BITS
        assert is_no_chance(rows, rarer, errors, choices) is expected
    assert not is_no_chance(rows, 0, 0, 0.0)


def test_best_threshold_equals_that_of_an_exhaustive_search():
    for seed in range(20):
        random = np.random.default_rng(seed)
        numbers = random.integers(0, 6, 12).astype(float)
        truths = random.random((12, 10)) < 0.4
        for target, errors, rarer in agreement._least(numbers, truths, [9, *range(9)]):
            true = truths[:, target]
            tried = [
                int(np.count_nonzero((numbers > cut) != (true ^ is_turned)))
                for cut, is_turned in product([-1, *range(6)], (False, True))
            ]
            count = int(true.sum())
            assert (errors, rarer) == (min(tried), min(count, 12 - count))


def test_only_columns_with_too_many_errors_are_dropped():
    bounds = Bounds(TRUTHS, RAW)
    noise = RANDOM.random(ROWS)
    assert not bounds.may_agree(column(codes=RANDOM.integers(0, 9, ROWS), numbers=noise))
    assert not bounds.may_agree(column(numbers=noise))
    assert bounds.may_agree(column(codes=RANDOM.integers(0, 9, ROWS)))  # Later chunks may contain numbers.
    assert bounds.may_agree(column(codes=TRUE, numbers=noise))
    assert bounds.may_agree(column(numbers=np.full(ROWS, np.nan)))
    assert bounds.may_agree(column(numbers=noise[:3], rows=ALL[:3]))
    back = ALL[::-1]
    assert bounds.may_agree(column(codes=TRUE[back], numbers=noise, rows=back))
    said = RANDOM.choice([0.0, 0.25, 0.5, 0.75, 1.0], ROWS)
    within = ((said == 0.25) | (said == 0.75))[:, None]
    differing = int(agreement.TOLERANCE * (ROWS - np.unique(said, return_counts=True)[1].max()))
    for count, may in ((differing, True), (differing + 1, False)):
        copy = said.copy()
        copy[:count] += 0.1
        assert Bounds(within, [said]).may_agree(column(numbers=copy)) is may


def test_long_hopeless_column_is_dropped_after_its_first_rows_but_a_copy_is_kept():
    rows = 3 * agreement.FIRST_LOOK_ROWS
    random = np.random.default_rng(1)
    truths = (random.random(rows) < 0.2)[:, None]
    for numbers, found in ((5.0 * truths[:, 0] + random.random(rows), [0]), (random.random(rows), [])):
        values = Values(np.arange(rows), None, numbers)
        assert agreeing(values, truths, [None]) == found
    late = np.where(np.arange(rows) < agreement.FIRST_LOOK_ROWS, random.random(rows), truths[:, 0])
    assert agreeing(Values(np.arange(rows), None, late), truths, [None]) == []
