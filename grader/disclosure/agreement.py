"""Agreement between a column and hidden values, for any column name, coding or scale."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

# The permitted errors, as a share of the rarer class. A corrected or slightly noisy copy still counts as a
# copy.
TOLERANCE = 0.02
# A chance agreement must have a probability below 2^-BITS, after a correction for the choice of the coding.
BITS = 20.0
MOST_CATEGORIES = 16
BLANK = 0
TARGETS_AT_ONCE = 8
NEARLY = 1e-9
FIRST_LOOK_ROWS = 4_000
FIRST_LOOK_SLACK = 5.0


@dataclass(frozen=True, eq=False)
class Values:
    """A column's values for some rows.

    Attributes
    ----------
    rows : array of intp, shape (m,)
        Indices of the rows in the targets.
    codes : array of uint8, shape (m,), or None
        Category numbers; `BLANK` stands for an empty field. None if there are too many categories.
    numbers : array of float64, shape (m,), or None
        Numeric values, with NaN for fields that are not numeric. None if no field is numeric.
    """

    rows: NDArray[np.intp]
    codes: NDArray[np.uint8] | None
    numbers: NDArray[np.float64] | None


def agreeing(values: Values, truths: NDArray[np.bool_], raw: list[NDArray[np.float64] | None]) -> list[int]:
    """Return the indices of the targets that a column discloses.

    Parameters
    ----------
    values : Values
    truths : array of bool, shape (n, k)
    raw : list of array of float64 or None, each of shape (n,)
        The solution's numeric values for each target.

    Returns
    -------
    list of int
        The targets that a coding of a few categories, a threshold on the numbers in either direction, or the
        numbers themselves match with (nearly) no errors and more closely than chance explains.
    """
    found = set()
    if values.codes is not None:
        found |= _by_category(values.codes, truths[values.rows])
    rows, numbers = _numbers(values)
    if numbers.size > 1:
        found |= _by_threshold(numbers, truths[rows], found)
        for target, said in enumerate(raw):
            if target not in found and said is not None and _are_equal(numbers, said[rows]):
                found.add(target)
    return sorted(found)


@dataclass(frozen=True, eq=False)
class Bounds:
    """Upper bounds on the errors of a column that agrees with a target.

    Further rows never reduce a column's errors, so a column that exceeds all bounds can no longer agree.
    """

    truths: NDArray[np.bool_]
    raw: list[NDArray[np.float64] | None]

    @cached_property
    def _most(self) -> NDArray[np.float64]:
        true = self.truths.sum(axis=0)
        most: NDArray[np.float64] = TOLERANCE * np.minimum(true, self.truths.shape[0] - true)
        return most

    @cached_property
    def _most_differing(self) -> dict[int, float]:
        found = {}
        for target, said in enumerate(self.raw):
            if said is not None:
                _, counts = np.unique(said[np.isfinite(said)], return_counts=True)
                found[target] = TOLERANCE * float(counts.sum() - counts.max(initial=0))
        return found

    def may_agree(self, values: Values) -> bool:
        """Return whether a column may still agree with a target once further rows are added."""
        if values.numbers is None:
            return True  # numeric values may follow, and text columns with many values use almost no memory
        if values.codes is not None:
            errors, _ = _errors(values.codes, self.truths[values.rows])
            if (errors <= self._most).any():
                return True
        rows, numbers = _numbers(values)
        least = _least(numbers, self.truths[rows], list(range(self.truths.shape[1]))) if numbers.size else []
        if not numbers.size or any(errors <= self._most[target] for target, errors, _ in least):
            return True
        for target, most in self._most_differing.items():
            said = self.raw[target]
            if said is not None and np.count_nonzero(np.abs(said[rows] - numbers) > NEARLY) <= most:
                return True
        return False


def _numbers(values: Values) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the rows with numeric values, and the values."""
    if values.numbers is None:
        return values.rows[:0], np.empty(0)
    is_number = np.isfinite(values.numbers)
    return values.rows[is_number], values.numbers[is_number]


def is_no_chance(rows: int, rarer: int, errors: int, choices: float) -> bool:
    """Return whether so few errors rule out chance; `choices` is the information in the coding."""
    if not rarer or errors > TOLERANCE * rarer:
        return False
    return _bits(rows, rarer) - _bits(rows, errors) - choices >= BITS


def _bits(rows: int, chosen: int) -> float:
    """Return the binary logarithm of the number of ways to choose some of the rows."""
    log = math.lgamma(rows + 1) - math.lgamma(chosen + 1) - math.lgamma(rows - chosen + 1)
    return log / math.log(2)


def _by_category(codes: NDArray[np.uint8], truths: NDArray[np.bool_]) -> set[int]:
    used = np.unique(codes).size
    if used < 2:
        return set()
    errors, positives = _errors(codes, truths)
    return {
        target
        for target in range(truths.shape[1])
        if is_no_chance(
            codes.size,
            min(int(positives[target]), codes.size - int(positives[target])),
            int(errors[target]),
            float(used),
        )
    }


def _errors(codes: NDArray[np.uint8], truths: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return, for each target, the errors of the best coding and the number of positive rows."""
    rows = np.bincount(codes)
    used = np.flatnonzero(rows)
    true = np.stack([truths[codes == code].sum(axis=0) for code in used])
    return np.minimum(true, rows[used][:, None] - true).sum(axis=0), true.sum(axis=0)


def _by_threshold(numbers: NDArray[np.float64], truths: NDArray[np.bool_], known: set[int]) -> set[int]:
    left = [target for target in range(truths.shape[1]) if target not in known]
    if numbers.size > 2 * FIRST_LOOK_ROWS:  # a subset of the rows is enough to exclude most targets
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
    """Return, for each target, the errors of the best threshold and the size of the rarer class."""
    order = np.argsort(numbers, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(numbers[order]) > 0, True))  # a threshold cannot separate ties
    found = []
    for first in range(0, len(targets), TARGETS_AT_ONCE):
        some = targets[first : first + TARGETS_AT_ONCE]
        below = truths[:, some][order].cumsum(axis=0, dtype=np.int32)[ends]
        positives = below[-1]
        wrong = below + (numbers.size - positives) - ((ends + 1)[:, None].astype(np.int32) - below)
        errors = np.minimum(wrong.min(axis=0), (numbers.size - wrong).min(axis=0))
        found += [
            (target, int(least), min(int(count), numbers.size - int(count)))
            for target, least, count in zip(some, errors, positives, strict=True)
        ]
    return found


def _are_equal(numbers: NDArray[np.float64], said: NDArray[np.float64]) -> bool:
    """Return whether a column repeats the solution's numbers, if there are more than two."""
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
