"""Leak check of a single data file: columns that agree with hidden values, joined by id."""

from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from grader.disclosure.findings import ORDER, Disclosure, Examined, Hidden, TargetKind, Unopened
from grader.disclosure.tables import UNREADABLE, DataTable, tables_in, unopened_by

TOLERANCE = 0.02  # share of the rows outside the largest class that may differ in a copy
LEAST_AUC = 0.98
LEAST_ROWS = 5  # of each class
MOST_CATEGORIES = 16
MOST_ROWS, MOST_CELLS = 50_000, 1_000_000  # of the solution that are compared
MOST_UNOPENED = 50
SAMPLE_ROWS, SHOWN_ROWS, SHOWN_COLUMNS, SHOWN_LENGTH = 10_000, 5, 20, 80


def examine(
    file: IO[bytes], hidden: Sequence[Hidden], *, tell: Callable[[int], None] = lambda _: None
) -> Examined:
    """Check a seekable file for columns that agree with hidden values of any of several solutions.

    No file content raises an exception. `tell` receives the position in the file after each block of rows.
    """
    disclosures: dict[Disclosure, None] = {}
    unopened: list[Unopened] = []
    tables = rows = 0
    preview: dict[str, Any] | None = None
    for each in tables_in(file):
        if isinstance(each, Unopened):
            unopened.append(each)
            continue
        gathered = _Gathered(each, hidden)
        try:
            for _ in gathered.read():
                tell(file.tell())
        except UNREADABLE as error:
            unopened.append(unopened_by(each.name, error))
        tables, rows = tables + 1, rows + gathered.rows
        preview = preview or gathered.preview
        disclosures |= dict.fromkeys(gathered.disclosures())
    return Examined(tuple(disclosures), tuple(unopened[:MOST_UNOPENED]), len(unopened), tables, rows, preview)


class _Gathered:
    """The rows of a table that have ids of a random sample of the solution."""

    def __init__(self, table: DataTable, hidden: Sequence[Hidden]) -> None:
        self.rows = 0
        self.preview: dict[str, Any] | None = None
        self._table, self._hidden = table, hidden
        ids = np.array(hidden[0].ids, object)
        self._sample = ids[np.random.default_rng(0).permutation(ids.size)[:MOST_ROWS]]
        self._known: dict[str, int] = {}
        self._id_column: str | None = None
        self._parts: list[pd.DataFrame] = []

    def read(self) -> Iterator[None]:
        """Read the table to its end, one block of rows after another."""
        for block in self._table.blocks:
            if not self.rows:
                most = MOST_CELLS // max(1, block.shape[1])
                self._known = {text: number for number, text in enumerate(self._sample[:most])}
                self.preview = _preview(self._table.name, block)
            if self._id_column is None:
                self._id_column = self._found_id(block)
            if self._id_column in block:
                part = block.assign(**{ORDER: np.arange(self.rows, self.rows + len(block))})
                part.index = pd.Index(self._ids(block[self._id_column]))
                self._parts.append(part[part.index.isin(self._known)])
            self.rows += len(block)
            yield

    def _ids(self, column: "pd.Series[Any]") -> list[str]:
        """Return the ids in a column; the id 7 may also appear as 7.0 or 7.txt."""
        texts = column.str.strip()
        return [text if text in self._known else text.partition(".")[0] for text in texts]

    def _found_id(self, block: pd.DataFrame) -> str | None:
        """Return the column with the most ids, unless it repeats a few of them."""
        best, most = None, LEAST_ROWS - 1
        for name in map(str, block):
            matched = [text for text in self._ids(block[name]) if text in self._known]
            if len(set(matched)) > most and 2 * len(set(matched)) >= len(matched):
                best, most = name, len(set(matched))
        return best

    def disclosures(self) -> Iterator[Disclosure]:
        """Yield what the rows disclose, even if only a part of the table could be read."""
        if not self._parts:
            return
        rows = pd.concat(self._parts)
        rows = rows[~rows.index.duplicated()].fillna("")
        for hidden in self._hidden:
            places = {text: place for place, text in enumerate(hidden.ids)}
            kept = rows[rows.index.isin(places)]
            at = np.array([places[text] for text in kept.index], np.intp)
            for name in map(str, kept):
                by_kind: dict[TargetKind, dict[str, None]] = {}
                for target in hidden.targets:
                    tests = (_follows,) if target.is_number else (_agrees, _is_grouped)[: 1 + (name == ORDER)]
                    if any(agrees(kept[name], target.codes[at]) for agrees in tests):
                        by_kind.setdefault(target.kind, {})[target.name] = None
                for kind, names in by_kind.items():
                    yield Disclosure(self._table.name, _shown(name), kind, tuple(names), len(kept))


def _agrees(column: "pd.Series[Any]", codes: NDArray[np.intp]) -> bool:
    """Return whether a column has nearly the same classes under any names, or orders two classes."""
    counts = np.bincount(codes)
    rarer = codes.size - int(counts.max(initial=0))
    if rarer < LEAST_ROWS:
        return False
    places, values = pd.factorize(column)
    classes = int(np.count_nonzero(counts))
    is_small = len(values) <= MOST_CATEGORIES and len(values) * LEAST_ROWS <= codes.size
    if is_small or (len(values) <= 1.1 * classes and 2 * len(values) <= codes.size):
        table = np.zeros((len(values), counts.size), np.int64)
        np.add.at(table, (places, codes), 1)
        if codes.size - table.max(axis=1).sum() <= TOLERANCE * rarer:
            return True
    if classes != 2:
        return False
    numbers = pd.to_numeric(column, errors="coerce")
    known = np.isfinite(numbers.to_numpy(np.float64))
    return _orders(numbers[known], codes[known] == codes.max())


def _follows(column: "pd.Series[Any]", ranks: NDArray[np.intp]) -> bool:
    """Return whether the order of a column's numbers is nearly that of the hidden ones, or its reverse."""
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
    known = np.isfinite(numbers)
    if min(np.unique(numbers[known]).size, np.unique(ranks[known]).size) < 2 * LEAST_ROWS:
        return False
    both = pd.DataFrame({"column": numbers[known], "hidden": ranks[known]}).rank()
    return bool(abs(np.corrcoef(both.to_numpy().T)[0, 1]) >= LEAST_AUC)


def _orders(numbers: "pd.Series[Any]", is_second: NDArray[np.bool_]) -> bool:
    second, first = np.count_nonzero(is_second), np.count_nonzero(~is_second)
    if min(first, second) < LEAST_ROWS:
        return False
    wins = numbers.rank().to_numpy()[is_second].sum() - second * (second + 1) / 2
    auc = wins / first / second
    return bool(max(auc, 1 - auc) >= LEAST_AUC)


def _is_grouped(order: "pd.Series[Any]", codes: NDArray[np.intp]) -> bool:
    """Return whether the rows of each class are nearly together."""
    shares = np.bincount(codes) / max(1, codes.size)
    if codes.size * (1 - shares.max(initial=0)) < LEAST_ROWS:
        return False
    changes = np.count_nonzero(np.diff(codes[np.argsort(order.to_numpy(np.int64))]))
    by_chance = codes.size * (1 - (shares**2).sum())
    return bool(changes <= np.count_nonzero(shares) - 1 + TOLERANCE * by_chance)


def _preview(table: str, block: pd.DataFrame) -> dict[str, Any] | None:
    """Return the first rows and the statistics of the first columns as JSON-ready data."""
    rows = block.iloc[:SAMPLE_ROWS, :SHOWN_COLUMNS]
    if rows.empty:
        return None
    return {
        "table": _shown(table),
        "rows": len(rows),
        "is_sample": len(block) > len(rows) or len(block) >= SAMPLE_ROWS,
        "column_count": block.shape[1],
        "columns": [{"name": _shown(name)} | _statistics(rows[name]) for name in map(str, rows)],
        "first": [[_shown(cell) for cell in row] for row in rows.head(SHOWN_ROWS).to_numpy().tolist()],
    }


def _statistics(column: "pd.Series[Any]") -> dict[str, Any]:
    filled = column[column.str.strip() != ""]
    shown: dict[str, Any] = {"blank": len(column) - len(filled), "distinct": filled.nunique()}
    numbers = pd.to_numeric(filled, errors="coerce").to_numpy(np.float64)
    if numbers.size and np.isfinite(numbers).all():
        values = {"low": numbers.min(), "mean": (numbers / numbers.size).sum(), "high": numbers.max()}
        shown |= {name: f"{value:.6g}" for name, value in values.items()}
    return shown


def _shown(text: str) -> str:
    """Shorten a text, and replace control characters, bidirectional marks and lone surrogates."""
    cut = "".join(each if each.isprintable() else " " for each in text[:SHOWN_LENGTH])
    return f"{cut}…" if len(text) > SHOWN_LENGTH else cut
