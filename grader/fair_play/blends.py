"""Files that are blends of two others: what the nearest file leaves unexplained, a third one explains."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BAND = 32
FIRST_BANDS = 8
PROMISING, EXPLAINED = 0.65, 0.8
"""Most blends of nine tenths and one tenth reach 0.85 to 0.95, honest files stay below 0.75."""
MAX_THIRDS = 1000
_BLOCK = 1024

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Blend:
    """A file, the file of another team that is nearest to it, a third one, and how much that one explains."""

    file: int
    nearest: int
    third: int
    explained: float


def blends(places: NDArray[np.uint16], teams: NDArray[np.intp]) -> Iterator[Blend]:
    """Yield the files that are blends of a file of another team and of a third file.

    Parameters
    ----------
    places : ndarray of uint16, shape (files, sample)
    teams : ndarray of int, shape (files,)

    Notes
    -----
    The rows are cut into bands of 32 that lie side by side in the order of the nearest file. Inside a band,
    the order of a blend is that of the third file, but for the trend of the nearest. The third file is less
    like the blend than the nearest is: otherwise two kin models would explain a third.
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
            found = _best(centred, place, nearest, others) if alike > 0 and others.size else None
            if found is not None:
                yield found


def _thirds(teams: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the files that are tried as a third: all of a few, the newest of each team of many."""
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
    """Return for each third file the share of a file's own order inside the bands that it explains."""
    inside = centred[place, rows].reshape(-1, BAND)
    order = _own(np.argsort(np.argsort(inside, axis=1, kind="stable"), axis=1).astype(np.float32))
    others = _own(centred[np.ix_(thirds, rows)].reshape(len(thirds), -1, BAND))
    along = np.maximum(np.einsum("fkw,kw->fk", others, order), 0)
    lengths = np.einsum("fkw,fkw->fk", others, others) + 1e-12
    total = float((order * order).sum())
    shares: FloatArray = (along * along / lengths).sum(axis=1) / max(total, 1e-12)
    return shares


def _own(bands: FloatArray) -> FloatArray:
    """Return what is left of each band without its middle and its trend."""
    trend = np.linspace(-1, 1, BAND, dtype=np.float32)
    trend /= np.linalg.norm(trend)
    bands = bands - bands.mean(axis=-1, keepdims=True)
    left: FloatArray = bands - (bands @ trend)[..., None] * trend
    return left
