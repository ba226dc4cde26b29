"""Values of a table for the solution's rows, collected in one pass as evidence of disclosure."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np

from grader.disclosure.hidden import Hidden
from grader.disclosure.tables import FileTable

BLOCK_ROWS = 1_000
MOST_CELLS = 1_000_000  # limits the memory; in wide tables, fewer rows are compared
CELL_LENGTH = 100
LEAST_MATCHES = 5
# Minimum share of distinct values among the matches of an id column. It excludes columns of small integers.
LEAST_DISTINCT = 0.5
MOST_ID_COLUMNS = 3
SAMPLED = 10
NO_ROW = -1


class Gathered:
    """The cells of numbered rows; if a row occurs more than once, its first cells count.

    Rows are numbered in random order, so the rows below `size` are a random sample.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._cells: dict[int, list[str]] = {}
        self._positions: dict[int, int] = {}  # the position of each row in the table

    def add(self, numbers: Sequence[int], rows: Sequence[Sequence[str]], before: int) -> None:
        """Store rows that follow `before` other rows in the table."""
        for place, (number, row) in enumerate(zip(numbers, rows, strict=True)):
            if 0 <= number < self.size and number not in self._cells:
                self._cells[number] = [cell.strip()[:CELL_LENGTH] for cell in row]
                self._positions[number] = before + place

    @property
    def numbers(self) -> list[int]:
        """The numbers of the rows."""
        return list(self._cells)

    def texts(self, column: int, numbers: Sequence[int]) -> list[str]:
        """Return the cells of a column for some rows."""
        rows = (self._cells[number] for number in numbers)
        return [row[column] if column < len(row) else "" for row in rows]

    def positions(self) -> list[str]:
        """Return the position of each row in the table."""
        return list(map(str, self._positions.values()))

    def presence(self) -> list[str]:
        """Return whether each row up to `size` is in the table."""
        return [str(number in self._cells) for number in range(self.size)]


class Evidence:
    """The evidence from one table, matched to solution rows by ids or by row order.

    A table without ids is compared with all possible orders of the same length, with and without a header
    row. The sample submission or the solution may suggest such an order. `tick` is called frequently and may
    raise an exception to stop the check.
    """

    def __init__(self, hidden: Hidden, tick: Callable[[], None] = lambda: None) -> None:
        self.by_id: dict[int, Gathered] = {}  # by id column
        self.row_count = 0
        self._hidden = hidden
        self._tick = tick
        self._most_rows = 0
        self._step = 1  # in long tables without ids, only every n-th position is compared
        self._by_position = Gathered(0)

    def read(self, table: FileTable) -> None:
        """Read a table to its end."""
        while block := list(islice(table.rows, BLOCK_ROWS)):
            self._tick()
            width = max(1, *map(len, block))
            if not self.row_count:
                self._most_rows = -(-MOST_CELLS // width)
                longest = max(order.size for order in self._hidden.orders) + 1
                self._step = -(-longest // self._most_rows)
                self._by_position = Gathered(-(-longest // self._step))
            for column in range(width):
                self._add_by_id(column, block)
            positions = range(self.row_count, self.row_count + len(block))
            slots = [NO_ROW if place % self._step else place // self._step for place in positions]
            self._by_position.add(slots, block, self.row_count)
            self.row_count += len(block)

    def aligned(self) -> Iterator[tuple[Gathered, list[int], list[int]]]:
        """If the table has no ids, yield for each possible order the compared slots and solution rows."""
        share = max((len(each.numbers) / each.size for each in self.by_id.values()), default=0.0)
        if share * len(self._hidden.ids) >= 0.8 * max(1, self.row_count - 1):
            return  # ids identify almost all rows, so their order adds no evidence
        for order in self._hidden.orders:
            header = self.row_count - order.size
            if header in (0, 1):
                slots = np.array(self._by_position.numbers, np.intp)
                slots = slots[slots * self._step >= header]
                rows = self._hidden.numbers[order[slots * self._step - header]]
                is_known = rows != NO_ROW
                yield self._by_position, slots[is_known].tolist(), rows[is_known].tolist()

    def _add_by_id(self, column: int, block: Sequence[Sequence[str]]) -> None:
        gathered = self.by_id.get(column)
        if gathered is None and len(self.by_id) == MOST_ID_COLUMNS:
            return
        index = self._hidden.index
        if gathered is None and set(_numbers(column, block[::SAMPLED], index)) == {NO_ROW}:
            return  # most columns contain no ids, and a systematic sample of the rows shows it
        numbers = _numbers(column, block, index)
        if gathered is None:
            matched = [number for number in numbers if number != NO_ROW]
            is_enough = len(matched) >= min(LEAST_MATCHES, len(index))
            if not is_enough or len(set(matched)) < LEAST_DISTINCT * len(matched):
                return
            gathered = self.by_id[column] = Gathered(min(len(index), self._most_rows))
        gathered.add(numbers, block, self.row_count)
        self._tick()


def _numbers(column: int, rows: Sequence[Sequence[str]], index: dict[str, int]) -> list[int]:
    """Return the numbers of the rows with the ids in a column; the id 7 may also appear as 7.0 or 7.txt."""
    texts = (row[column].strip() if column < len(row) else "" for row in rows)
    return [index.get(text, index.get(text.partition(".")[0], NO_ROW)) for text in texts]
