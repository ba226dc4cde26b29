"""Count the values of a column that fit 0..1, to detect slips."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.numbers import BLANKS, number_of

MOST_MISFITS = 0.1
MISSING_WORDS = frozenset({"nan", "na", "n/a", "<na>", "null", "none", "nil", "-", "?", "."})


@dataclass(slots=True)
class Tally:
    """How many values of a column fit 0..1. Blanks fit any column and are not counted.

    Attributes
    ----------
    fitting : int
        Numbers in 0..1.
    missing : int
        Words for a missing value, such as ``NaN``, where a blank was expected.
    misfits : int
        All others.
    """

    fitting: int = 0
    missing: int = 0
    misfits: int = 0

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Tally":
        """Count texts."""
        tally = cls()
        for text in texts:
            tally.add(text, number_of(text))
        return tally

    def add(self, text: str, value: float | None) -> None:
        """Count a text that was read as a value: NaN for a blank, None for no number."""
        if value is not None and 0 <= value <= 1:
            self.fitting += 1
        elif value is not None and math.isnan(value):
            return
        elif text.strip(BLANKS).casefold() in MISSING_WORDS:
            self.missing += 1
        else:
            self.misfits += 1

    def add_numbers(self, values: NDArray[np.float64]) -> None:
        """Count numbers, NaN for a blank."""
        inside = int(np.count_nonzero((values >= 0) & (values <= 1)))
        self.fitting += inside
        self.misfits += int(np.count_nonzero(~np.isnan(values))) - inside

    @property
    def is_whole(self) -> bool:
        """Whether every value is a blank or in 0..1."""
        return not self.missing and not self.misfits

    @property
    def is_near(self) -> bool:
        """Whether nearly every value is in 0..1, but not all: somebody may have slipped."""
        few = self.misfits <= MOST_MISFITS * (self.fitting + self.misfits)
        return not self.is_whole and self.fitting > 0 and few

    @property
    def may_be_near(self) -> bool:
        """Whether a column that begins like this may be whole or near in all."""
        return self.is_whole or (self.fitting > 0 and self.fitting >= self.misfits)
