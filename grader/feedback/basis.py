r"""Noise and influence sketch of a scored file, as input for the coarse feedback modes.

The ladder tests whether one file is significantly better than another. The standard error of the difference
of two scores on the same rows is the norm of the difference of their influence vectors, which have one number
per row. A sketch preserves this norm in a few numbers: each row is added to a secretly chosen number with a
secret sign. Any two files of a team can therefore be compared later without reading them again.
"""

import hashlib
import math
import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

SKETCH_SIZE = 512
_BYTES = SKETCH_SIZE * 4
_WITH_CHANGES = 2 * _BYTES + 4


class Effects(Protocol):
    """The interface of `grader.metrics.analysis.label_effects.LabelEffects`."""

    @property
    def influence(self) -> NDArray[np.float64]: ...
    @property
    def change(self) -> NDArray[np.float64]: ...
    @property
    def leap(self) -> float: ...


@dataclass(frozen=True, eq=False, slots=True)
class Basis:
    """The data that a feedback mode needs about a file in addition to its score.

    Attributes
    ----------
    noise : float
        A standard normal number that depends only on the ranks and the key.
    sketch : ndarray of float32, shape (512,), or None
        Sketch of the public rows' influences on the score, or None if the influences are undefined.
    """

    noise: float
    sketch: NDArray[np.float32] | None
    changes: NDArray[np.float32] | None = None
    leap: float = 0.0

    @property
    def other_noise(self) -> float:
        """A second standard normal number; seeing one of the two reveals nothing about the other."""
        return _normal(hashlib.blake2b(struct.pack("<d", self.noise), digest_size=16).digest())

    def to_bytes(self) -> bytes | None:
        """Return the sketch as little-endian bytes, or None if there is no sketch."""
        if self.sketch is None:
            return None
        parts = [self.sketch]
        if self.changes is not None:
            parts += [self.changes, np.array([self.leap], np.float32)]
        return np.concatenate(parts).astype("<f4").tobytes()

    @classmethod
    def of(cls, noise: float, sketch: bytes | None) -> "Basis":
        """Create a basis from its noise and stored bytes; raise ValueError if the length is wrong."""
        if sketch is None:
            return cls(noise, None)
        if len(sketch) not in (_BYTES, _WITH_CHANGES):
            raise ValueError(f"A sketch must have {_BYTES} or {_WITH_CHANGES} bytes, not {len(sketch)}.")
        numbers = np.frombuffer(sketch, "<f4").astype(np.float32)
        if len(sketch) == _BYTES:  # files scored by an older version have no stored changes
            return cls(noise, numbers)
        return cls(noise, numbers[:SKETCH_SIZE], numbers[SKETCH_SIZE:-1], float(numbers[-1]))


@dataclass(frozen=True, slots=True)
class ScoredFile:
    """A team's file: its exact public score and, if the feedback mode needs it, its basis."""

    score: float
    basis: Basis | None = None


def basis_of(ranks: NDArray[np.unsignedinteger], effects: Effects | None, *, key: bytes) -> Basis:
    """Compute the basis of a file.

    Parameters
    ----------
    ranks : ndarray of unsigned integers, shape (all rows,)
        Dense ranks of all predictions. Files with equal ranks have equal noise.
    effects : Effects or None
        Effects of the public rows and their labels on the score.
    key : bytes
        The competition's secret key.
    """
    noise = _noise(ranks, key)
    if effects is None:
        return Basis(noise, None)
    return Basis(noise, _sketch(effects.influence, key), _sketch(effects.change, key), effects.leap)


def paired_error(one: Basis, other: Basis) -> float | None:
    """Return the standard error of the difference of two scores, or None if it is undefined.

    Sketching adds an error with a standard deviation of 3 % of the result. The result is exact if the files
    differ in only a few rows and these are assigned to different numbers of the sketch.
    """
    if one.sketch is None or other.sketch is None:
        return None
    difference = one.sketch.astype(np.float64) - other.sketch
    return math.sqrt(float(difference @ difference))


def _sketch(influence: NDArray[np.float64], key: bytes) -> NDArray[np.float32]:
    places, is_negative = _drawn(key, influence.size)
    signed = np.where(is_negative, -influence, influence)
    return np.bincount(places, weights=signed, minlength=SKETCH_SIZE).astype(np.float32)


@lru_cache(maxsize=2)
def _drawn(key: bytes, rows: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the secret place of each row in a sketch, and whether its sign is negative."""
    drawn = np.frombuffer(hashlib.shake_256(b"sketch" + key).digest(2 * rows), "<u2")
    return (drawn % SKETCH_SIZE).astype(np.int64), drawn >= 0x8000


def _noise(ranks: NDArray[np.unsignedinteger], key: bytes) -> float:
    mark = hashlib.blake2b(
        ranks.astype("<u4").tobytes(), key=key[:64], digest_size=16, person=b"noise"
    ).digest()
    return _normal(mark)


def _normal(mark: bytes) -> float:
    """Convert 16 random bytes into a standard normal number (Box and Muller 1958)."""
    one, two = (int.from_bytes(part, "little") >> 11 for part in (mark[:8], mark[8:]))
    return math.sqrt(-2 * math.log((one + 1) / 2**53)) * math.cos(2 * math.pi * two / 2**53)
