"""Detection of similar files from different teams, including rescaled and edited copies.

Honest files have correlations of up to 0.99 because the same rows are easy or hard for all models. Therefore,
only a file's individual features are compared. In each band of 32 rows that are adjacent in the crowd's
order, a file places half of the rows into the upper half. Two honest models agree on 50 to 90 % of these
decisions, or on up to 96 % if they use the same features and almost the same method. A copy agrees on almost
all of them. In an edited copy, most of the unedited rows keep their exact positions, which never happens with
honest models.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.fair_play.orders import FileOrder

SAMPLE_ROWS = 2048
ALIKE, EDITED, ERRORS = 0.958, 0.88, 2.5
"""Files are similar if their agreement exceeds ALIKE by ERRORS standard errors. Between EDITED and ALIKE,
they are similar only if most rows also keep their exact positions among their neighbors, as in an edited
copy."""
EXACT = 0.001
"""Maximum median shift of the rows of an edited copy, as a share of all rows."""
BAND = 32
MANY_VALUES = 100
"""Files with fewer distinct values are only tested for equal orders, because ties make the bands
uninformative."""
LEAST_TEAMS = 3
FEW_TEAMS = 24
"""Up to this number of teams, the crowd with which a pair is compared excludes the pair's own teams."""
_BLOCK = 1024
_TOP = 65535
IndexArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Sketch:
    """A compact representation of a file's order for comparisons.

    Attributes
    ----------
    digest : bytes
        A hash of the order.
    places : ndarray of uint16, shape (sample,)
        The positions of the sampled rows, from 0 at the bottom to 65,535 at the top.
    distinct : int
        The number of distinct values in the entire file.
    """

    digest: bytes
    places: NDArray[np.uint16]
    distinct: int


@dataclass(frozen=True, slots=True)
class Match:
    """Two similar files, given by their positions in the sequence, and their share of equal decisions."""

    one: int
    other: int
    agreement: float
    is_same_order: bool


def secret_rows(key: bytes, rows: int) -> IndexArray:
    """Return a sorted sample of rows that depends only on the key and the number of rows."""
    seed = int.from_bytes(hashlib.blake2b(key, digest_size=16, person=b"likeness").digest(), "little")
    drawn = np.random.default_rng(seed).permutation(rows)[:SAMPLE_ROWS]
    return np.sort(drawn).astype(np.int64)


def sketch_of(order: FileOrder, rows: IndexArray) -> Sketch:
    """Return the sketch of a file on a secret sample of rows."""
    digest = hashlib.blake2b(order.ranks.astype("<u4").tobytes(), digest_size=16).digest()
    return Sketch(digest, np.round(order.places[rows] * _TOP).astype(np.uint16), order.distinct)


def matches(sketches: Sequence[Sketch], teams: Sequence[int]) -> list[Match]:
    """Return the most similar pair of files for every two teams that have similar files.

    Parameters
    ----------
    sketches : sequence of Sketch
        All with the same sample of rows.
    teams : sequence of int
        The team of each file. Negative numbers denote files of the organizers, for which all matches are
        returned.

    Notes
    -----
    The order of the files affects only `one` and `other`. Constant files match no other file. With fewer than
    `LEAST_TEAMS` teams, there is no crowd, so only files with equal orders are found.
    """
    best: dict[tuple[int, int], Match] = {}
    for match in (*_same_orders(sketches, teams), *_alike(sketches, teams)):
        one, other = sorted((teams[match.one], teams[match.other]))
        pair = (-1 - match.one, -1 - match.other) if one < 0 else (one, other)
        if other >= 0 and (pair not in best or best[pair].agreement < match.agreement):
            best[pair] = match
    return sorted(best.values(), key=lambda match: (-match.agreement, match.one, match.other))


def least_agreement(share: float, answers: int) -> float:
    """Return the minimum agreement of similar files; for 2,048 rows, it is 0.969 or 0.898."""
    return min(share + ERRORS * math.sqrt(share * (1 - share) / answers), 1.0)


def _keeps_places(one: Sketch, other: Sketch) -> bool:
    """Return whether most rows keep their positions among their neighbors."""
    shifts = other.places.astype(np.int64) - one.places
    width = min(BAND, shifts.size)
    least = max(EXACT, 1 / shifts.size) * _TOP
    for file in (one, other):
        order = np.argsort(file.places, kind="stable")[: shifts.size // width * width]
        bands = shifts[order].reshape(-1, width)
        if np.median(np.abs(bands - np.median(bands, axis=1, keepdims=True))) > least:
            return False
    return True


def _same_orders(sketches: Sequence[Sketch], teams: Sequence[int]) -> Iterator[Match]:
    """Yield pairs of files with equal orders: each team's first file, paired with those of other teams."""
    first: dict[bytes, dict[int, int]] = {}
    for place, sketch in enumerate(sketches):
        if sketch.distinct < 2:
            continue
        of_teams = first.setdefault(sketch.digest, {})
        if teams[place] not in of_teams:
            yield from (Match(other, place, 1.0, True) for other in of_teams.values())
            of_teams[teams[place]] = place


def _alike(sketches: Sequence[Sketch], teams: Sequence[int]) -> Iterator[Match]:
    there = [place for place, sketch in enumerate(sketches) if sketch.distinct >= MANY_VALUES]
    if not there:
        return
    places = np.stack([sketches[place].places for place in there])
    numbers, at = np.unique([teams[place] for place in there], return_inverse=True)
    if numbers.size < LEAST_TEAMS:
        return
    means = np.stack([places[at == team].mean(axis=0, dtype=np.float64) for team in range(numbers.size)])
    if numbers.size > FEW_TEAMS:
        answers = _answers(places, means.mean(axis=0))
        matches = _agreeing(answers, answers, at, at)
    else:
        matches = _of_few(places, means, at)
    for one, other, agreement, is_alike in matches:
        first, second = sorted((there[one], there[other]))
        if is_alike or _keeps_places(sketches[first], sketches[second]):
            yield Match(first, second, agreement, sketches[first].digest == sketches[second].digest)


def _of_few(
    places: NDArray[np.uint16], means: NDArray[np.float64], at: NDArray[np.intp]
) -> Iterator[tuple[int, int, float, bool]]:
    """Yield similar pairs for every two teams, compared with the crowd of all other teams."""
    for one in range(len(means)):
        for other in range(one + 1, len(means)):
            crowd = np.delete(means, (one, other), axis=0).mean(axis=0)
            ours, theirs = np.flatnonzero(at == one), np.flatnonzero(at == other)
            left, right = _answers(places[ours], crowd), _answers(places[theirs], crowd)
            for first, second, agreement, is_alike in _agreeing(left, right, at[ours], at[theirs]):
                yield int(ours[first]), int(theirs[second]), agreement, is_alike


def _answers(places: NDArray[np.uint16], crowd: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return 1 for each row that a file places into the upper half of its band, and -1 for all others."""
    width = min(BAND, crowd.size)
    banded = np.argsort(crowd, kind="stable")[: crowd.size // width * width]
    answers = np.empty((len(places), banded.size), np.float32)
    for start in range(0, len(places), _BLOCK):
        part = places[start : start + _BLOCK, banded]
        bands = part.reshape(len(part), -1, width)
        upper = bands > np.median(bands, axis=2, keepdims=True)
        answers[start : start + _BLOCK] = np.where(upper.reshape(part.shape), 1, -1)
    return answers


def _agreeing(
    left: NDArray[np.float32],
    right: NDArray[np.float32],
    left_at: NDArray[np.intp],
    right_at: NDArray[np.intp],
) -> Iterator[tuple[int, int, float, bool]]:
    """Yield candidates for similar files, and whether their agreement alone is sufficient.

    Files are compared in blocks to limit memory use.
    """
    sample = left.shape[1]
    least = least_agreement(EDITED, sample)
    enough = least_agreement(ALIKE, sample)
    for start in range(0, len(left), _BLOCK):
        for begin in range(start if left is right else 0, len(right), _BLOCK):
            products = left[start : start + _BLOCK] @ right[begin : begin + _BLOCK].T
            ours, theirs = np.nonzero(products >= (2 * least - 1) * sample)
            for one, other in zip(ours.tolist(), theirs.tolist(), strict=True):
                first, second = start + one, begin + other
                if left_at[first] != right_at[second] and (left is not right or first < second):
                    agreement = (float(products[one, other]) / sample + 1) / 2
                    yield first, second, agreement, agreement >= enough
