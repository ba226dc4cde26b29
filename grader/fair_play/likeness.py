"""Detection of similar files from different teams, including rescaled and blended copies.

Honest files have correlations of up to 0.99 because the same rows are easy or hard for all models. Therefore,
only a file's individual features are compared. In each band of 32 rows that are adjacent in the crowd's
order, a file places half of the rows into the upper half. Two honest models agree on 50 to 90 % of these
decisions, or on up to 96 % if they use the same features and almost the same method. A copy agrees on almost
all of them. In an edited copy, most of the unedited rows keep their exact positions, which never happens with
honest models. Blends are detected separately by `blends`.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.fair_play.orders import FileOrder
from grader.metrics import dense_ranks

FIRST_BANDS = 8
PROMISING, EXPLAINED = 0.65, 0.8
"""Most blends of 90 % of one file and 10 % of another reach 0.85 to 0.95; honest files stay below 0.75."""
MAX_THIRDS = 1000

FloatArray = NDArray[np.float32]
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


@dataclass(frozen=True, slots=True)
class Blend:
    """A blend, the nearest file of another team, and a third file with the share that it explains."""

    file: int
    nearest: int
    third: int
    explained: float


def blends(places: NDArray[np.uint16], teams: NDArray[np.intp]) -> Iterator[Blend]:
    """Yield files that are blends of another team's file and a third file.

    Parameters
    ----------
    places : ndarray of uint16, shape (files, sample)
    teams : ndarray of int, shape (files,)

    Notes
    -----
    The rows are divided into bands of 32 rows that are adjacent in the order of the nearest file. Within a
    band, the order of a blend is that of the third file, except for the trend of the nearest file. The third
    file must be less similar to the blend than the nearest file. Otherwise two related models would explain a
    third one.
    """
    width = places.shape[1] // BAND * BAND
    if width < FIRST_BANDS * BAND:
        return
    centred = places[:, :width].astype(np.float32)
    centred -= centred.mean(axis=1, keepdims=True)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    thirds = _thirds(teams)
    for start in range(0, len(centred), _BLOCK):
        block = centred[start : start + _BLOCK]
        likeness = block @ centred.T
        foreign = np.where(teams[start : start + _BLOCK, None] == teams, -1, likeness)
        for place, nearest in enumerate(foreign.argmax(axis=1).tolist(), start):
            alike = foreign[place - start, nearest]
            others = thirds[likeness[place - start, thirds] < alike]
            blend = _best(centred, place, nearest, others) if alike > 0 and others.size else None
            if blend is not None:
                yield blend


def _thirds(teams: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return candidates for the third file: all files or, if there are many, the newest of each team."""
    if teams.size <= MAX_THIRDS:
        return np.arange(teams.size)
    newest = {int(team): place for place, team in enumerate(teams.tolist())}
    return np.array(sorted(newest.values())[-MAX_THIRDS:])


def _best(centred: FloatArray, place: int, nearest: int, thirds: NDArray[np.intp]) -> Blend | None:
    order = np.argsort(centred[nearest], kind="stable")
    step = order.size // BAND // FIRST_BANDS
    few = order.reshape(-1, BAND)[::step].ravel()
    promising = thirds[_explained(centred, place, thirds, few) >= PROMISING]
    if not promising.size:
        return None
    explained = _explained(centred, place, promising, order)
    best = int(explained.argmax())
    if explained[best] < EXPLAINED:
        return None
    return Blend(place, nearest, int(promising[best]), float(explained[best]))


def _explained(
    centred: FloatArray, place: int, thirds: NDArray[np.intp], rows: NDArray[np.intp]
) -> FloatArray:
    """Return the share of a file's order within the bands that each third file explains."""
    inside = centred[place, rows].reshape(-1, BAND)
    order = _own(np.argsort(np.argsort(inside, axis=1, kind="stable"), axis=1).astype(np.float32))
    others = _own(centred[np.ix_(thirds, rows)].reshape(len(thirds), -1, BAND))
    along = np.maximum(np.einsum("fkw,kw->fk", others, order), 0)
    lengths = np.einsum("fkw,fkw->fk", others, others) + 1e-12
    total = float((order * order).sum())
    shares: FloatArray = (along * along / lengths).sum(axis=1) / max(total, 1e-12)
    return shares


def _own(bands: FloatArray) -> FloatArray:
    """Return the bands after subtracting their means and linear trends."""
    trend = np.linspace(-1, 1, BAND, dtype=np.float32)
    trend /= np.linalg.norm(trend)
    bands = bands - bands.mean(axis=-1, keepdims=True)
    left: FloatArray = bands - (bands @ trend)[..., None] * trend
    return left


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
    """Two similar files, given by their positions in the sequence, and their agreement.

    `agreement` is the share of equal decisions. If one of the files is a blend of the other file and a
    `third` file, `agreement` is the share of the blend's order that the third file explains.
    """

    one: int
    other: int
    agreement: float
    is_same_order: bool
    third: int | None = None


@dataclass(frozen=True, slots=True)
class Likeness:
    """The similarity of two files on the sampled rows: Spearman's correlation and the moved rows."""

    correlation: float
    moved: int
    rows: int


def secret_rows(key: bytes, rows: int) -> IndexArray:
    """Return a sorted sample of rows that depends only on the key and the number of rows."""
    seed = int.from_bytes(hashlib.blake2b(key, digest_size=16, person=b"likeness").digest(), "little")
    drawn = np.random.default_rng(seed).permutation(rows)[:SAMPLE_ROWS]
    return np.sort(drawn).astype(np.int64)


def sketch_of(order: FileOrder, rows: IndexArray) -> Sketch:
    """Return the sketch of a file on a secret sample of rows."""
    digest = hashlib.blake2b(order.ranks.astype("<u4").tobytes(), digest_size=16).digest()
    return Sketch(digest, np.round(order.places[rows] * _TOP).astype(np.uint16), order.distinct)


def likeness_of(one: Sketch, other: Sketch) -> Likeness:
    """Return the similarity of two files on the sampled rows."""
    left, right = FileOrder(dense_ranks(one.places)), FileOrder(dense_ranks(other.places))
    moved = int(np.count_nonzero(left.moved(right)))
    return Likeness(left.correlation(right) or 0.0, moved, one.places.size)


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
    for match in _blended(sketches, teams):
        one, other = sorted((teams[match.one], teams[match.other]))
        if one >= 0:
            best.setdefault((one, other), match)
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


def _blended(sketches: Sequence[Sketch], teams: Sequence[int]) -> Iterator[Match]:
    """Yield blends of two other files, those with the largest explained share first."""
    there = [place for place, sketch in enumerate(sketches) if sketch.distinct >= MANY_VALUES]
    if len(there) < LEAST_TEAMS:
        return
    places = np.stack([sketches[place].places for place in there])
    mixtures = blends(places, np.array([teams[place] for place in there]))
    for blend in sorted(mixtures, key=lambda blend: -blend.explained):
        first, second = sorted((there[blend.file], there[blend.nearest]))
        yield Match(first, second, blend.explained, False, there[blend.third])


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
