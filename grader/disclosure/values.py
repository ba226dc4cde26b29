"""Keep the values that columns have in chosen rows, compactly, while the table is read once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from grader.disclosure.agreement import MOST_CATEGORIES, Values

MEMORY_BYTES = 64_000_000
FEWEST_ROWS = 1_000
FIRST_JUDGED = 4_000

Rows = NDArray[np.intp]


@dataclass(eq=False)
class _Column:
    """A column's values of the rows that are looked at; what says nothing takes no memory."""

    codes: NDArray[np.uint8] | None
    numbers: NDArray[np.float64] | None = None
    categories: dict[str, int] = field(default_factory=lambda: {"": 0})

    def say(self, size: int, rows: Rows, texts: Sequence[str]) -> None:
        """Note what the column says of some rows, of which nothing was said yet."""
        import pandas as pd  # here, because who only shows what was found does without it

        places, distinct = pd.factorize(np.array(texts, dtype=object))
        numbers = np.fromiter(map(_number, distinct), np.float64, len(distinct))
        if self.numbers is None and np.isfinite(numbers).any():
            self.numbers = np.full(size, np.nan)
        if self.numbers is not None:
            self.numbers[rows] = numbers[places]
        if self.codes is None:
            return
        known = self.categories
        for text in distinct[: MOST_CATEGORIES + 1]:
            known.setdefault(text, len(known))
        if len(known) > MOST_CATEGORIES:
            self.codes = None
        else:
            self.codes[rows] = np.array([known[text] for text in distinct], np.uint8)[places]

    def values(self, rows: Rows) -> Values:
        """Return what the column says of some rows."""
        codes = None if self.codes is None else self.codes[rows]
        return Values(rows, codes, None if self.numbers is None else self.numbers[rows])

    def cut(self, size: int) -> None:
        """Keep the first rows only."""
        self.codes = None if self.codes is None else self.codes[:size].copy()
        self.numbers = None if self.numbers is None else self.numbers[:size].copy()

    @property
    def bytes(self) -> int:
        """How much memory the values take."""
        return sum(0 if each is None else each.nbytes for each in (self.codes, self.numbers))


class Gathered:
    """The values of every column, by the row that each belongs to; the first that is said of a row counts.

    Rows are numbered in a random order. Where there are so many columns that their values take too much
    memory, the first numbers alone are looked at: a smaller draw. `may_agree`, where it is known what the
    rows are, lets a column go as soon as no further row can make it agree.
    """

    def __init__(self, size: int, may_agree: Callable[[Values], bool] | None = None) -> None:
        self.size = size
        self._may_agree = may_agree
        self._columns: dict[str, _Column] = {}
        self._hopeless: set[str] = set()
        self._is_there = np.zeros(size, np.bool_)
        self._place = np.full(size, np.nan)
        self._judged_at = FIRST_JUDGED
        self._bytes = 0

    def note(self, rows: Rows, places: Rows) -> None:
        """Note where in the table some rows are of which nothing was said yet."""
        self._is_there[rows] = True
        self._place[rows] = places

    def say(self, name: str, rows: Rows, texts: Sequence[str]) -> None:
        """Note what a column says of rows that were noted."""
        if name in self._hopeless:
            return
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = _Column(np.zeros(self.size, np.uint8))
            self._bytes += column.bytes
        inside = rows < self.size  # the columns before may have made it smaller
        if not inside.all():
            texts = [text for text, is_in in zip(texts, inside.tolist(), strict=True) if is_in]
        before = column.bytes
        column.say(self.size, rows[inside], texts)
        self._bytes += column.bytes - before
        self._fit()

    def judge(self, tick: Callable[[], None]) -> None:
        """Let go of the columns that cannot agree any more, whenever twice as many rows are there."""
        count = self.count
        if self._may_agree is None or count < self._judged_at:
            return
        self._judged_at = 2 * count
        rows = np.flatnonzero(self._is_there)
        for name, column in list(self._columns.items()):
            tick()
            if not self._may_agree(column.values(rows)):
                self._hopeless.add(name)
                self._bytes -= self._columns.pop(name).bytes

    def wants(self, name: str) -> bool:
        """Return whether a column may still say something."""
        return name not in self._hopeless

    def new(self, numbers: Rows) -> Rows:
        """Return the index in `numbers` of a checked row without a value so far."""
        good = np.flatnonzero((numbers >= 0) & (numbers < self.size))
        good = good[~self._is_there[numbers[good]]]
        _, first = np.unique(numbers[good], return_index=True)
        return good[np.sort(first)]

    @property
    def count(self) -> int:
        """How many rows something was said of."""
        return int(np.count_nonzero(self._is_there))

    def all(self, rows: Rows | None = None) -> Iterator[tuple[str, Values]]:
        """Yield each column with its values of some rows, by default of all of which something was said."""
        chosen = np.flatnonzero(self._is_there) if rows is None else rows
        for name, column in self._columns.items():
            yield name, column.values(chosen)

    def places(self) -> Values:
        """Return the place of each row in the table."""
        rows = np.flatnonzero(self._is_there)
        return Values(rows, None, self._place[rows])

    def presence(self) -> Values:
        """Return whether each row is in the table at all."""
        return Values(np.arange(self._is_there.size, dtype=np.intp), self._is_there.astype(np.uint8), None)

    def _fit(self) -> None:
        while self.size > FEWEST_ROWS and self._bytes > MEMORY_BYTES:
            self.size = max(FEWEST_ROWS, self.size // 2)
            for each in self._columns.values():
                each.cut(self.size)
            self._is_there = self._is_there[: self.size].copy()
            self._place = self._place[: self.size].copy()
            self._bytes = sum(each.bytes for each in self._columns.values())


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
