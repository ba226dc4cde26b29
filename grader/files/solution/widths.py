"""Check quickly that all records of a CSV have the same number of fields."""

from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 22
_QUOTE, _COMMA, _LF = ord('"'), ord(","), ord("\n")


def count_equal_records(stream: BinaryIO, width: int) -> int | None:
    """Count the records, header included; None where one of them may not have `width` fields.

    Quotes are taken by parity, which is exact where each opens right after a comma, a line end or
    another quote; anything else is doubtful, and so are NUL bytes and lone carriage returns.
    """
    proof = _Proof(width)
    while block := stream.read(_BLOCK):
        if block.endswith(b"\r"):
            block += stream.read(1)
        if not proof.take(block):
            return None
    return proof.records()


class _Proof:
    def __init__(self, width: int) -> None:
        self._commas_expected = width - 1
        self._commas = 0  # of the record that is not finished yet
        self._finished = 0
        self._is_quoted = False
        self._last = _LF

    def take(self, block: bytes) -> bool:
        """Look at the next block; False where in doubt."""
        if b"\0" in block or (b"\r" in block and b"\r" in block.replace(b"\r\n", b"")):
            return False
        data = np.frombuffer(block, np.uint8)
        marks = (data == _COMMA) | (data == _LF)
        if self._is_quoted or b'"' in block:
            quotes = data == _QUOTE
            inside = np.bitwise_xor.accumulate(quotes) ^ self._is_quoted
            before = np.concatenate(([self._last], data[:-1]))[quotes & inside]
            if not np.isin(before, (_QUOTE, _COMMA, _LF)).all():
                return False
            marks &= ~inside
            self._is_quoted = bool(inside[-1])
        self._last = int(data[-1])
        return self._count(data[np.flatnonzero(marks)] == _LF)

    def _count(self, is_end: NDArray[np.bool_]) -> bool:
        ends = np.flatnonzero(is_end)
        if not len(ends):
            self._commas += len(is_end)
            return self._commas <= self._commas_expected
        first = self._commas + int(ends[0])
        self._commas = len(is_end) - int(ends[-1]) - 1
        self._finished += len(ends)
        between = np.diff(ends) - 1
        return first == self._commas_expected and bool((between == self._commas_expected).all())

    def records(self) -> int | None:
        """Return their number after the last block."""
        if self._is_quoted:
            return None
        if self._last == _LF:
            return self._finished
        return self._finished + 1 if self._commas == self._commas_expected else None
