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
    ids = np.array(hidden[0].ids, object)
    sample = ids[np.random.default_rng(0).permutation(ids.size)[:MOST_ROWS]]
    disclosures: dict[Disclosure, None] = {}
    unopened: list[Unopened] = []
    preview: dict[str, Any] | None = None
    for each in tables_in(file):
        if isinstance(each, Unopened):
            unopened.append(each)
            continue
        parts: list[pd.DataFrame] = []
        try:
            for block, part in _sampled(each, sample):
                preview = preview or _preview(each.name, block)
                parts.append(part)
                tell(file.tell())
        except UNREADABLE as error:
            unopened.append(unopened_by(each.name, error))
        disclosures |= dict.fromkeys(_disclosures(each.name, parts, hidden))
    return Examined(tuple(disclosures), unopened[:MOST_UNOPENED], preview)


def _sampled(table: DataTable, sample: NDArray[Any]) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Yield each block of rows, and its rows with ids of the sample, indexed by id."""
    known: set[str] = set()
    id_column: str | None = None
    rows = 0
    for block in table.blocks:
        known = known or set(sample[: MOST_CELLS // max(1, block.shape[1])])
        id_column = id_column or _found_id(block, known)
        part = block.assign(**{ORDER: np.arange(rows, rows + len(block))})
        part.index = pd.Index(_ids(block[id_column], known) if id_column in block else [""] * len(block))
        yield block, part[part.index.isin(known)]
        rows += len(block)


def _ids(column: "pd.Series[Any]", known: set[str]) -> list[str]:
    """Return the ids in a column; the id 7 may also appear as 7.0 or 7.txt."""
    return [text if text in known else text.partition(".")[0] for text in column.str.strip()]


def _found_id(block: pd.DataFrame, known: set[str]) -> str | None:
    """Return the column with the most ids, unless it repeats a few of them."""
    best, most = None, LEAST_ROWS - 1
    for name in map(str, block):
        matched = [text for text in _ids(block[name], known) if text in known]
        if len(set(matched)) > most and 2 * len(set(matched)) >= len(matched):
            best, most = name, len(set(matched))
    return best


def _disclosures(table: str, parts: list[pd.DataFrame], hidden: Sequence[Hidden]) -> Iterator[Disclosure]:
    """Yield what the rows of a table disclose, even if only a part of it could be read."""
    rows = pd.concat(parts) if parts else pd.DataFrame()
    rows = rows[~rows.index.duplicated()].fillna("")
    for solution in hidden if len(rows) else ():
        places = pd.Index(solution.ids).get_indexer(rows.index)
        kept, at = rows[places >= 0], places[places >= 0]
        for name in map(str, kept):
            by_kind: dict[TargetKind, dict[str, None]] = {}
            for target in solution.targets:
                tests = (_follows,) if target.is_number else (_agrees, _is_grouped)[: 1 + (name == ORDER)]
                if any(agrees(kept[name], target.codes[at]) for agrees in tests):
                    by_kind.setdefault(target.kind, {})[target.name] = None
            for kind, names in by_kind.items():
                yield Disclosure(table, _shown(name), kind, tuple(names), len(kept))


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
        agreeing = pd.crosstab(places, codes).max(axis=1).sum()
        if codes.size - agreeing <= TOLERANCE * rarer:
            return True
    return classes == 2 and _orders(column, codes == codes.max())


def _orders(column: "pd.Series[Any]", is_second: NDArray[np.bool_]) -> bool:
    """Return whether the numbers of a column are nearly all larger in one class than in the other."""
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
    known = np.isfinite(numbers)
    is_second = is_second[known]
    second = np.count_nonzero(is_second)
    first = is_second.size - second
    if min(first, second) < LEAST_ROWS:
        return False
    ranks = pd.Series(numbers[known]).rank().to_numpy()
    auc = (ranks[is_second].sum() - second * (second + 1) / 2) / first / second
    return bool(max(auc, 1 - auc) >= LEAST_AUC)


def _follows(column: "pd.Series[Any]", ranks: NDArray[np.intp]) -> bool:
    """Return whether the order of a column's numbers is nearly that of the hidden ones, or its reverse."""
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
    known = np.isfinite(numbers)
    if min(np.unique(numbers[known]).size, np.unique(ranks[known]).size) < 2 * LEAST_ROWS:
        return False
    both = pd.DataFrame({"column": numbers[known], "hidden": ranks[known]}).rank()
    return bool(abs(both["column"].corr(both["hidden"])) >= LEAST_AUC)


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
        "is_sample": len(block) >= SAMPLE_ROWS,
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
