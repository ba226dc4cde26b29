"""The order of predictions with their ties: the one sort a submission costs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.metrics.prepared import FloatArray, IndexArray


@dataclass(frozen=True, eq=False, slots=True)
class Ordering:
    """The rows of a split from the lowest prediction to the highest.

    Attributes
    ----------
    codes : ndarray of int64, shape (rows,)
        Row codes (twice the row number, plus one where it is positive) in ascending order of
        prediction; the order among equal predictions has no meaning.
    tied : ndarray of int64
        The positions whose prediction equals the one at the next position.
    """

    codes: IndexArray
    tied: IndexArray


def order(predictions: FloatArray, row_codes: NDArray[np.uint64]) -> Ordering:
    """Sort finite predictions, carrying the row codes along.

    Each prediction and its row code are packed into one 64-bit integer, because sorting plain
    integers is several times faster than an argsort. Where the two do not fit, the prediction
    loses its last bits, and the few neighbours that then look equal are compared again in full.
    """
    if not predictions.size:
        return Ordering(np.empty(0, np.int64), np.empty(0, np.int64))
    keys, dropped = _ordered_bits(predictions, code_bits=_code_bits(row_codes))
    low = np.uint64(_code_bits(row_codes))
    keys <<= low
    keys |= row_codes
    keys.sort()
    alike = np.flatnonzero((keys[1:] ^ keys[:-1]) < np.uint64(1) << low)
    keys &= (np.uint64(1) << low) - np.uint64(1)
    codes = keys.view(np.int64)
    if not dropped or not alike.size:
        return Ordering(codes, alike)
    below, above = predictions[codes[alike] >> 1], predictions[codes[alike + 1] >> 1]
    if np.any(below > above):
        _mend(codes, alike, predictions)
        below, above = predictions[codes[alike] >> 1], predictions[codes[alike + 1] >> 1]
    return Ordering(codes, alike[below == above])


def _ordered_bits(predictions: FloatArray, code_bits: int) -> tuple[NDArray[np.uint64], bool]:
    """Return integers in the order of the predictions, and whether their last bits were dropped."""
    # Adding 0.0 turns -0.0 into 0.0. The bits of floats >= 0 are in order as integers; those of
    # negative floats are in reverse.
    bits = (predictions + 0.0).view(np.int64)
    lowest = int(bits.min())
    if lowest < 0:
        bits ^= (bits >> 63) & np.int64(2**63 - 1)
        lowest = int(bits.min())
    highest = int(bits.max())
    keys = bits.view(np.uint64)
    keys -= np.uint64(lowest % 2**64)
    excess = (highest - lowest).bit_length() + code_bits - 64
    if excess > 0:
        keys >>= np.uint64(excess)
    return keys, excess > 0


def _code_bits(row_codes: NDArray[np.uint64]) -> int:
    return row_codes.size.bit_length() + 1


def _mend(codes: IndexArray, alike: IndexArray, predictions: FloatArray) -> None:
    # The rows that look alike stand in runs, and the runs are in order among themselves: sorting
    # all of them together sorts each run in its place.
    places = np.union1d(alike, alike + 1)
    confused = codes[places]
    codes[places] = confused[np.argsort(predictions[confused >> 1])]
