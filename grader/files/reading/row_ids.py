"""Expected row ids, indexed for joins, and reasons why an id is unknown."""

import heapq
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.numbers import NUMBER_BYTES
from grader.files.reading.text import INVISIBLE

_INTEGRAL_DECIMAL = re.compile(rb"([0-9]{1,16})\.0*+")
_SHORT_SCIENTIFIC = re.compile(rb"[1-9](?:\.[0-9]{0,15}[1-9])?e\+?[0-9]{1,2}")
_LARGEST_EXACT = 1 << 53
_CLASS_OF_INTEGERS = re.compile(
    rb"(?P<scientific_id>[+-]?[0-9]++(?:\.[0-9]*+)?e[+-]?[0-9]++)"
    rb"|(?P<unknown_id>-?[0-9]++(?:\.[0-9]++)?)",
    re.IGNORECASE,
)
_NUMBER = re.compile(rb"[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE]\+?[0-9]{1,2})?")
_LEAST_DIGITS = 15  # that spreadsheets preserve; 64-bit floats preserve up to 17
PADDING_BYTES = 72
_WORD_BYTES = 8
_MOST_WORDS = PADDING_BYTES // _WORD_BYTES - 1
_MASKS = np.array([(1 << (8 * n)) - 1 for n in range(_WORD_BYTES + 1)], dtype=np.uint64)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_IMPROPER = (b"\n\n", b"\n ", b"\n\t", b" \n", b"\t\n", b"\r", b"\0")
_INTEGERS = re.compile(rb"(?:(?:0|[1-9][0-9]*+)\n)*+")


def as_integer(value: bytes) -> bytes | None:
    """Return ``7000000`` for ``7000000.0`` or ``7e6``, or None for other texts.

    R writes round numbers as ``7e6`` or ``7e+06``. If a program rounded ids to such numbers, ids are missing,
    so the file is rejected.
    """
    if match := _INTEGRAL_DECIMAL.fullmatch(value):
        return match[1] if int(match[1]) < _LARGEST_EXACT else None
    number = Decimal(value.decode()) if _SHORT_SCIENTIFIC.fullmatch(value) else Decimal("NaN")
    is_exact = number.is_finite() and number == number.to_integral_value() and number < _LARGEST_EXACT
    return str(int(number)).encode() if is_exact else None


def place_of(value: bytes, index: Mapping[bytes, int]) -> int | None:
    """Return the position of an id, or None if it is unknown; ``70``, ``70.0`` and ``7e1`` are equal."""
    place = index.get(value)
    if place is None and value.isdigit():
        place = index.get(value + b".0")
    elif place is None and (integer := as_integer(value)) is not None:
        place = index.get(integer)
    return place


def fault_of_id(value: bytes, *, are_integers: bool) -> str:
    """Return the problem code of a trimmed id in UTF-8 that is not expected.

    If all expected ids are integers, no other text is an id.
    """
    if not value:
        return "empty_id"
    if not value.isascii() and INVISIBLE.search(value.decode()):
        return "invisible_character"
    if not are_integers:
        return "unknown_id"
    match = _CLASS_OF_INTEGERS.fullmatch(value)
    return (match.lastgroup if match else None) or "not_an_id"


def hint_on_id(value: bytes, index: Mapping[bytes, int]) -> str:
    """Return the likely reason why an id is not one of the expected ids, or nothing."""
    if value.lstrip(b"0") in index:
        return " (leading zero?)"
    if _is_rounded(value, index):
        return " (a program rounded the ids to about 16 digits; store them as text)"
    if value.lower() in index or value.upper() in index:
        return " (case matters)"
    text = value.decode()
    if any(normalize(form, text).encode() in index for form in ("NFC", "NFD")):
        return " (composed and decomposed Unicode letters are different)"
    return ""


def _is_rounded(value: bytes, index: Mapping[bytes, int]) -> bool:
    """Return whether a program has rounded a long expected id to 15 to 17 digits."""
    if not _NUMBER.fullmatch(value):
        return False
    number = int(Decimal(value.decode()))
    if not number > _LARGEST_EXACT or (number % 10 and int(float(number)) != number):
        return False
    most = 10 ** (len(str(number)) - _LEAST_DIGITS)
    ids = (int(text) for text in index if text.isdigit())
    return any(number != each and abs(number - each) <= most for each in ids)


@dataclass(frozen=True)
class RowIds:
    """The expected row ids in the solution's order, created with `of` or from a stored `text`.

    The text is UTF-8 with a line feed after each id, which is compact even for millions of ids.
    """

    text: bytes

    @classmethod
    def of(cls, ids: Iterable[str]) -> "RowIds":
        """Create row ids from distinct texts in the solution's order.

        Raise ValueError if an id is empty, occurs twice, is padded with spaces, or contains a line break, NUL
        or an invisible character.
        """
        texts = list(ids)
        row_ids = cls("".join(f"{text}\n" for text in texts).encode())
        if len(row_ids) != len(texts) or not row_ids.are_proper:
            raise ValueError(
                "A row id is empty, occurs twice, is padded, or contains an invisible character."
            )
        return row_ids

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[str]:
        return iter(self.text.decode().split("\n")[:-1])

    @cached_property
    def _length(self) -> int:
        return self.text.count(b"\n")

    @cached_property
    def are_proper(self) -> bool:
        """Whether submissions can refer to every id: all are visible, trimmed and distinct."""
        text = b"\n" + self.text
        if any(mark in text for mark in _IMPROPER):
            return False
        are_visible = text.isascii() or INVISIBLE.search(text.decode()) is None
        return are_visible and self._are_distinct

    @cached_property
    def _are_distinct(self) -> bool:
        if not len(self) or (self.longest <= _MOST_WORDS * _WORD_BYTES and self._keys_are_distinct):
            return True
        # The last part is the empty text after the final line feed.
        return len(set(self.text.split(b"\n"))) == len(self) + 1

    @cached_property
    def are_integers(self) -> bool:
        """Whether every id is a non-negative integer without leading zeros."""
        return _INTEGERS.fullmatch(self.text) is not None

    @cached_property
    def are_plain(self) -> bool:
        """Whether no id needs quotes in CSV."""
        return b"," not in self.text and b'"' not in self.text

    @cached_property
    def foreign_bytes(self) -> int:
        """Number of bytes in the ids that cannot occur in a number."""
        return len(self.text.translate(None, NUMBER_BYTES + b"\n"))

    @cached_property
    def longest(self) -> int:
        """Length of the longest id in bytes."""
        return int(self._lengths.max()) if len(self) else 0

    def index(self) -> dict[bytes, int]:
        """Return a new dictionary that maps each id to its position in the solution's order."""
        return {text: place for place, text in enumerate(self.text.split(b"\n")[:-1])}

    def at(self, places: Iterable[int]) -> list[str]:
        """Return the ids at the given positions in the solution's order."""
        names = self.text.split(b"\n")
        return [names[place].decode() for place in places]

    def smallest(self, places: Iterable[int], most: int) -> list[str]:
        """Return the first ids at the given positions, sorted by number or by text."""
        names = self.text.split(b"\n")
        chosen = (names[place] for place in places)
        first = heapq.nsmallest(most, chosen, key=int if self.are_integers else None)
        return [name.decode() for name in first]

    def positions(
        self, buffer: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> NDArray[np.int64] | slice | None:
        """Match the ids in a buffer with the expected ids exactly, in any order.

        Parameters
        ----------
        buffer : array of uint8
            Contains the ids. After the start of the last id, there must be enough bytes for the whole words
            of the longest id; `PADDING_BYTES` are always enough.
        starts, lengths : arrays of int64, shape (n,)
            Offset and length of each id in bytes.

        Returns
        -------
        array of int64, shape (n,), or slice, or None
            The position of each id in the solution's order, or a full slice if the ids are in that order.
            None unless the ids are proven to be exactly the expected ids, each once.

        Notes
        -----
        Ids are compared as 8-byte words. A hash of the words sorts both sides into the same order. The words
        themselves are then compared, so the result does not depend on the hash.
        """
        if len(starts) != len(self) or not len(self) or self.longest > _MOST_WORDS * _WORD_BYTES:
            return None
        words = _words(buffer, starts, lengths, self.longest)
        if np.array_equal(lengths, self._lengths) and all(map(np.array_equal, words, self._words)):
            return slice(None)
        keys = _mixed(words)
        order = np.argsort(keys)
        expected_keys, expected_order = self._sorted
        if not np.array_equal(keys[order], expected_keys):
            return None
        positions = np.empty(len(self), np.int64)
        positions[order] = expected_order
        same = np.array_equal(lengths, self._lengths[positions]) and all(
            np.array_equal(own, expected[positions]) for own, expected in zip(words, self._words, strict=True)
        )
        return positions if same and self._keys_are_distinct else None

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        ends = np.flatnonzero(np.frombuffer(self.text, np.uint8) == ord("\n"))
        return np.concatenate(([0], ends[:-1] + 1)).astype(np.int64)

    @cached_property
    def _lengths(self) -> NDArray[np.int64]:
        ends = np.flatnonzero(np.frombuffer(self.text, np.uint8) == ord("\n"))
        return ends - self._starts

    @cached_property
    def _words(self) -> list[NDArray[np.uint64]]:
        padded = np.frombuffer(self.text + bytes(PADDING_BYTES), np.uint8)
        return _words(padded, self._starts, self._lengths, self.longest)

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        keys = _mixed(self._words)
        order = np.argsort(keys)
        return keys[order], order

    @cached_property
    def _keys_are_distinct(self) -> bool:
        keys, _ = self._sorted
        return bool((keys[1:] != keys[:-1]).all())


def _words(
    buffer: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    longest: int,
) -> list[NDArray[np.uint64]]:
    """Return the ids as columns of 8-byte words, padded with zeros."""
    at_every_byte: NDArray[np.uint64] = np.ndarray(
        (len(buffer) - _WORD_BYTES + 1,), "<u8", buffer, strides=(1,)
    )
    return [
        at_every_byte[starts + offset] & _mask(lengths - offset) for offset in range(0, longest, _WORD_BYTES)
    ]


def _mask(lengths: NDArray[np.int64]) -> NDArray[np.uint64] | np.uint64:
    """Return the masks of the bits in a word that belong to ids with these remaining lengths."""
    if lengths.min() == lengths.max():
        return np.uint64(_MASKS[min(int(lengths[0]), _WORD_BYTES)])
    return _MASKS[np.clip(lengths, 0, _WORD_BYTES)]


def _mixed(words: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    keys = words[0]
    for word in words[1:]:
        keys = (keys ^ (keys >> _SHIFT)) * _MULTIPLIER + word
    return keys
