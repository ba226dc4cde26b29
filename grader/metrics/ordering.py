"""Sort predictions, with ties: the slow step of scoring a submission."""

import struct
from dataclasses import dataclass

import numpy as np

from grader.metrics.prepared import FloatArray, IndexArray
from grader.metrics.workspace import Workspace

_ALL_BUT_SIGN = 2**63 - 1


@dataclass(frozen=True, eq=False, slots=True)
class Ordering:
    """The rows of a split from the lowest prediction to the highest.

    Attributes
    ----------
    codes : ndarray of int64, shape (rows,)
        Row codes (twice the row number, plus one where it is positive) in ascending order of
        prediction; the order among equal predictions has no meaning.
    run_starts, run_ends : ndarray of int64
        First position, and position after the last, of each run of two or more equal predictions.
    """

    codes: IndexArray
    run_starts: IndexArray
    run_ends: IndexArray


def order(
    predictions: FloatArray,
    extremes: tuple[float, float],
    row_codes: IndexArray,
    workspace: Workspace,
) -> Ordering:
    """Sort finite predictions, of which the extremes are known, carrying the row codes along.

    Each prediction and its row code are packed into one signed 64-bit integer, because sorting
    plain integers is several times faster than an argsort (and NumPy sorts signed ones fastest).
    Where the two do not fit, the prediction
    loses its last bits, and the few neighbours that then look equal are compared again in full.
    """
    keys = workspace.keys
    code_bits = row_codes.size.bit_length() + 1
    dropped = _write_ordered_bits(keys, predictions, extremes, 63 - code_bits, workspace)
    keys <<= code_bits
    keys |= row_codes
    keys.sort()
    np.bitwise_xor(keys[1:], keys[:-1], out=workspace.differences[1:])
    np.less(workspace.differences, 2**code_bits, out=workspace.flags)
    alike = np.flatnonzero(workspace.flags[1:])
    keys &= 2**code_bits - 1
    if dropped:
        alike = _compare_in_full(keys, alike, predictions)
    return Ordering(keys, *_runs(alike))


def places_of(starts: IndexArray, ends: IndexArray) -> IndexArray:
    """Return all positions of the runs, one run after the other."""
    lengths = ends - starts
    before = np.cumsum(lengths) - lengths
    places: IndexArray = np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
    return places


def _write_ordered_bits(
    keys: IndexArray,
    predictions: FloatArray,
    extremes: tuple[float, float],
    bits: int,
    workspace: Workspace,
) -> bool:
    """Write integers of so many bits in the order of the predictions.

    Returns whether the last bits of the predictions had to be dropped.
    """
    lowest, highest = map(_ordered, extremes)
    np.add(predictions, 0.0, out=keys.view(np.float64))
    if lowest < 0:
        flips = np.right_shift(keys, 63, out=workspace.differences)
        flips &= _ALL_BUT_SIGN
        keys ^= flips
    # The range can be wider than a signed integer, but not than an unsigned one.
    distances = keys.view(np.uint64)
    distances -= np.uint64(lowest % 2**64)
    excess = (highest - lowest).bit_length() - bits
    if excess > 0:
        distances >>= np.uint64(excess)
    return excess > 0


def _ordered(number: float) -> int:
    """Return an integer that compares as the number does among float64.

    The bits of floats >= 0 are in order as integers, those of negative floats in reverse. Adding
    0.0 turns -0.0 into 0.0.
    """
    (bits,) = struct.unpack("=q", struct.pack("=d", number + 0.0))
    return int(bits if bits >= 0 else bits ^ _ALL_BUT_SIGN)


def _compare_in_full(codes: IndexArray, alike: IndexArray, predictions: FloatArray) -> IndexArray:
    """Correct the order where the dropped bits matter; return which positions are ties."""
    below, above = predictions[codes[alike] >> 1], predictions[codes[alike + 1] >> 1]
    if np.any(below > above):
        # The rows that look alike stand in runs, and the runs are in order among themselves:
        # sorting all of them together sorts each run in its place.
        places = places_of(*_runs(alike))
        confused = codes[places]
        codes[places] = confused[np.argsort(predictions[confused >> 1])]
        below, above = predictions[codes[alike] >> 1], predictions[codes[alike + 1] >> 1]
    ties: IndexArray = alike[below == above]
    return ties


def _runs(alike: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the runs formed by the positions that are like the next one."""
    breaks = np.diff(alike) > 1
    first = np.ones(alike.size, np.bool_)
    first[1:] = breaks
    last = np.ones(alike.size, np.bool_)
    last[:-1] = breaks
    return alike[first], alike[last] + 2
