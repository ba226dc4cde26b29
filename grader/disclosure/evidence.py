"""What the columns of a table say of the rows that are hidden, gathered while the table is read once."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from grader.disclosure.agreement import MOST_CATEGORIES, Values
from grader.disclosure.hidden import Hidden, Order
from grader.disclosure.tables import Chunk, text_of, texts_of

SAMPLED = 200
LEAST_MATCHES = 5
# Of the rows of a chunk that have a known id, so many have different ones: a column of small numbers has not.
LEAST_DISTINCT = 0.5
MOST_ID_COLUMNS = 3
MOST_PARTS = 64
LONGEST_DIVIDED = 400
MEMORY_BYTES = 200_000_000
_BETWEEN = re.compile(r"[^0-9A-Za-z.+-]+")
_INTEGRAL = re.compile(r"(\d+)\.0*")


@dataclass(eq=False)
class _Column:
    """A column's values of the rows that are looked at; the first that is said of a row counts."""

    codes: NDArray[np.uint8]
    numbers: NDArray[np.float64]
    categories: dict[str, int] = field(default_factory=lambda: {"": 0})
    has_many: bool = False

    @classmethod
    def of(cls, size: int) -> "_Column":
        return cls(np.zeros(size, np.uint8), np.full(size, np.nan))

    def say(self, rows: NDArray[np.intp], texts: Sequence[str]) -> None:
        """Note what the column says of some rows."""
        distinct = set(texts)
        numbers = {text: _number(text) for text in distinct}
        self.numbers[rows] = [numbers[text] for text in texts]
        if self.has_many:
            return
        known = self.categories
        for text in distinct:
            known.setdefault(text, len(known))
        if len(known) > MOST_CATEGORIES:
            self.has_many = True
        else:
            self.codes[rows] = [known[text] for text in texts]

    def values(self, rows: NDArray[np.intp]) -> Values:
        """Return what the column says of some rows."""
        return Values(rows, None if self.has_many else self.codes[rows], self.numbers[rows])


class Gathered:
    """The values of every column, by the row of the truth that each belongs to."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._columns: dict[str, _Column] = {}
        self._is_there = np.zeros(size, np.bool_)
        self._place = np.full(size, np.nan)

    def add(
        self,
        rows: NDArray[np.intp],
        first_place: NDArray[np.intp],
        texts_of: Callable[[str], Sequence[str]],
        names: Sequence[str],
    ) -> None:
        """Add the columns of some rows of which nothing was said yet, each row once."""
        self._is_there[rows] = True
        self._place[rows] = first_place
        for name in names:
            column = self._columns.get(name)
            if column is None:
                if len(self._columns) * self._size * 9 > MEMORY_BYTES:
                    continue
                column = self._columns[name] = _Column.of(self._size)
            column.say(rows, texts_of(name))

    def new(self, numbers: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return where in `numbers` a row stands that is looked at and of which nothing was said yet."""
        good = np.flatnonzero((numbers >= 0) & (numbers < self._size))
        good = good[~self._is_there[numbers[good]]]
        _, first = np.unique(numbers[good], return_index=True)
        return good[np.sort(first)]

    @property
    def count(self) -> int:
        """How many rows something was said of."""
        return int(np.count_nonzero(self._is_there))

    def all(self) -> Iterator[tuple[str, Values]]:
        """Yield each column with its values, and the place of the rows; where some lack, which do."""
        rows = np.flatnonzero(self._is_there)
        for name, column in self._columns.items():
            yield name, column.values(rows)

    def places(self) -> Values:
        """Return the place of each row in the table."""
        rows = np.flatnonzero(self._is_there)
        return Values(rows, None, self._place[rows])

    def presence(self) -> Values:
        """Return whether each row is in the table at all."""
        rows = np.arange(self._size, dtype=np.intp)
        return Values(rows, self._is_there.astype(np.uint8), np.full(self._size, np.nan))


@dataclass(eq=False)
class Evidence:
    """What one table says, by the ids in each of its columns, and by the order of its rows.

    Rows of a table without ids are held against the orders that the sample submission or the solution may
    suggest: all orders of the right length, with and without a line of names before them.
    """

    hidden: Hidden
    by_id: dict[str, Gathered] = field(default_factory=dict)
    row_count: int = 0
    _has_ids: bool = False
    _aligned: dict[tuple[int, int], Gathered] = field(default_factory=dict)

    def read(self, chunks: Iterator[Chunk]) -> None:
        """Read a table to its end."""
        for chunk in chunks:
            wide = _Wide(chunk)
            self._by_ids(wide)
            if not self._has_ids and not self._is_of_ids(self.row_count + chunk.row_count):
                self._by_order(wide)
            else:
                self._has_ids = True
            self.row_count += chunk.row_count

    def aligned(self) -> Iterator[tuple[Order, Gathered]]:
        """Yield what the table says where its rows have one of the orders, and no ids."""
        if self._has_ids:
            return
        for (order, names), gathered in self._aligned.items():
            if self.row_count - names == self.hidden.orders[order].places.size:
                yield self.hidden.orders[order], gathered

    def _is_of_ids(self, row_count: int) -> bool:
        """Tell whether ids name nearly every row so far: then the order of the rows says no more."""
        share = len(self.hidden.index) / max(1, len(self.hidden.ids))
        most = max((gathered.count for gathered in self.by_id.values()), default=0)
        return most >= 0.8 * share * max(1, row_count - 1)

    def _by_ids(self, wide: "_Wide") -> None:
        index = self.hidden.index
        for name in wide.names:
            gathered = self.by_id.get(name)
            if gathered is None and (
                len(self.by_id) >= MOST_ID_COLUMNS or not wide.may_hold_ids(name, index)
            ):
                continue
            numbers = np.array([index.get(_key(text, index), -1) for text in wide.texts(name)], np.intp)
            matched = numbers[numbers >= 0]
            if gathered is None:
                if matched.size < min(LEAST_MATCHES, len(index)):
                    continue
                if np.unique(matched).size < LEAST_DISTINCT * matched.size:
                    continue
                gathered = self.by_id[name] = Gathered(len(index))
            self._gather(gathered, wide, numbers, [each for each in wide.names if each != name])

    def _by_order(self, wide: "_Wide") -> None:
        places = np.arange(self.row_count, self.row_count + wide.row_count)
        for number, order in enumerate(each.places for each in self.hidden.orders):
            for names in (0, 1):
                if self.row_count + wide.row_count - names > order.size:
                    self._aligned.pop((number, names), None)
                    continue
                if self.row_count and (number, names) not in self._aligned:
                    continue
                gathered = self._aligned.setdefault(
                    (number, names), Gathered(min(len(self.hidden.index), ALIGNED_ROWS))
                )
                inside = places - names
                rows = np.where(inside >= 0, self.hidden.numbers[order[np.maximum(inside, 0)]], -1)
                self._gather(gathered, wide, rows, wide.names)

    def _gather(
        self, gathered: Gathered, wide: "_Wide", numbers: NDArray[np.intp], names: Sequence[str]
    ) -> None:
        new = gathered.new(numbers)
        if new.size:
            gathered.add(numbers[new], self.row_count + new, lambda name: wide.texts_at(name, new), names)


ALIGNED_ROWS = 20_000  # an agreement by order is as sure on a draw of the rows


class _Wide:
    """A chunk with the parts of columns that join several values, such as ``7000001|toxic``, beside it."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self.row_count = chunk.row_count
        self._texts: dict[str, Sequence[str]] = {}
        self._parts: dict[str, tuple[str, int]] = {}
        places = np.linspace(0, chunk.row_count - 1, min(SAMPLED, chunk.row_count)).astype(np.intp).tolist()
        self._samples: dict[str, list[str]] = {}
        for name in chunk.names:
            column = chunk.column(name)
            sample = self._samples[name] = [text_of(column[place]) for place in places]
            for part in range(_parts(sample)):
                self._parts[f"{name} (part {part + 1})"] = name, part
        self.names = [*chunk.names, *self._parts]

    def may_hold_ids(self, name: str, index: dict[str, int]) -> bool:
        """Tell whether some of the values, drawn evenly, are ids."""
        source, part = self._parts.get(name, (name, None))
        sample = self._samples[source]
        texts = sample if part is None else [_part(text, part) for text in sample]
        return any(_key(text, index) in index for text in texts)

    def texts(self, name: str) -> Sequence[str]:
        """Return all values of a column."""
        source, part = self._parts.get(name, (name, None))
        column = self._chunk.column(source)
        if part is None:
            return texts_of(column)
        return [_part(text, part) for text in texts_of(column)]

    def texts_at(self, name: str, rows: NDArray[np.intp]) -> Sequence[str]:
        """Return some values of a column."""
        source, part = self._parts.get(name, (name, None))
        column = self._chunk.column(source)
        texts = texts_of(column[row] for row in rows.tolist())
        return texts if part is None else [_part(text, part) for text in texts]


def _parts(sample: Sequence[str]) -> int:
    """Return of how many parts nearly all values are made, 0 where they are not joined of the same number."""
    filled = [text for text in sample if text]
    if not filled or max(map(len, filled)) > LONGEST_DIVIDED:
        return 0
    counts = [len(_BETWEEN.split(text)) for text in filled]
    most = max(set(counts), key=counts.count)
    return most if 2 <= most <= MOST_PARTS and counts.count(most) >= 0.9 * len(counts) else 0


def _part(text: str, part: int) -> str:
    parts = _BETWEEN.split(text, maxsplit=part + 1)
    return parts[part] if part < len(parts) else ""


def _key(text: str, index: dict[str, int]) -> str:
    """Return the id that a value is meant to be: spreadsheets write 7 as 7.0, and files are named 7.txt."""
    if text in index or "." not in text:
        return text
    integral = _INTEGRAL.fullmatch(text)
    return integral[1] if integral else text.partition(".")[0]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
