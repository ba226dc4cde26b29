"""Pair counts of data that is read in chunks because it does not fit into memory as columns."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grader.metrics.bias.counts import IdentityCounts, PairCounts
from grader.metrics.bias.metric_settings import MetricSettings
from grader.metrics.bias.prepared import MAX_ROWS, Problems, as_array, as_column, as_vector, prepare

_BLOCK = 2**18
_Scores = NDArray[np.floating[Any]]


def count_chunks(
    chunks: Iterable[tuple[ArrayLike, ArrayLike, Mapping[str, ArrayLike]]],
    *,
    settings: MetricSettings | None = None,
    in_score: Collection[str] | None = None,
) -> PairCounts:
    """Count the pairs behind every AUC and AEG of data that arrives in chunks.

    Parameters
    ----------
    chunks : iterable of (labels, predictions, identities)
        Consecutive rows of the data, with the values that `prepare` and `count_pairs` accept and with the
        same identities in the same order. Each chunk is released before the next one is requested.
    settings : MetricSettings, optional
        The metric settings that contain the two thresholds.
    in_score : collection of str, optional
        The identities, or the name of one, that enter the power means; by default, all.

    Returns
    -------
    PairCounts
        The same integers that `count_pairs` returns for all rows at once. `report` turns them into metrics.

    Raises
    ------
    ValueError
        If there is no chunk, or a value is invalid. The message contains the number of the chunk's first row.

    Notes
    -----
    Memory per row: 16 bytes for float64 or 8 for float32 predictions, one bit for each identity, and at most
    8 bytes for the identity with the most rows. The wins of the background are those of all rows minus those
    of the subgroup, so each count needs only two sorted arrays.

    Examples
    --------
    >>> from fairboard import MetricSettings, count_chunks, report
    >>> chunks = [([1, 0], [0.9, 0.3], {"cat": [1, 1]}), ([1, 0], [0.4, 0.2], {"cat": [0, 0]})]
    >>> report(count_chunks(chunks), MetricSettings()).score
    1.0
    """
    # For each class, the predictions and packed identities of each chunk.
    classes: tuple[list[tuple[_Scores, NDArray[np.uint8]]], ...] = [], []
    start, split = 0, None
    for labels, predictions, identities in chunks:
        problems, names = Problems(), tuple(identities) if split is None else split.names
        try:
            values, rows = as_array("predictions", predictions), as_column("labels", labels).size
            with problems.collect():
                split = prepare(labels, identities, settings=settings, in_score=in_score)
            with problems.collect():
                scores: _Scores = as_vector("predictions", values, rows=rows, finite=True)
            with problems.collect():
                if tuple(identities) != names or start + rows > MAX_ROWS:
                    first = f"the identities {list(names)} of the first chunk"
                    raise ValueError(f"expected {first}, and at most {MAX_ROWS:,} rows in total.")  # noqa: TRY301
            problems.raise_all()
        except ValueError as error:
            raise ValueError(f"In the chunk that starts at row {start:,}: {error}") from error
        if values.dtype == np.float32:
            scores = values
        mentions = np.zeros((len(split.names), split.rows), np.bool_)
        for line, members in zip(mentions, split.members, strict=True):
            line[members] = True
        bits = np.packbits(mentions, axis=0)
        for kept, chosen in zip(classes, (~split.labels, split.labels), strict=True):
            kept.append((scores[chosen], bits[:, chosen]))
        start += split.rows
        del labels, predictions, identities, values, scores
    if split is None:
        raise ValueError("`chunks` must contain at least one chunk.")
    negative, positive = (_sorted([scores for scores, _ in each]) for each in classes)
    counts = []
    for place, names_and_scored in enumerate(zip(split.names, split.in_score, strict=True)):
        byte, bit = place // 8, 128 >> place % 8
        inside0, inside1 = (_sorted([s[(bits[byte] & bit) > 0] for s, bits in each]) for each in classes)
        subgroup = _wins(inside1, inside0)
        bpsn, bnsp = _wins(positive, inside0) - subgroup, _wins(inside1, negative) - subgroup
        above1 = _wins(positive, inside1) - inside1.size**2
        above0 = _wins(negative, inside0) - inside0.size**2
        sizes = inside1.size, inside0.size
        counts.append(IdentityCounts(*names_and_scored, *sizes, subgroup, bpsn, bnsp, above1, above0))
    return PairCounts(start, positive.size, _wins(positive, negative), tuple(counts))


def _sorted(parts: list[_Scores]) -> _Scores:
    scores: _Scores = np.concatenate(parts)
    scores.sort()
    return scores


def _wins(first: _Scores, second: _Scores) -> int:
    """Return 2 for each pair that a value of the first sorted array wins, plus 1 for each tie."""
    if first.size > second.size:
        return 2 * first.size * second.size - _wins(second, first)
    wins = 0
    for start in range(0, first.size, _BLOCK):
        block = first[start : start + _BLOCK]
        low, high = np.searchsorted(second, block[0]), np.searchsorted(second, block[-1], "right")
        near = second[low:high]
        below = np.searchsorted(near, block).sum() + np.searchsorted(near, block, "right").sum()
        wins += 2 * int(low) * block.size + int(below)
    return wins
