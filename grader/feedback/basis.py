r"""Data of a scored file for the coarse modes: its noise and a sketch of its errors.

A ladder asks whether a file is better than another beyond chance. The standard error of the difference of two
scores on the same rows is the length of the difference of their influences, one number for each row. A sketch
keeps that length in a few numbers: each row is added, with a secret sign, to a secret one of them. So any two
files of a team can be compared later without reading either of them.
"""

import hashlib
import math
import struct
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

SKETCH_SIZE = 512
_BYTES = SKETCH_SIZE * 4
_WITH_CHANGES = 2 * _BYTES + 4


class Effects(Protocol):
    """As `grader.metrics.analysis.label_effects.LabelEffects`."""

    @property
    def influence(self) -> NDArray[np.float64]: ...
    @property
    def change(self) -> NDArray[np.float64]: ...
    @property
    def leap(self) -> float: ...


@dataclass(frozen=True, eq=False, slots=True)
class Basis:
    """What a mode needs of a file beside its score.

    Attributes
    ----------
    noise : float
        A standard normal number, always the same for equal ranks under one key.
    sketch : ndarray of float32, shape (512,), or None
        Of the influences of the public rows on the score; None where they are not defined.
    """

    noise: float
    sketch: NDArray[np.float32] | None
    changes: NDArray[np.float32] | None = None
    leap: float = 0.0

    @property
    def other_noise(self) -> float:
        """A second such number: a team that sees one of them learns nothing of the other."""
        return _normal(hashlib.blake2b(struct.pack("<d", self.noise), digest_size=16).digest())

    def to_bytes(self) -> bytes | None:
        """Return the sketch as bytes, the lowest first; None without one."""
        if self.sketch is None:
            return None
        parts = [self.sketch]
        if self.changes is not None:
            parts += [self.changes, np.array([self.leap], np.float32)]
        return np.concatenate(parts).astype("<f4").tobytes()

    @classmethod
    def of(cls, noise: float, sketch: bytes | None) -> "Basis":
        """Return what `to_bytes` made; raises ValueError for another number of bytes."""
        if sketch is None:
            return cls(noise, None)
        if len(sketch) not in (_BYTES, _WITH_CHANGES):
            raise ValueError(f"A sketch has {_BYTES} or {_WITH_CHANGES} bytes, this one {len(sketch)}.")
        numbers = np.frombuffer(sketch, "<f4").astype(np.float32)
        if len(sketch) == _BYTES:  # a file that was scored before changes were stored
            return cls(noise, numbers)
        return cls(noise, numbers[:SKETCH_SIZE], numbers[SKETCH_SIZE:-1], float(numbers[-1]))


@dataclass(frozen=True, slots=True)
class ScoredFile:
    """One file of a team: its exact public score, and its basis where the mode needs one."""

    score: float
    basis: Basis | None = None


def basis_of(ranks: NDArray[np.unsignedinteger], effects: Effects | None, *, key: bytes) -> Basis:
    """Return the basis of a file.

    Parameters
    ----------
    ranks : ndarray of unsigned integers, shape (all rows,)
        Dense ranks of all its predictions: what does not change them does not change the noise.
    effects : Effects or None
        Of the public rows and of their labels on the score.
    key : bytes
        The competition's secret.
    """
    noise = _noise(ranks, key)
    if effects is None:
        return Basis(noise, None)
    return Basis(noise, _sketch(effects.influence, key), _sketch(effects.change, key), effects.leap)


def paired_error(one: Basis, other: Basis) -> float | None:
    """Return the standard error of the difference of two files' scores; None where it is not defined.

    The sketch makes an error of its own: 3 % of the result (one standard deviation), and none where the files
    differ in a few rows that fall into places of their own.
    """
    if one.sketch is None or other.sketch is None:
        return None
    difference = one.sketch.astype(np.float64) - other.sketch
    return math.sqrt(float(difference @ difference))


def _sketch(influence: NDArray[np.float64], key: bytes) -> NDArray[np.float32]:
    stream = hashlib.shake_256(b"sketch" + key).digest(2 * influence.size)
    drawn = np.frombuffer(stream, "<u2")
    signed = np.where(drawn & 0x8000, -influence, influence)
    return np.bincount(drawn % SKETCH_SIZE, weights=signed, minlength=SKETCH_SIZE).astype(np.float32)


def _noise(ranks: NDArray[np.unsignedinteger], key: bytes) -> float:
    mark = hashlib.blake2b(
        ranks.astype("<u4").tobytes(), key=key[:64], digest_size=16, person=b"noise"
    ).digest()
    return _normal(mark)


def _normal(mark: bytes) -> float:
    """Make a standard normal number of 16 random bytes (Box and Muller 1958)."""
    one, two = (int.from_bytes(part, "little") >> 11 for part in (mark[:8], mark[8:]))
    return math.sqrt(-2 * math.log((one + 1) / 2**53)) * math.cos(2 * math.pi * two / 2**53)
