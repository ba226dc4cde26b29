"""Leak check of a single data file: columns that agree with hidden values, joined by id.

Tables are CSV or JSON Lines, plain, compressed with gzip or in a ZIP archive.
"""

import gzip
import json
import zipfile
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from lzma import LZMAError
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from grader.disclosure.findings import ORDER, Disclosure, Examined, Hidden
from grader.files.reading.containers import GZIP, ZIP, ZIP_ERRORS, identify
from grader.text import is_system_file, one_line

TOLERANCE = 0.02  # share of the rows outside the largest class that may differ in a copy
LEAST_AUC = 0.98
LEAST_ROWS = 5  # of each class
MOST_CATEGORIES = 16
MOST_ROWS, MOST_CELLS = 50_000, 1_000_000  # of the solution that are compared
MOST_UNOPENED = 50
SHOWN_ROWS, SHOWN_COLUMNS = 5, 20

BEGINNING = 1 << 16
BLOCK_CELLS, BLOCK_LINES = 1_000_000, 10_000
DELIMITERS = ",\t;|"
READABLE = "only CSV and JSON Lines in UTF-8 are checked, also in a gzip file or ZIP archive"
_shown = partial(one_line, max_length=80)

# Exceptions that readers raise for damaged input. An incorrect archive directory can cause almost any error,
# except StorageUnavailable, which does not depend on the file and is passed on.
UNREADABLE = (*ZIP_ERRORS, ArithmeticError, AttributeError, LookupError, LZMAError, MemoryError, TypeError)


def examine(file: IO[bytes], hidden: Sequence[Hidden]) -> Examined:
    """Check a seekable file for columns that agree with hidden values of any of several solutions.

    No file content raises an exception.
    """
    sample = np.random.default_rng(0).permutation(np.array(hidden[0].ids, object))[:MOST_ROWS]
    disclosures, unopened = dict[Disclosure, None](), dict[str, str]()
    preview: dict[str, Any] | None = None
    for name, opened in _parts(file):
        rows: list[pd.DataFrame] = []
        try:
            with opened() as stream:
                for block, sampled in _sampled(_blocks(stream), sample):
                    preview = preview or _preview(name, block)
                    rows.append(sampled)
        except UNREADABLE as error:
            unopened[name] = _reason(error)
        if rows:
            disclosures |= dict.fromkeys(_disclosures(name, pd.concat(rows), hidden))
    return Examined(tuple(disclosures), dict(islice(unopened.items(), MOST_UNOPENED)), preview)


def _parts(file: IO[bytes]) -> list[tuple[str, Callable[[], Any]]]:
    """Return each part of a file by its path: the members of an archive, or the file itself."""
    kind, _ = identify(file.read(4))
    with suppress(*UNREADABLE):
        if kind == ZIP:
            archive = zipfile.ZipFile(file)
            entries = [each for each in archive.infolist() if not each.is_dir()]
            parts = [(each.filename, partial(archive.open, each)) for each in entries]
            return [(name, opened) for name, opened in parts if not is_system_file(name)]
    file.seek(0)
    return [("", partial(gzip.open, file) if kind == GZIP else lambda: file)]


def _reason(error: Exception) -> str:
    return f"reading it failed ({type(error).__name__}: {str(error)[:200]}); {READABLE}"


def _blocks(stream: IO[bytes]) -> Iterable[pd.DataFrame]:
    """Return the rows of a table in blocks of texts; raise ValueError for any other format."""
    beginning = stream.read(BEGINNING)
    stream.seek(0)
    text = beginning.removeprefix(BOM_UTF8).strip()
    first, line_end, _ = text.partition(b"\n")
    if text.startswith(b"{") and line_end:
        return _of_json(stream)
    if b"\0" in beginning or identify(text)[0]:
        raise ValueError("another format")
    return _of_csv(stream, first.decode(errors="replace")) if first else ()


def _of_csv(stream: IO[bytes], line: str) -> Iterator[pd.DataFrame]:
    delimiter = max(DELIMITERS, key=line.count)
    for block in pd.read_csv(
        stream,
        sep=delimiter,
        dtype=str,
        na_filter=False,
        encoding_errors="replace",
        on_bad_lines="skip",
        chunksize=max(1, BLOCK_CELLS // (line.count(delimiter) + 1)),
    ):
        # If the header has too few names, as that of R, the first columns are the index.
        yield block if isinstance(block.index, pd.RangeIndex) else block.reset_index().map(str)


def _of_json(stream: IO[bytes]) -> Iterator[pd.DataFrame]:
    while lines := list(islice(stream, BLOCK_LINES)):
        values = [json.loads(line) for line in lines if line.strip()]
        rows = pd.json_normalize([each for each in values if isinstance(each, dict)])
        yield rows.astype(object).where(rows.notna(), "").map(str)


def _sampled(
    blocks: Iterable[pd.DataFrame], sample: NDArray[Any]
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Yield each block of rows, and its rows with ids of the sample, indexed by id."""
    known: set[str] = set()
    id_column: str | None = None
    rows = 0
    for block in blocks:
        known = known or set(sample[: MOST_CELLS // max(1, block.shape[1])])
        id_column = id_column or _id_column(block, known)
        ids = _ids(block[id_column], known) if id_column in block else [""] * len(block)
        part = block.assign(**{ORDER: range(rows, rows + len(block))}).set_axis(ids)
        yield block, part[part.index.isin(known)]
        rows += len(block)


def _ids(column: "pd.Series[Any]", known: set[str]) -> list[str]:
    """Return the ids in a column; the id 7 may also appear as 7.0 or 7.txt."""
    return [text if text in known else text.partition(".")[0] for text in column.str.strip()]


def _id_column(block: pd.DataFrame, known: set[str]) -> str | None:
    """Return the column with the most ids, unless it repeats a few of them."""
    best, most = None, LEAST_ROWS - 1
    for name in map(str, block):
        matched = [text for text in _ids(block[name], known) if text in known]
        if len(set(matched)) > most and 2 * len(set(matched)) >= len(matched):
            best, most = name, len(set(matched))
    return best


def _disclosures(table: str, rows: pd.DataFrame, hidden: Sequence[Hidden]) -> Iterator[Disclosure]:
    """Yield what the rows of a table disclose, even if only a part of it could be read."""
    rows = rows[~rows.index.duplicated()].fillna("")
    for solution in hidden:
        places = pd.Index(solution.ids).get_indexer(rows.index)
        kept, at = rows[places >= 0], places[places >= 0]
        for name in map(str, kept):
            numbers = pd.to_numeric(kept[name], errors="coerce")
            is_number = np.isfinite(numbers)
            ranks, ranked = numbers[is_number].rank().to_numpy(), at[is_number]
            for kind, target, codes in solution.targets:
                if _agrees(kept[name], codes[at]) or _orders(ranks, codes[ranked]):
                    yield Disclosure(table, _shown(name), kind, target, len(kept))


def _agrees(column: "pd.Series[Any]", codes: NDArray[np.intp]) -> bool:
    """Return whether a column has nearly the same classes under any names."""
    counts = np.bincount(codes)
    rarer = codes.size - int(counts.max(initial=0))
    places, values = pd.factorize(column)
    most = max(MOST_CATEGORIES, 1.1 * np.count_nonzero(counts))
    if rarer < LEAST_ROWS or len(values) > most or 2 * len(values) > codes.size:
        return False
    pairs, rows = np.unique(places * counts.size + codes, return_counts=True)
    agreeing = pd.Series(rows).groupby(pairs // counts.size).max().sum()
    return bool(codes.size - agreeing <= TOLERANCE * rarer)


def _orders(ranks: NDArray[np.float64], codes: NDArray[np.intp]) -> bool:
    """Return whether the ranks of a column's numbers nearly follow the codes or their reverse."""
    counts = np.bincount(codes)
    classes = np.flatnonzero(counts)
    if classes.size == 2 and counts[classes].min() >= LEAST_ROWS:
        # The AUC follows from the mean ranks of the two classes.
        first, second = (ranks[codes == code].mean() for code in classes)
        return bool(0.5 + abs(second - first) / ranks.size >= LEAST_AUC)
    if min(np.unique(ranks).size, classes.size) < 2 * LEAST_ROWS:
        return False
    return bool(abs(pd.Series(ranks).corr(pd.Series(codes).rank())) >= LEAST_AUC)


def _preview(table: str, block: pd.DataFrame) -> dict[str, Any] | None:
    """Return the first rows and the statistics of the first columns as JSON-ready data."""
    rows = block.iloc[:, :SHOWN_COLUMNS]
    if rows.empty:
        return None
    return {
        "table": _shown(table),
        "rows": len(rows),
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
