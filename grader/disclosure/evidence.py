"""Evidence of disclosure: column values of the known rows, collected in one pass."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from grader.disclosure.agreement import MOST_CATEGORIES, Values
from grader.disclosure.hidden import Hidden, Order
from grader.disclosure.tables import Chunk, Rows, texts_of

MEMORY_BYTES = 64_000_000
FEWEST_ROWS = 1_000
FIRST_JUDGED = 4_000
SAMPLED = 200
LEAST_MATCHES = 5
# Of the rows of a chunk that have a known id, so many have different ones: a column of small numbers has not.
LEAST_DISTINCT = 0.5
MOST_ID_COLUMNS = 3
MOST_PARTS = 64
LONGEST_DIVIDED = 400
ROWS_AT_ONCE = 20_000
ALIGNED_ROWS = 8_000  # of each length; an agreement by order is as sure on a draw of the rows
_BETWEEN = re.compile(r"[^0-9A-Za-z.+-]+")


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
        return Values(np.arange(self._is_there.size), self._is_there.astype(np.uint8), None)

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


@dataclass(eq=False)
class Evidence:
    """What one table says, by the ids in each of its columns, and by the order of its rows.

    Rows of a table without ids are held against the orders that the sample submission or the solution may
    suggest: all orders of the right length, with and without a line of names before them. `tick` is called
    again and again: it may raise.
    """

    hidden: Hidden
    tick: Callable[[], None] = lambda: None
    by_id: dict[str, Gathered] = field(default_factory=dict)
    row_count: int = 0
    _has_ids: bool = False
    _in_order: "_InOrder | None" = None

    def read(self, chunks: Iterator[Chunk]) -> None:
        """Read a table to its end."""
        for chunk in chunks:
            self.tick()
            wide = _Wide(chunk)
            wanted = self._by_ids(wide)
            if not self._has_ids and not self._is_of_ids(wanted, self.row_count + chunk.row_count):
                wanted += self._by_order(chunk.row_count)
            else:
                self._has_ids, self._in_order = True, None
            self._gather(wide, wanted)
            self.row_count += chunk.row_count

    def aligned(self) -> Iterator[tuple[Order, str, Values]]:
        """Yield what each column says where the rows have one of the orders, and no ids."""
        if not self._has_ids and self._in_order is not None:
            yield from self._in_order.held_against(self.hidden, self.row_count)

    def _is_of_ids(self, wanted: "list[_Wanted]", row_count: int) -> bool:
        """Return whether ids name nearly every row so far: then the order of the rows adds nothing."""
        share = len(self.hidden.index) / max(1, len(self.hidden.ids))
        counts = {id(gathered): gathered.count for gathered in self.by_id.values()}
        for each in wanted:
            counts[id(each.gathered)] += each.rows.size
        return max(counts.values(), default=0) >= 0.8 * share * max(1, row_count - 1)

    def _by_ids(self, wide: "_Wide") -> "list[_Wanted]":
        """Return the rows whose ids are known, for each column of ids."""
        index, wanted = self.hidden.index, []
        for name in wide.names:
            gathered = self.by_id.get(name)
            if gathered is None and (
                len(self.by_id) >= MOST_ID_COLUMNS or not wide.may_hold_ids(name, index)
            ):
                continue
            numbers = wide.numbers(name, index)
            if gathered is None:
                matched = numbers[numbers >= 0]
                if matched.size < min(LEAST_MATCHES, len(index)):
                    continue
                if np.unique(matched).size < LEAST_DISTINCT * matched.size:
                    continue
                gathered = self.by_id[name] = Gathered(len(index), self.hidden.bounds.may_agree)
            new = gathered.new(numbers)
            if new.size:
                wanted.append(_Wanted(gathered, new, numbers[new], name))
        return wanted

    def _by_order(self, row_count: int) -> "list[_Wanted]":
        """Return the rows that are drawn, as long as the table may have an order's length."""
        if self.row_count == 0:
            self._in_order = _InOrder.of(self.hidden.orders)
        if self._in_order is None or self.row_count + row_count > self._in_order.longest:
            self._in_order = None
            return []
        numbers = self._in_order.slots[self.row_count : self.row_count + row_count]
        new = self._in_order.gathered.new(numbers)
        return [_Wanted(self._in_order.gathered, new, numbers[new])] if new.size else []

    def _gather(self, wide: "_Wide", wanted: "list[_Wanted]") -> None:
        """Note all columns of the rows that are wanted, one column after the other: each is decoded once."""
        for each in wanted:
            each.gathered.note(each.numbers, self.row_count + each.rows)
        for source in wide.sources if wanted else ():
            for each in wanted:
                for name, texts in wide.columns(source, each.rows, each.gathered.wants):
                    if name != each.id_name:
                        each.gathered.say(name, each.numbers, texts)
                self.tick()
        for each in wanted:
            each.gathered.judge(self.tick)


@dataclass(frozen=True, eq=False)
class _Wanted:
    """Rows of a chunk that a gathering wants, with its numbers for them."""

    gathered: Gathered
    rows: Rows
    numbers: Rows
    id_name: str | None = None


@dataclass(frozen=True, eq=False)
class _InOrder:
    """Rows drawn by their places: for each length that a table may have, enough of its rows."""

    slots: NDArray[np.intp]  # by place; -1 where a row is not drawn
    gathered: Gathered

    @classmethod
    def of(cls, orders: Iterable[Order]) -> "_InOrder | None":
        """Draw rows for the lengths of some orders."""
        lengths = sorted({order.places.size for order in orders})
        if not lengths:
            return None
        random = np.random.default_rng(0)
        draws = [random.permutation(length)[:ALIGNED_ROWS] for length in lengths]
        drawn = np.unique(np.concatenate(draws))
        drawn = np.union1d(drawn, drawn + 1)  # the place is one more where a line of names comes first
        slots = np.full(lengths[-1] + 1, -1)
        slots[drawn] = random.permutation(drawn.size)
        return cls(slots, Gathered(drawn.size))

    @property
    def longest(self) -> int:
        """The most rows that a table in an order has."""
        return self.slots.size

    def held_against(self, hidden: Hidden, row_count: int) -> Iterator[tuple[Order, str, Values]]:
        """Yield what each column says if the table has an order."""
        for order in hidden.orders:
            names = row_count - order.places.size
            if names not in (0, 1):
                continue
            inside = np.flatnonzero(self.slots[names:row_count] >= 0)
            rows = hidden.numbers[order.places[inside]]
            slots = self.slots[names:row_count][inside]
            is_known = (rows >= 0) & (slots < self.gathered.size)
            rows, slots = rows[is_known], slots[is_known]
            by_draw = np.argsort(rows, kind="stable")  # so that any first part is a draw too
            for name, values in self.gathered.all(slots[by_draw]):
                yield order, name, Values(rows[by_draw], values.codes, values.numbers)


class _Wide:
    """A chunk with the parts of columns that join several values, such as ``7000001|toxic``, beside it."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self.sources = chunk.names
        self._parts: dict[str, tuple[str, int]] = {}
        places = np.linspace(0, chunk.row_count - 1, min(SAMPLED, chunk.row_count)).astype(np.intp)
        self._samples: dict[str, list[str]] = {}
        self._part_names: dict[str, list[str]] = {}
        for name in chunk.names:
            sample = self._samples[name] = texts_of(chunk.cells(name, places))
            parts = self._part_names[name] = [f"{name} (part {n + 1})" for n in range(_parts(sample))]
            self._parts |= {part: (name, number) for number, part in enumerate(parts)}
        self.names = [*chunk.names, *self._parts]

    def may_hold_ids(self, name: str, index: dict[str, int]) -> bool:
        """Return whether some of the values, drawn evenly, are ids."""
        source, part = self._parts.get(name, (name, None))
        sample = self._samples[source]
        texts = sample if part is None else [_part(text, part) for text in sample]
        return bool((_found(texts, index) >= 0).any())

    def numbers(self, name: str, index: dict[str, int]) -> Rows:
        """Return the numbers of the ids in a column, -1 where a value is none."""
        source, part = self._parts.get(name, (name, None))
        found = []
        for first in range(0, self._chunk.row_count, ROWS_AT_ONCE):
            rows = np.arange(first, min(first + ROWS_AT_ONCE, self._chunk.row_count))
            texts = texts_of(self._chunk.cells(source, rows))
            found.append(_found(texts if part is None else [_part(text, part) for text in texts], index))
        return np.concatenate(found)

    def columns(
        self, source: str, rows: Rows, wants: Callable[[str], bool]
    ) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield a column and its parts, as texts of some rows, so far as they are wanted."""
        parts = self._part_names[source]
        if not any(map(wants, [source, *parts])):
            return
        texts = texts_of(self._chunk.cells(source, rows))
        yield source, texts
        if parts:
            divided = [_BETWEEN.split(text, maxsplit=MOST_PARTS) for text in texts]
            for number, name in enumerate(parts):
                yield name, [each[number] if number < len(each) else "" for each in divided]


def _found(texts: Sequence[str], index: dict[str, int]) -> Rows:
    """Return the number of each id, -1 where there is none."""
    found = [index.get(text, -1) for text in texts]
    for place, text in enumerate(texts):
        if found[place] < 0 and "." in text:
            found[place] = index.get(_key(text), -1)
    return np.array(found, np.intp)


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


def _key(text: str) -> str:
    """Return the id that a value is meant to be: spreadsheets write 7 as 7.0, and files are named 7.txt."""
    return text.partition(".")[0]
