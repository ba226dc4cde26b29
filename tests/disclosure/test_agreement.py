"""Agreement beyond chance between a column and a target: codes and thresholds."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from grader.disclosure import agreement
from grader.disclosure.agreement import agreeing, is_no_chance

ROWS = 400
RANDOM = np.random.default_rng(11)
TRUE = RANDOM.random(ROWS) < 0.3
OTHER = RANDOM.random(ROWS) < 0.5
TRUTHS = np.stack([TRUE, OTHER], axis=1)


def texts(values) -> list[str]:
    return [str(value) for value in np.asarray(values).tolist()]


def wrong(values, count: int):
    """Invert the first true rows."""
    values = np.array(values)
    values[np.flatnonzero(TRUE)[:count]] ^= True
    return values


RARER = int(np.count_nonzero(TRUE))
ALLOWED = int(agreement.TOLERANCE * RARER)


@pytest.mark.parametrize(
    ("column", "found"),
    [
        (TRUE, [0]),
        (~TRUE, [0]),
        (np.where(TRUE, "toxic", ""), [0]),
        (np.where(TRUE, RANDOM.integers(0, 4, ROWS), RANDOM.integers(4, 8, ROWS)), [0]),
        (OTHER, [1]),
        (TRUE + 2 * OTHER, [0, 1]),
        (np.zeros(ROWS), []),
        (RANDOM.integers(0, 9, ROWS), []),
        (wrong(TRUE, ALLOWED), [0]),
        (wrong(TRUE, ALLOWED + 1), []),
        (7 * TRUE + RANDOM.random(ROWS), [0]),
        (-7 * TRUE + RANDOM.random(ROWS), [0]),
        (np.where(OTHER, np.nan, 7 * TRUE + RANDOM.random(ROWS)), [0]),
        (RANDOM.random(ROWS), []),
        (np.full(ROWS, np.nan), []),
        (wrong(TRUE, ALLOWED) + RANDOM.random(ROWS) / 2, [0]),
        (wrong(TRUE, ALLOWED + 1) + RANDOM.random(ROWS) / 2, []),
    ],
)
def test_disclosed_target_is_found_and_no_other(column, found: list[int]):
    assert agreeing(texts(column), TRUTHS) == found
    assert agreeing(texts(column), ~TRUTHS) == found  # The negative rows are now the rarer class.


def test_no_rows_disclose_nothing():
    assert agreeing([], TRUTHS[:0]) == []
    assert agreeing(["1"], TRUTHS[:1]) == []


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


def test_best_threshold_equals_that_of_an_exhaustive_search(monkeypatch: pytest.MonkeyPatch):
    counted: list[list[int]] = []
    monkeypatch.setattr(agreement, "_beyond_chance", lambda _, errors, __: counted.append(errors.tolist()))
    for seed in range(20):
        random = np.random.default_rng(seed)
        numbers = random.integers(0, 6, 12).astype(float)
        truths = random.random((12, 10)) < 0.4
        agreement._by_threshold(numbers, truths)
        expected = [
            min(
                int(np.count_nonzero((numbers > cut) != (true ^ is_turned)))
                for cut, is_turned in product([-1, *range(6)], (False, True))
            )
            for true in truths.T
        ]
        assert counted.pop() == expected
