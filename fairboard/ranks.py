"""Dense ranks of predictions, from one sort or from bins."""

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairboard.bias.prepared import MAX_ROWS, BoolArray, FloatArray, IndexArray, as_vector, refuse_where

RankArray = NDArray[np.unsignedinteger[Any]]

_ALL_BUT_SIGN = 2**63 - 1
_MAX_BINS = 2**16
# Two of these rows share a bin if the predictions are not rounded, so the other rows are not binned.
_FIRST_ROWS = 2048


def dense_ranks(predictions: ArrayLike) -> RankArray:
    """Return the dense ranks of predictions: 0 for the lowest, equal ranks for ties, and no gaps.

    Parameters
    ----------
    predictions : array_like, shape (n,)
        Finite numbers, compared as float64; -0.0 equals 0.0.

    Returns
    -------
    ndarray of uint8, uint16 or uint32, shape (n,)
        The ranks in the smallest data type that can represent the highest rank.

    Raises
    ------
    ValueError
        If a value is not a finite number, or there are more than 2**30 values.

    Examples
    --------
    >>> dense_ranks([0.5, 0.9, 0.5, 0.1]).tolist()
    [1, 2, 1, 0]
    """
    return ranks_of("predictions", as_vector("predictions", predictions))


def ranks_of(argument: str, values: FloatArray) -> RankArray:
    """Return the dense ranks of an array, whose name an error message contains."""
    if values.size > MAX_ROWS:
        raise ValueError(f"`{argument}` has {values.size} rows; at most {MAX_ROWS} can be ranked.")
    if not values.size:
        return np.empty(0, np.uint8)
    extremes = float(values.min()), float(values.max())
    # Both `min` and `max` propagate NaN.
    if not all(map(math.isfinite, extremes)):
        refuse_where(~np.isfinite(values), argument, "finite")
    bins = separating_bins(values, extremes)
    if bins is not None:
        rank_of_bin = np.cumsum(np.bincount(bins) > 0) - 1
        return rank_of_bin.astype(np.min_scalar_type(int(rank_of_bin[-1])))[bins]
    rows, is_new = _sorted_rows(values, extremes)
    by_place = np.cumsum(is_new) - 1
    ranks = np.empty(values.size, np.min_scalar_type(int(by_place[-1])))
    ranks[rows] = by_place
    return ranks


def separating_bins(values: FloatArray, extremes: tuple[float, float]) -> IndexArray | None:
    """Return bins of equal width that have the order and the ties of the values, or None.

    Rounded predictions have such bins, and ranking by bin takes less time than sorting. Subtracting a number
    and dividing by a positive number preserve the order in floating-point arithmetic, so the bins have the
    order of the values. They have the same ties if each value equals the last one in its bin.
    """
    lowest, highest = extremes
    last_values = np.empty(min(values.size, _MAX_BINS))
    last_bin = last_values.size - 1
    width = (highest - lowest) / last_bin if last_bin else 0.0
    if not sys.float_info.min <= width <= sys.float_info.max:
        return None
    for rows in (slice(_FIRST_ROWS), slice(None)):
        part = values[rows]
        bins: IndexArray = ((part - lowest) / width).astype(np.int64)
        last_values[bins] = part
        if not np.array_equal(last_values[bins], part):
            return None
    return bins


def _sorted_rows(values: FloatArray, extremes: tuple[float, float]) -> tuple[IndexArray, BoolArray]:
    """Return the rows in ascending order of value, and whether each value differs from the previous one.

    Each value and its row number are packed into one signed 64-bit integer, because sorting plain integers
    is several times faster than an argsort, and NumPy sorts signed integers fastest. If the last bits of the
    values do not fit, they are dropped, and neighbors that then appear equal are compared in full precision.
    """
    row_bits = values.size.bit_length()
    lowest, highest = _ordered_bits(np.array(extremes)).tolist()
    dropped = max(0, (highest - lowest).bit_length() + row_bits - 63)
    keys = _ordered_bits(values)
    # The range may exceed a signed 64-bit integer but always fits into an unsigned one.
    distances = keys.view(np.uint64)
    distances -= np.uint64(lowest % 2**64)
    if dropped:
        distances >>= np.uint64(dropped)
    keys <<= row_bits
    keys |= np.arange(values.size)
    keys.sort()
    rows = keys & (2**row_bits - 1)
    keys >>= row_bits
    is_new = np.ones(values.size, np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_new[1:])
    if dropped:
        _compare_in_full(rows, is_new, values)
    return rows, is_new


def _ordered_bits(values: FloatArray) -> IndexArray:
    """Return integers that have the same order as the float64 values.

    The bit patterns of floats >= 0 have the order of integers, and those of negative floats have the
    reverse order. Adding 0.0 turns -0.0 into 0.0.
    """
    bits: IndexArray = (values + 0.0).view(np.int64)
    bits ^= (bits >> 63) & _ALL_BUT_SIGN
    return bits


def _compare_in_full(rows: IndexArray, is_new: BoolArray, values: FloatArray) -> None:
    """Correct the order and the flags in runs of apparently equal values.

    The runs themselves are already in order. Sorting the rows of all runs together therefore sorts each run
    in place.
    """
    in_run = ~is_new
    in_run[:-1] |= in_run[1:]
    places = np.flatnonzero(in_run)
    ordered = values[rows[places]]
    if np.any(ordered[1:] < ordered[:-1]):
        ranking = np.argsort(ordered)
        rows[places] = rows[places][ranking]
        ordered = ordered[ranking]
    is_new[places[1:]] = ordered[1:] != ordered[:-1]
