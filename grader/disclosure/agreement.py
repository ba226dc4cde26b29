"""Agreement between a column and hidden values, for any column name or scale."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# The permitted errors, as a share of the rarer class. A corrected or slightly noisy copy still counts as a
# copy.
TOLERANCE = 0.02
# A chance agreement must have a probability below 2^-BITS, after a correction for the choice of the coding.
BITS = 20.0
MOST_CATEGORIES = 16


def agreeing(
    texts: Sequence[str], truths: NDArray[np.bool_], *, most_categories: int = MOST_CATEGORIES
) -> list[int]:
    """Return the indices of the targets that a column discloses.

    Parameters
    ----------
    texts : sequence of str
        The values of the column for m rows.
    truths : array of bool, shape (m, k)
    most_categories : int
        The number of different values up to which each value may stand for a class.

    Returns
    -------
    list of int
        The targets that a coding of a few categories or a threshold on the numbers in either direction match
        with (nearly) no errors and more closely than chance explains.
    """
    categories = {text: code for code, text in enumerate(dict.fromkeys(texts))}
    columns = set()
    if 2 <= len(categories) <= most_categories:
        columns |= _by_category(np.array([categories[text] for text in texts]), truths)
    number_of = {text: _number(text) for text in categories}
    numbers = np.array([number_of[text] for text in texts])
    is_number = np.isfinite(numbers)
    if np.count_nonzero(is_number) > 1:
        columns |= _by_threshold(numbers[is_number], truths[is_number])
    return sorted(columns)


def is_copy(texts: Sequence[str], written: NDArray[np.object_]) -> bool:
    """Return whether a column contains (nearly) the same texts, and more closely than chance explains."""
    counts = np.unique(written.astype(str), return_counts=True)[1]
    if counts.size < 2:
        return False
    pairs = zip(texts, written.tolist(), strict=True)
    errors = sum(text.casefold() != each.strip().casefold() for text, each in pairs)
    return is_no_chance(len(texts), len(texts) - int(counts.max()), errors, 0.0)


def is_no_chance(rows: int, rarer: int, errors: int, choices: float) -> bool:
    """Return whether so few errors rule out chance; `choices` is the information in the coding."""
    if not rarer or errors > TOLERANCE * rarer:
        return False
    return _bits(rows, rarer) - _bits(rows, errors) - choices >= BITS


def _bits(rows: int, chosen: int) -> float:
    """Return the binary logarithm of the number of ways to choose some of the rows."""
    log = math.lgamma(rows + 1) - math.lgamma(chosen + 1) - math.lgamma(rows - chosen + 1)
    return log / math.log(2)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _by_category(codes: NDArray[np.intp], truths: NDArray[np.bool_]) -> set[int]:
    rows = np.bincount(codes)
    true = np.stack([truths[codes == code].sum(axis=0) for code in range(rows.size)])
    errors = np.minimum(true, rows[:, None] - true).sum(axis=0)  # of the best coding for each target
    return _beyond_chance(truths, errors, float(rows.size))


def _by_threshold(numbers: NDArray[np.float64], truths: NDArray[np.bool_]) -> set[int]:
    order = np.argsort(numbers, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(numbers[order]) > 0, True))  # a threshold cannot separate ties
    below = truths[order].cumsum(axis=0, dtype=np.int32)[ends]
    # Positive rows up to the threshold and negative rows above it are wrong, or else all others.
    wrong = below + (numbers.size - below[-1]) - ((ends + 1)[:, None].astype(np.int32) - below)
    errors = np.minimum(wrong.min(axis=0), (numbers.size - wrong).min(axis=0))
    return _beyond_chance(truths, errors, math.log2(numbers.size) + 1)


def _beyond_chance(truths: NDArray[np.bool_], errors: NDArray[np.intp], choices: float) -> set[int]:
    rows, positives = truths.shape[0], truths.sum(axis=0)
    rarer = np.minimum(positives, rows - positives)
    return {
        target
        for target in range(truths.shape[1])
        if is_no_chance(rows, int(rarer[target]), int(errors[target]), choices)
    }
