"""Column values for the solution's rows, collected in one pass as evidence of disclosure."""

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
# Minimum share of distinct values among the matches of an id column. It excludes columns of small integers.
LEAST_DISTINCT = 0.5
MOST_ID_COLUMNS = 3
MOST_PARTS = 64
LONGEST_DIVIDED = 400
ROWS_AT_ONCE = 20_000
ALIGNED_ROWS = 8_000  # sample size for each table length, which is enough to detect agreement by order
_BETWEEN = re.compile(r"[^0-9A-Za-z.+-]+")


@dataclass(eq=False)
class _Column:
    """A column's values for the sampled rows. Uninformative parts use no memory."""

    codes: NDArray[np.uint8] | None
    numbers: NDArray[np.float64] | None = None
    categories: dict[str, int] = field(default_factory=lambda: {"": 0})

    def say(self, size: int, rows: Rows, texts: Sequence[str]) -> None:
        """Store the column's values for rows that have none yet."""
        import pandas as pd  # imported here because displaying findings does not need pandas

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
        """Return the column's values for some rows."""
        codes = None if self.codes is None else self.codes[rows]
        return Values(rows, codes, None if self.numbers is None else self.numbers[rows])

    def cut(self, size: int) -> None:
        """Keep only the first rows."""
        self.codes = None if self.codes is None else self.codes[:size].copy()
        self.numbers = None if self.numbers is None else self.numbers[:size].copy()

    @property
    def bytes(self) -> int:
        """Memory use of the values in bytes."""
        return sum(0 if each is None else each.nbytes for each in (self.codes, self.numbers))


class Gathered:
    """The values of all columns, by solution row; if a row occurs more than once, its first value counts.

    Rows are numbered in random order. If the values of many columns use too much memory, only the rows with
    the lowest numbers are kept, which is a smaller random sample. `may_agree` is given if the rows are
    identified by ids; a column is dropped as soon as it can no longer agree with any target.
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
        """Store the table positions of rows that have not been seen before."""
        self._is_there[rows] = True
        self._place[rows] = places

    def say(self, name: str, rows: Rows, texts: Sequence[str]) -> None:
        """Store a column's values for rows that were passed to `note`."""
        if name in self._hopeless:
            return
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = _Column(np.zeros(self.size, np.uint8))
            self._bytes += column.bytes
        inside = rows < self.size  # storing earlier columns may have reduced the size
        if not inside.all():
            texts = [text for text, is_in in zip(texts, inside.tolist(), strict=True) if is_in]
        before = column.bytes
        column.say(self.size, rows[inside], texts)
        self._bytes += column.bytes - before
        self._fit()

    def judge(self, tick: Callable[[], None]) -> None:
        """Drop columns that can no longer agree; do this whenever the number of rows has doubled."""
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
        """Return whether further values of a column are needed."""
        return name not in self._hopeless

    def new(self, numbers: Rows) -> Rows:
        """Return the indices in `numbers` of sampled rows that have not been seen before."""
        good = np.flatnonzero((numbers >= 0) & (numbers < self.size))
        good = good[~self._is_there[numbers[good]]]
        _, first = np.unique(numbers[good], return_index=True)
        return good[np.sort(first)]

    @property
    def count(self) -> int:
        """The number of rows with values."""
        return int(np.count_nonzero(self._is_there))

    def all(self, rows: Rows | None = None) -> Iterator[tuple[str, Values]]:
        """Yield each column with its values for some rows, by default for all rows with values."""
        chosen = np.flatnonzero(self._is_there) if rows is None else rows
        for name, column in self._columns.items():
            yield name, column.values(chosen)

    def places(self) -> Values:
        """Return the position of each row in the table."""
        rows = np.flatnonzero(self._is_there)
        return Values(rows, None, self._place[rows])

    def presence(self) -> Values:
        """Return whether each row is present in the table."""
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
    """The evidence from one table, matched to solution rows by ids or by row order.

    A table without ids is compared with all possible orders of the same length, with and without a header
    row. The sample submission or the solution may suggest such an order. `tick` is called frequently and may
    raise an exception to stop the check.
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
        """If the table has no ids, yield each column's values for every possible row order."""
        if not self._has_ids and self._in_order is not None:
            yield from self._in_order.held_against(self.hidden, self.row_count)

    def _is_of_ids(self, wanted: "list[_Wanted]", row_count: int) -> bool:
        """Return whether ids identify almost all rows read so far, so that their order adds no evidence."""
        share = len(self.hidden.index) / max(1, len(self.hidden.ids))
        counts = {id(gathered): gathered.count for gathered in self.by_id.values()}
        for each in wanted:
            counts[id(each.gathered)] += each.rows.size
        return max(counts.values(), default=0) >= 0.8 * share * max(1, row_count - 1)

    def _by_ids(self, wide: "_Wide") -> "list[_Wanted]":
        """Return, for each id column, the rows with known ids."""
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
        """Return the sampled rows, as long as the table is not longer than every order."""
        if self.row_count == 0:
            self._in_order = _InOrder.of(self.hidden.orders)
        if self._in_order is None or self.row_count + row_count > self._in_order.longest:
            self._in_order = None
            return []
        numbers = self._in_order.slots[self.row_count : self.row_count + row_count]
        new = self._in_order.gathered.new(numbers)
        return [_Wanted(self._in_order.gathered, new, numbers[new])] if new.size else []

    def _gather(self, wide: "_Wide", wanted: "list[_Wanted]") -> None:
        """Store all columns of the wanted rows; each column is decoded only once."""
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
    """The rows of a chunk that a `Gathered` needs, with the numbers that they have in it."""

    gathered: Gathered
    rows: Rows
    numbers: Rows
    id_name: str | None = None


@dataclass(frozen=True, eq=False)
class _InOrder:
    """Rows sampled by position, with enough rows for each length that the table may have."""

    slots: NDArray[np.intp]  # the slot of each position, or -1 for rows outside the sample
    gathered: Gathered

    @classmethod
    def of(cls, orders: Iterable[Order]) -> "_InOrder | None":
        """Sample rows for the lengths of the given orders; return None if there are no orders."""
        lengths = sorted({order.places.size for order in orders})
        if not lengths:
            return None
        random = np.random.default_rng(0)
        draws = [random.permutation(length)[:ALIGNED_ROWS] for length in lengths]
        drawn = np.unique(np.concatenate(draws))
        drawn = np.union1d(drawn, drawn + 1)  # a header row shifts all positions by one
        slots = np.full(lengths[-1] + 1, -1)
        slots[drawn] = random.permutation(drawn.size)
        return cls(slots, Gathered(drawn.size))

    @property
    def longest(self) -> int:
        """The maximum number of rows in a table that has one of the orders."""
        return self.slots.size

    def held_against(self, hidden: Hidden, row_count: int) -> Iterator[tuple[Order, str, Values]]:
        """Yield each column's values for every order of the table's length."""
        for order in hidden.orders:
            names = row_count - order.places.size
            if names not in (0, 1):
                continue
            inside = np.flatnonzero(self.slots[names:row_count] >= 0)
            rows = hidden.numbers[order.places[inside]]
            slots = self.slots[names:row_count][inside]
            is_known = (rows >= 0) & (slots < self.gathered.size)
            rows, slots = rows[is_known], slots[is_known]
            by_draw = np.argsort(rows, kind="stable")  # every prefix must be a random sample
            for name, values in self.gathered.all(slots[by_draw]):
                yield order, name, Values(rows[by_draw], values.codes, values.numbers)


class _Wide:
    """A chunk with extra columns for the parts of joined values such as ``7000001|toxic``."""

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
        """Return whether any value in a systematic sample is an id."""
        source, part = self._parts.get(name, (name, None))
        sample = self._samples[source]
        texts = sample if part is None else [_part(text, part) for text in sample]
        return bool((_found(texts, index) >= 0).any())

    def numbers(self, name: str, index: dict[str, int]) -> Rows:
        """Return the row numbers of the ids in a column, with -1 for values that are not ids."""
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
        """Yield the texts of a column and of its parts for some rows, unless none of them is wanted."""
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
    """Return the row number of each id, with -1 for texts that are not ids."""
    found = [index.get(text, -1) for text in texts]
    for place, text in enumerate(texts):
        if found[place] < 0 and "." in text:
            found[place] = index.get(_key(text), -1)
    return np.array(found, np.intp)


def _parts(sample: Sequence[str]) -> int:
    """Return the number of parts that almost all values have, or 0 if there is no such number."""
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
    """Return a value without its suffix, because 7 may appear as 7.0 or as the file name 7.txt."""
    return text.partition(".")[0]
