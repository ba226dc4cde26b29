"""Pair counts for every AUC of a submission, computed by sorting its predictions."""

import math
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grader.metrics.counts import IdentityCounts, PairCounts
from grader.metrics.prepared import (
    BoolArray,
    FloatArray,
    IndexArray,
    MentionLayout,
    PreparedSplit,
    Workspace,
    as_vector,
    refuse_where,
)

_ALL_BUT_SIGN = 2**63 - 1
# There are many ties if more than one in this number of rows repeats the prediction of another row.
_MANY = 3
_DIGIT = 16
# Each integer contains two counts: all rows in the low word and positive rows in the high word. A doubled
# midrank of up to 2**30 rows fits into either word.
_WORD = 32
# Two of these rows share a bin if the predictions are not rounded, so the other rows are not binned.
_FIRST_ROWS = 2048
_MEASURED = 4096


@dataclass(frozen=True, eq=False, slots=True)
class Ordering:
    """The rows of a split in ascending order of prediction.

    Attributes
    ----------
    codes : ndarray of int64, shape (rows,)
        Row codes (twice the row number, plus one if the row is positive) in ascending order of
        prediction. The order among equal predictions is arbitrary.
    is_repeat : ndarray of bool, shape (rows,)
        Whether the prediction at a position equals the previous one.
    repeats : ndarray of int64 or None
        The positions of the repeats, or None if there are so many that passes over all rows take less
        time than lookups of the repeats.
    """

    codes: IndexArray
    is_repeat: BoolArray
    repeats: IndexArray | None


class Midranks(NamedTuple):
    """Doubled midranks of a submission on a split, from which standard errors are computed.

    Attributes
    ----------
    mentions : ndarray of uint32, shape (mentions,)
        Doubled midrank of each mention among the positive rows, in the order of the `MentionLayout`.
    positives, positives_among_negatives : ndarray of int64, shape (positives,)
        Doubled midranks of the positive rows among the positive rows and among the negative rows.
    tied_negatives : ndarray of int64, shape (positives,)
        Number of negative rows with the same prediction as each positive row.
    """

    mentions: NDArray[np.uint32]
    positives: IndexArray
    positives_among_negatives: IndexArray
    tied_negatives: IndexArray


def order(
    predictions: FloatArray,
    extremes: tuple[float, float],
    row_codes: IndexArray,
    workspace: Workspace,
) -> Ordering:
    """Sort finite predictions with known extremes, together with their row codes.

    If the last bits of the predictions do not fit into the sort keys, they are dropped. The few neighbors
    that then appear equal are compared again in full precision.
    """
    sort = _sort_by_radix if radix_is_faster() else _sort_packed
    dropped = sort(predictions, extremes, row_codes, workspace)
    keys, is_repeat = workspace.keys, workspace.flags
    is_repeat[0] = False
    if _MANY * np.count_nonzero(is_repeat) > is_repeat.size:
        if dropped:
            _compare_all_in_full(keys, is_repeat, predictions, workspace)
        return Ordering(keys, is_repeat, None)
    repeats = np.flatnonzero(is_repeat)
    if dropped and repeats.size:
        repeats = _compare_in_full(keys, is_repeat, repeats, predictions)
    return Ordering(keys, is_repeat, repeats)


@cache
def radix_is_faster() -> bool:
    """Return whether radix passes take less time than `numpy.sort` on this CPU, measured once.

    The vectorized sorts of NumPy are several times faster than radix passes. On a CPU without them, or with
    slow instructions for them, they are several times slower. Both orders yield the same counts.
    """
    keys = np.arange(_MEASURED, dtype=np.uint64) ** 2 * np.uint64(0x9E3779B97F4A7C15)
    seconds = [
        min(_seconds(call) for _ in range(3))
        for call in (lambda: np.sort(keys.view(np.int64)), lambda: _radix_argsort(keys, 2 * _DIGIT))
    ]
    return seconds[1] < seconds[0]


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _sort_packed(
    predictions: FloatArray, extremes: tuple[float, float], row_codes: IndexArray, workspace: Workspace
) -> bool:
    """Write the sorted row codes and the repeats; return whether bits of the predictions were dropped.

    Each prediction and its row code are packed into one signed 64-bit integer, because sorting plain
    integers is several times faster than an argsort, and NumPy sorts signed integers fastest.
    """
    keys = workspace.keys
    code_bits = row_codes.size.bit_length() + 1
    dropped = _write_ordered_bits(keys, predictions, extremes, 63 - code_bits, workspace)
    keys <<= code_bits
    keys |= row_codes
    keys.sort()
    np.bitwise_xor(keys[1:], keys[:-1], out=workspace.differences[1:])
    np.less(workspace.differences, 2**code_bits, out=workspace.flags)
    keys &= 2**code_bits - 1
    return dropped


def _sort_by_radix(
    predictions: FloatArray, extremes: tuple[float, float], row_codes: IndexArray, workspace: Workspace
) -> bool:
    """Write the same as `_sort_packed`, from two radix passes over the leading bits."""
    keys, ordered = workspace.keys, workspace.differences
    dropped = _write_ordered_bits(keys, predictions, extremes, 2 * _DIGIT, workspace)
    rows = _radix_argsort(keys, 2 * _DIGIT)
    np.take(keys, rows, out=ordered, mode="clip")
    np.equal(ordered[1:], ordered[:-1], out=workspace.flags[1:])
    np.take(row_codes, rows, out=keys, mode="clip")
    return dropped


def _radix_argsort(keys: NDArray[np.integer[Any]], bits: int) -> IndexArray:
    """Return the stable order of keys by their lowest bits; NumPy sorts 16-bit digits by radix."""
    rows = np.argsort(keys.astype(np.uint16), kind="stable")
    for shift in range(_DIGIT, bits, _DIGIT):
        digits = (keys >> keys.dtype.type(shift)).astype(np.uint16)
        rows = rows[np.argsort(digits[rows], kind="stable")]
    return rows


def _places_of(starts: IndexArray, ends: IndexArray) -> IndexArray:
    """Return all positions in the runs, concatenated."""
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
    """Write integers of at most `bits` bits that have the same order as the predictions.

    Returns whether the last bits of the predictions had to be dropped.
    """
    lowest, highest = map(_ordered, extremes)
    np.add(predictions, 0.0, out=keys.view(np.float64))
    if lowest < 0:
        flips = np.right_shift(keys, 63, out=workspace.differences)
        flips &= _ALL_BUT_SIGN
        keys ^= flips
    # The range may exceed a signed 64-bit integer but always fits into an unsigned one.
    distances = keys.view(np.uint64)
    distances -= np.uint64(lowest % 2**64)
    excess = (highest - lowest).bit_length() - bits
    if excess > 0:
        distances >>= np.uint64(excess)
    return excess > 0


def _ordered(number: float) -> int:
    """Return an integer that has the same order as the float64 number.

    The bit patterns of floats >= 0 have the order of integers, and those of negative floats have the
    reverse order. Adding 0.0 turns -0.0 into 0.0.
    """
    (bits,) = struct.unpack("=q", struct.pack("=d", number + 0.0))
    return int(bits if bits >= 0 else bits ^ _ALL_BUT_SIGN)


def _compare_in_full(
    codes: IndexArray, is_repeat: BoolArray, alike: IndexArray, predictions: FloatArray
) -> IndexArray:
    """Correct the order wherever the dropped bits matter, and return the corrected repeats."""
    below, above = predictions[codes[alike - 1] >> 1], predictions[codes[alike] >> 1]
    if np.any(below > above):
        places = _places_of(*_runs(alike))
        _sort_runs(codes, places, predictions[codes[places] >> 1])
        below, above = predictions[codes[alike - 1] >> 1], predictions[codes[alike] >> 1]
    is_tie = below == above
    is_repeat[alike] = is_tie
    repeats: IndexArray = alike[is_tie]
    return repeats


def _compare_all_in_full(
    codes: IndexArray, is_repeat: BoolArray, predictions: FloatArray, workspace: Workspace
) -> None:
    """Correct the order and the repeats like `_compare_in_full`, in passes over all rows."""
    rows = np.right_shift(codes, 1, out=workspace.rows)
    ordered = workspace.differences.view(np.float64)
    np.take(predictions, rows, out=ordered, mode="clip")
    if np.less(ordered[1:], ordered[:-1], out=workspace.mask[1:]).any():
        places = _places_of(*_runs(np.flatnonzero(is_repeat)))
        ordered[places] = _sort_runs(codes, places, ordered[places])
    np.equal(ordered[1:], ordered[:-1], out=is_repeat[1:])


def _sort_runs(codes: IndexArray, places: IndexArray, values: FloatArray) -> FloatArray:
    """Sort the rows in runs of apparently equal predictions by prediction, and return the sorted predictions.

    The runs themselves are already in order. Sorting the rows of all runs together therefore sorts each run
    in place.
    """
    ranking = np.argsort(values)
    codes[places] = codes[places][ranking]
    return values[ranking]


def _runs(alike: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the starts and ends of the runs that positions with a value equal to the previous one form."""
    breaks = np.diff(alike) > 1
    first = np.ones(alike.size, np.bool_)
    first[1:] = breaks
    last = np.ones(alike.size, np.bool_)
    last[:-1] = breaks
    return alike[first] - 1, alike[last] + 1


def count_pairs(split: PreparedSplit, y_score: ArrayLike) -> PairCounts:
    """Count the ordered pairs behind every AUC and AEG of a submission.

    Parameters
    ----------
    split : PreparedSplit
        The labels and identities, from `prepare`.
    y_score : array_like, shape (split.rows,)
        One finite number per row, in the order of the split; higher means more likely positive. The
        values are compared as float64 and never thresholded.

    Returns
    -------
    PairCounts
        The counts, which do not depend on the order of the rows.

    Raises
    ------
    ValueError
        If `y_score` has the wrong length, or a value is not a finite number.

    Notes
    -----
    The doubled midrank of a row is the number of rows below it plus the number of rows not above it. The sum
    of doubled midranks over the positive rows yields the Mann-Whitney U statistic, in which ties count as one
    half. The background of an identity is never ranked: its counts are those of all rows minus those of the
    subgroup.

    Examples
    --------
    >>> from fairboard import prepare
    >>> split = prepare([1, 0, 1, 0], {"cat": [1, 1, 0, 0]})
    >>> [count_pairs(split, predictions).overall_wins for predictions in ([4, 3, 2, 1], [1, 1, 1, 1])]
    [6, 4]
    """
    predictions = as_vector("y_score", y_score, rows=split.rows)
    if not split.rows:
        return no_pairs(split)
    layout = split.layout
    with layout.workspaces.lend() as workspace:
        extremes = finite_extremes(predictions)
        bins = separating_bins(predictions, extremes, workspace)
        if bins is not None:
            ranks = bins, bins[layout.positive_rows], bins[layout.rows]
            return count_at_ranks(split, *ranks, workspace)[0]
        _rank(order(predictions, extremes, layout.row_codes, workspace), layout, workspace)
        _rank_mentions(layout, workspace)
        ranks_of_positives = workspace.by_row[layout.positive_rows]
        return PairCounts(
            rows=split.rows,
            positives=split.positives,
            overall_wins=int(ranks_of_positives.sum(dtype=np.int64)) - split.positives**2,
            identities=count_identities(split, workspace),
        )


def separating_bins(
    predictions: FloatArray, extremes: tuple[float, float], workspace: Workspace
) -> IndexArray | None:
    """Return bins of equal width that have the order and the ties of the predictions, or None.

    Rounded predictions have such bins, and counting by bin takes less time than sorting. Subtracting a number
    and dividing by a positive number preserve the order in floating-point arithmetic, so the bins have the
    order of the predictions. They have the same ties if each prediction equals the last one in its bin.
    """
    lowest, highest = extremes
    last_bin = workspace.values.size - 1
    width = (highest - lowest) / last_bin if last_bin else 0.0
    if not sys.float_info.min <= width <= sys.float_info.max:
        return None
    for rows in (slice(_FIRST_ROWS), slice(None)):
        values, bins = predictions[rows], workspace.rows[rows]
        scaled = np.subtract(values, lowest, out=workspace.differences[rows].view(np.float64))
        scaled /= width
        np.copyto(bins, scaled, casting="unsafe")
        workspace.values[bins] = values
        if not np.array_equal(workspace.values[bins], values):
            return None
    return bins


def count_at_ranks(
    split: PreparedSplit,
    ranks: IndexArray,
    positive_ranks: IndexArray,
    mention_ranks: IndexArray,
    workspace: Workspace,
) -> tuple[PairCounts, Midranks]:
    """Count the pairs of a split from the ranks of its rows, of its positive rows and of its mentions.

    Only the order and the ties of the ranks matter. The cumulative sum of the number of rows at each rank is
    the number of rows at or below it. Twice this number minus the number of rows at the rank is the doubled
    midrank. Only the rows that mention an identity are sorted, within each identity.
    """
    at = np.bincount(ranks)
    np.add.at(at, positive_ranks, 1 << _WORD)
    midranks = np.cumsum(at)
    midranks <<= 1
    midranks -= at
    of_mentions = np.take(midranks, mention_ranks, mode="clip")
    np.copyto(workspace.mention_midranks, _low(of_mentions), casting="unsafe")
    np.right_shift(of_mentions, _WORD, out=workspace.mention_ranks, casting="unsafe")
    among_all, at_all = midranks[positive_ranks], at[positive_ranks]
    of_positives = among_all >> _WORD
    counts = PairCounts(
        rows=split.rows,
        positives=split.positives,
        overall_wins=int(_low(among_all).sum()) - split.positives**2,
        identities=count_identities(split, workspace),
    )
    return counts, Midranks(
        mentions=workspace.mention_ranks.copy(),
        positives=of_positives,
        positives_among_negatives=_low(among_all) - of_positives,
        tied_negatives=_low(at_all) - (at_all >> _WORD),
    )


def _low(midranks: IndexArray) -> IndexArray:
    low: IndexArray = midranks & (2**_WORD - 1)
    return low


def finite_extremes(predictions: FloatArray, argument: str = "y_score") -> tuple[float, float]:
    """Return the lowest and the highest prediction; raise ValueError if any is not finite."""
    lowest, highest = float(predictions.min()), float(predictions.max())
    # Both `min` and `max` propagate NaN.
    if not (math.isfinite(lowest) and math.isfinite(highest)):
        refuse_where(~np.isfinite(predictions), argument, "finite")
    return lowest, highest


def _rank(ordering: Ordering, layout: MentionLayout, workspace: Workspace) -> None:
    """Write the doubled midranks among the positive rows by position, and among all rows by row."""
    codes, repeats = ordering.codes, ordering.repeats
    is_positive, among_positives = workspace.is_positive, workspace.among_positives
    np.bitwise_and(_low_words(codes), 1, out=is_positive)
    np.cumsum(is_positive, out=among_positives)
    midranks = layout.midranks if repeats is not None and not repeats.size else workspace.midranks
    if repeats is None:
        _rank_runs(ordering.is_repeat, workspace)
    else:
        if repeats.size:
            starts, ends = _runs(repeats)
            lengths, tied = ends - starts, _places_of(starts, ends)
            sums = among_positives[starts] - is_positive[starts] + among_positives[ends - 1]
            np.copyto(midranks, layout.midranks)
            midranks[tied] = np.repeat(starts + ends, lengths)
        among_positives += among_positives
        among_positives -= is_positive
        if repeats.size:
            among_positives[tied] = np.repeat(sums, lengths)
    codes >>= 1
    workspace.by_row[codes] = midranks


def _rank_runs(is_repeat: BoolArray, workspace: Workspace) -> None:
    """Write both doubled midranks by position in passes over all rows, for predictions with many ties."""
    is_first = np.logical_not(is_repeat, out=workspace.mask)
    run_of = np.cumsum(is_first, out=workspace.rows)
    run_of -= 1
    starts = np.flatnonzero(is_first)
    among_positives = workspace.among_positives
    below = among_positives[starts] - workspace.is_positive[starts]
    # A doubled midrank is the number of rows below the run plus the number of rows not above it.
    for counts, total, out in (
        (starts.astype(np.uint32), is_repeat.size, workspace.midranks),
        (below, among_positives[-1], among_positives),
    ):
        np.take(counts + np.append(counts[1:], np.uint32(total)), run_of, out=out, mode="clip")


def _rank_mentions(layout: MentionLayout, workspace: Workspace) -> None:
    """Look up the doubled midranks of every mention among all rows and among the positive rows."""
    np.take(workspace.by_row, layout.rows, out=workspace.mention_midranks, mode="clip")
    # All rows in a run of ties have the same value, so the value at the middle of the run is used.
    np.right_shift(workspace.mention_midranks, 1, out=workspace.mention_places, casting="unsafe")
    np.take(workspace.among_positives, workspace.mention_places, out=workspace.mention_ranks, mode="clip")


def count_identities(split: PreparedSplit, workspace: Workspace) -> tuple[IdentityCounts, ...]:
    """Count the pairs of every identity from the doubled midranks in the workspace."""
    layout = split.layout
    keys, midranks, ranks = workspace.mention_keys, workspace.mention_midranks, workspace.mention_ranks
    np.left_shift(midranks, 1, out=keys)
    keys |= layout.keys
    if radix_is_faster():
        np.take(keys, _radix_argsort(keys, layout.key_bits), out=workspace.mention_differences, mode="clip")
        np.copyto(keys, workspace.mention_differences)
    else:
        for segment in layout.segments:
            keys[segment].sort()
    np.bitwise_and(keys, 1, out=workspace.mention_flags, casting="unsafe")

    n1, n0 = layout.positives, layout.sizes - layout.positives
    rank1 = _block_sums(midranks[layout.positive_mentions], n1)
    rank0 = _block_sums(midranks, layout.sizes) - rank1
    over1 = _block_sums(ranks[layout.positive_mentions], n1)
    over0 = _block_sums(ranks, layout.sizes) - over1
    # Among equal midranks, negative rows come first. The positions of the positive rows therefore count every
    # tie as a win.
    places = _block_sums(np.flatnonzero(workspace.mention_flags), n1)
    places -= (np.cumsum(layout.sizes) - layout.sizes) * n1
    subgroup = 2 * places - n1 * (n1 - 1) - _count_ties(layout, workspace)
    columns = (
        n1,
        n0,
        subgroup,
        2 * split.positives * n0 - over0 - subgroup,
        rank1 - over1 - subgroup,
        2 * split.positives * n1 - over1 - n1**2,
        2 * split.negatives * n0 - (rank0 - over0) - n0**2,
    )
    integers = (column.tolist() for column in columns)
    return tuple(map(IdentityCounts, split.names, split.in_score, *integers))


def _count_ties(layout: MentionLayout, workspace: Workspace) -> IndexArray:
    """Count the pairs of a positive and a negative row with equal midranks for each identity."""
    keys, flags = workspace.mention_keys, workspace.mention_flags
    ties = np.zeros(len(layout.segments), dtype=np.int64)
    # A key followed by itself plus the label bit marks the first positive row in a run of both classes.
    np.bitwise_xor(keys[1:], keys[:-1], out=workspace.mention_differences[1:])
    np.equal(workspace.mention_differences, 1, out=flags)
    turns = np.flatnonzero(flags[1:])
    if turns.size:
        last_negative, first_positive = keys[turns], keys[turns + 1]
        n0 = turns + 1 - np.searchsorted(keys, last_negative, side="left")
        n1 = np.searchsorted(keys, first_positive, side="right") - (turns + 1)
        np.add.at(ties, (last_negative >> layout.identity_shift).astype(np.int64), n0 * n1)
    return ties


def _block_sums(values: NDArray[np.integer[Any]], sizes: IndexArray) -> IndexArray:
    """Sum consecutive blocks of the given sizes; an empty block sums to 0."""
    sums = np.zeros(sizes.size, dtype=np.int64)
    filled = sizes > 0
    if filled.any():
        starts = np.cumsum(sizes) - sizes
        sums[filled] = np.add.reduceat(values, starts[filled], dtype=np.int64)
    return sums


def _low_words(codes: IndexArray) -> NDArray[np.uint32]:
    """Return a view of the lower half of each 64-bit integer; a narrowing copy is slower."""
    return codes.view(np.uint32)[0 if sys.byteorder == "little" else 1 :: 2]


def no_pairs(split: PreparedSplit) -> PairCounts:
    """Return the counts of a split without rows."""
    return PairCounts(
        rows=0,
        positives=0,
        overall_wins=0,
        identities=tuple(
            IdentityCounts(*names, 0, 0, 0, 0, 0, 0, 0)
            for names in zip(split.names, split.in_score, strict=True)
        ),
    )
