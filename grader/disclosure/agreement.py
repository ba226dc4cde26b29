"""Does a column agree with something hidden, however it is called, coded or scaled?"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Of the rarer class so many may be told wrongly: a corrected or slightly noisy copy is a copy.
TOLERANCE = 0.02
# An agreement by chance has a probability below 2^-BITS, beside what choosing the coding makes likelier.
BITS = 20.0
MOST_CATEGORIES = 16
MANY = 255
BLANK = 0
TARGETS_AT_ONCE = 8
NEARLY = 1e-9
FIRST_LOOK_ROWS = 4_000
FIRST_LOOK_SLACK = 5.0


@dataclass(frozen=True, eq=False)
class Values:
    """What a column says of some rows.

    Attributes
    ----------
    rows : array of intp, shape (m,)
        Which rows of the truth.
    codes : array of uint8, shape (m,), or None
        Categories from 0 on, `BLANK` for an empty field; None where there are too many.
    numbers : array of float64, shape (m,)
        NaN where the field is no number.
    """

    rows: NDArray[np.intp]
    codes: NDArray[np.uint8] | None
    numbers: NDArray[np.float64]


def agreeing(values: Values, truths: NDArray[np.bool_], raw: list[NDArray[np.float64] | None]) -> list[int]:
    """Return the numbers of the targets that a column gives away.

    Parameters
    ----------
    values : Values
    truths : array of bool, shape (n, k)
    raw : list of array of float64 or None, each of shape (n,)
        What the solution says in numbers.

    Returns
    -------
    list of int
        Those that some coding of few categories, some threshold of a number in either direction, or the
        numbers themselves give (nearly) without error, and more surely than chance would.
    """
    found = set()
    if values.codes is not None:
        found |= _by_category(values.codes, truths[values.rows])
    is_number = np.isfinite(values.numbers)
    if np.count_nonzero(is_number) > 1:
        rows, numbers = values.rows[is_number], values.numbers[is_number]
        found |= _by_threshold(numbers, truths[rows], found)
        for target, said in enumerate(raw):
            if target not in found and said is not None and _are_equal(numbers, said[rows]):
                found.add(target)
    return sorted(found)


def is_no_chance(rows: int, rarer: int, errors: int, choices: float) -> bool:
    """Tell whether so few errors are surer than chance, `choices` being how many bits the coding chose."""
    if not rarer or errors > TOLERANCE * rarer:
        return False
    return _bits(rows, rarer) - _bits(rows, errors) - choices >= BITS


def _bits(rows: int, chosen: int) -> float:
    """Return the logarithm, to base 2, of how many ways there are to choose some of the rows."""
    log = math.lgamma(rows + 1) - math.lgamma(chosen + 1) - math.lgamma(rows - chosen + 1)
    return log / math.log(2)


def _by_category(codes: NDArray[np.uint8], truths: NDArray[np.bool_]) -> set[int]:
    rows = np.bincount(codes)
    used = np.flatnonzero(rows)
    if used.size < 2:
        return set()
    true = np.stack([truths[codes == code].sum(axis=0) for code in used])
    false = rows[used][:, None] - true
    errors, positives = np.minimum(true, false).sum(axis=0), true.sum(axis=0)
    return {
        target
        for target in range(truths.shape[1])
        if is_no_chance(
            codes.size,
            min(int(positives[target]), codes.size - int(positives[target])),
            int(errors[target]),
            float(used.size),
        )
    }


def _by_threshold(numbers: NDArray[np.float64], truths: NDArray[np.bool_], known: set[int]) -> set[int]:
    left = [target for target in range(truths.shape[1]) if target not in known]
    if numbers.size > 2 * FIRST_LOOK_ROWS:  # a hopeless column shows it in a part of its rows
        part = slice(0, FIRST_LOOK_ROWS)
        first = _least(numbers[part], truths[part], left)
        left = [target for target, errors, rarer in first if _may(errors, rarer)]
    choices = math.log2(numbers.size) + 1
    return {
        target
        for target, errors, rarer in _least(numbers, truths, left)
        if is_no_chance(numbers.size, rarer, errors, choices)
    }


def _may(errors: int, rarer: int) -> bool:
    return errors <= FIRST_LOOK_SLACK * TOLERANCE * rarer + FIRST_LOOK_SLACK


def _least(
    numbers: NDArray[np.float64], truths: NDArray[np.bool_], targets: list[int]
) -> list[tuple[int, int, int]]:
    """Return each target with the errors of its best threshold and the rows of its rarer class."""
    order = np.argsort(numbers, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(numbers[order]) > 0, True))  # equal numbers are not divided
    found = []
    for first in range(0, len(targets), TARGETS_AT_ONCE):
        some = targets[first : first + TARGETS_AT_ONCE]
        below = truths[order][:, some].cumsum(axis=0, dtype=np.int64)[ends]
        positives = below[-1]
        wrong = below + (numbers.size - positives) - ((ends + 1)[:, None] - below)
        errors = np.minimum(wrong.min(axis=0), (numbers.size - wrong).min(axis=0))
        found += [
            (target, int(least), min(int(count), numbers.size - int(count)))
            for target, least, count in zip(some, errors, positives, strict=True)
        ]
    return found


def _are_equal(numbers: NDArray[np.float64], said: NDArray[np.float64]) -> bool:
    """Tell whether a column repeats the solution's numbers, where these are more than two."""
    few = slice(0, FIRST_LOOK_ROWS)
    if np.count_nonzero(np.abs(said[few] - numbers[few]) > NEARLY) > said[few].size // 4:
        return False
    there = np.isfinite(said)
    if np.count_nonzero(there) < 2:
        return False
    said, numbers = said[there], numbers[there]
    distinct, counts = np.unique(said, return_counts=True)
    is_rare = said != distinct[counts.argmax()]
    differing = np.abs(said - numbers) > NEARLY
    rare = int(np.count_nonzero(is_rare))
    return distinct.size > 2 and is_no_chance(said.size, rare, int(np.count_nonzero(differing)), 0.0)
