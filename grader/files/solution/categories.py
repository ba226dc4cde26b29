"""Keep text columns with few distinct values compactly in memory."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BLANK = -1


@dataclass(frozen=True, slots=True)
class Categories:
    """The texts of a column.

    Attributes
    ----------
    values : tuple of str
        Each text once, in the order of first appearance.
    codes : array of int32, shape (n,)
        For each row the place of its text in `values`, -1 for a blank.
    """

    values: tuple[str, ...]
    codes: NDArray[np.int32]

    def texts(self) -> list[str]:
        """Return the text of each row; that of a blank is empty."""
        named = [*self.values, ""]  # -1 is the last
        return [named[code] for code in self.codes.tolist()]


class CategoryWriter:
    """Collects the texts of a column, row after row or many rows at once."""

    def __init__(self) -> None:
        self._codes = array("i")
        self._places: dict[str, int] = {"": BLANK}

    def add(self, text: str) -> None:
        """Add the text of the next row, trimmed; an empty one is a blank."""
        self._codes.append(self._place(text))

    def add_coded(self, codes: NDArray[np.integer], texts: Sequence[str]) -> None:
        """Add the next rows, given as places in `texts`."""
        places = np.array([self._place(text) for text in texts], np.int32)
        self._codes.frombytes(places[codes].tobytes())

    def categories(self) -> Categories:
        """Return what was added."""
        values: Iterable[str] = list(self._places)[1:]
        return Categories(tuple(values), np.frombuffer(self._codes, np.int32))

    def _place(self, text: str) -> int:
        return self._places.setdefault(text, len(self._places) - 1)
