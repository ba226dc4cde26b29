"""Public values of a solution's rows (order, ids, id hashes), to test whether they leak labels."""

import hashlib
import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.files import PublicTable, RowIds
from grader.metrics.leaks import VisibleGroups, VisibleOrder

ROW_NUMBER, TEST_ROW_NUMBER, ID = "row number", "row number in test.csv", "id"
MODULI = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 100)
LARGEST_INTEGER_DIGITS = 18  # of those that fit into 64 bits for certain

HASHES: dict[str, Callable[[bytes], bytes]] = {
    "MD5": lambda data: hashlib.md5(data, usedforsecurity=False).digest(),
    "SHA-1": lambda data: hashlib.sha1(data, usedforsecurity=False).digest(),
    "SHA-256": lambda data: hashlib.sha256(data).digest(),
    "CRC-32": lambda data: zlib.crc32(data).to_bytes(4, "big"),
}
# Of an id as the 8 bytes of a NumPy integer, by which textbooks split.
INTEGER_HASHES = ("MD5", "CRC-32")


@dataclass(frozen=True, eq=False)
class Visible:
    """A value that everybody sees of some `rows`: their order by it, and its groups of rows by name."""

    name: str
    rows: NDArray[np.intp]
    order: VisibleOrder
    groups: tuple[tuple[str, VisibleGroups], ...]


def visible(row_ids: RowIds, scored: NDArray[np.intp], test: PublicTable | None) -> Iterator[Visible]:
    """Yield what everybody sees of the `scored` rows: row number, id, its hashes, row number in test.csv."""
    yield _numbers(ROW_NUMBER, scored, scored)
    texts = row_ids.to_bytes().split(b"\n")[:-1]
    integers = _integers(row_ids, texts)
    if integers is None:
        places = np.empty(len(texts), np.int64)
        places[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
        yield Visible(ID, scored, VisibleOrder.of(places[scored]), ())
    else:
        yield _numbers(ID, integers[scored], scored)
    for name, digest in HASHES.items():
        yield _hashes(f"{name} of the id", map(digest, texts), scored)
    if integers is not None:
        packed = integers.astype("<i8").tobytes()
        for name in INTEGER_HASHES:
            eights = (packed[start : start + 8] for start in range(0, len(packed), 8))
            yield _hashes(f"{name} of the id as a 64-bit number", map(HASHES[name], eights), scored)
    if test is not None and test.positions.size:
        is_scored = np.zeros(len(row_ids), np.bool_)
        is_scored[scored] = True
        rows = test.positions[is_scored[test.positions]]
        yield _numbers(TEST_ROW_NUMBER, np.arange(rows.size), rows)


def _integers(row_ids: RowIds, texts: Sequence[bytes]) -> NDArray[np.int64] | None:
    if not row_ids.are_integers or row_ids.longest > LARGEST_INTEGER_DIGITS:
        return None
    return np.array(texts).astype(np.int64)


def _numbers(name: str, values: NDArray[np.int64], rows: NDArray[np.intp]) -> Visible:
    groups = tuple(
        (f"{name} modulo {modulus}", VisibleGroups((values % modulus).astype(np.uint8))) for modulus in MODULI
    )
    return Visible(name, rows, VisibleOrder.of(values), groups)


def _hashes(name: str, hashes: Iterator[bytes], rows: NDArray[np.intp]) -> Visible:
    """Return hashes in the order of their first bytes, with their ends and their remainders as numbers."""
    joined = bytearray(next(hashes))
    size = len(joined)
    for each in hashes:  # one after the other: as objects they would take three times the memory
        joined += each
    table = np.frombuffer(joined, np.uint8).reshape(-1, size)[rows]
    first = np.zeros(rows.size, np.uint64)
    for byte in table[:, :8].T:
        first = (first << np.uint64(8)) | byte
    remainders = np.zeros(rows.size, np.int64)
    for byte in table.T:  # as one number, modulo what all moduli divide
        remainders = (remainders * 256 + byte) % math.lcm(*MODULI)
    groups = {
        **{f"{name} modulo {modulus}": remainders % modulus for modulus in MODULI},
        f"first hexadecimal digit of the {name}": table[:, 0] >> 4,
        f"last byte of the {name}": table[:, -1],
    }
    coded = tuple((name, VisibleGroups(codes.astype(np.uint8))) for name, codes in groups.items())
    return Visible(name, rows, VisibleOrder.of(first), coded)
