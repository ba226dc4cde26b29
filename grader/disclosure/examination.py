"""Leak check of a single data file: columns that agree with hidden values, joined by id.

Tables are CSV or JSON Lines, plain, compressed with gzip or in a ZIP archive.
"""

import gzip
import json
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from grader.disclosure.findings import ORDER, Disclosure, Examined, Hidden, TargetKind, Unopened
from grader.text import is_system_file

TOLERANCE = 0.02  # share of the rows outside the largest class that may differ in a copy
LEAST_AUC = 0.98
LEAST_ROWS = 5  # of each class
MOST_CATEGORIES = 16
MOST_ROWS, MOST_CELLS = 50_000, 1_000_000  # of the solution that are compared
MOST_UNOPENED = 50
SAMPLE_ROWS, SHOWN_ROWS, SHOWN_COLUMNS, SHOWN_LENGTH = 10_000, 5, 20, 80

BEGINNING = 1 << 16
BLOCK_CELLS, BLOCK_LINES = 1_000_000, 10_000
MOST_COLUMNS, MOST_FILES = 5_000, 10_000
DELIMITERS = ",\t;|"
GZIP, ZIP = b"\x1f\x8b", (b"PK\x03\x04", b"PK\x05\x06")
# The first bytes of other texts and of nested archives: Parquet, PDF, UTF-16, XML, HTML, JSON lists.
OTHERS = (GZIP, *ZIP, b"PAR1", b"%PDF", b"\xff\xfe", b"\xfe\xff", b"<?xml", b"<!", b"<html")
OTHER_FORMAT = "only CSV and JSON Lines in UTF-8 are checked, also in a gzip file or ZIP archive"
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")
MOST_CONTROL = 0.01  # share in texts, for example in comments from the web; binary data has more


class GivenUp(Exception):
    """A part of the file was not checked; the message completes "x was not checked:"."""


# Exceptions that readers raise for damaged input. An incorrect archive directory can cause almost any error,
# except StorageUnavailable, which does not depend on the file and is passed on.
UNREADABLE = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, OSError, RuntimeError, TypeError),
    *(ValueError, lzma.LZMAError, struct.error, zipfile.BadZipFile, zlib.error, GivenUp),
)


class DataTable(NamedTuple):
    """A table by its path in the file, as blocks of texts, which can be read only once."""

    name: str
    blocks: Iterator[pd.DataFrame]


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


def unopened_by(name: str, error: Exception) -> Unopened:
    """Return a part that could not be checked; the reason is taken from an error."""
    if isinstance(error, GivenUp):
        return Unopened(name, str(error))
    if isinstance(error, MemoryError) or "out of memory" in str(error):  # in pandas' reader
        return Unopened(name, "reading it takes too much memory")
    return Unopened(name, f"it is damaged ({type(error).__name__}: {str(error)[:200]})")


def tables_in(file: IO[bytes]) -> Iterator[DataTable | Unopened]:
    """Yield every table in a seekable file, and every part that is not checked.

    Each table must be read before the next one is requested. Reading it raises one of `UNREADABLE`.
    """
    try:
        beginning = file.read(4)
        file.seek(0)
        if beginning.startswith(ZIP):
            with zipfile.ZipFile(file) as archive:
                yield from _members(archive)
        elif beginning.startswith(GZIP):
            with gzip.GzipFile(fileobj=file) as inner:
                yield from _text("", inner)
        else:
            yield from _text("", file)
    except UNREADABLE as error:
        yield unopened_by("", error)


def _members(archive: zipfile.ZipFile) -> Iterator[DataTable | Unopened]:
    entries = [each for each in archive.infolist() if not each.is_dir() and not is_system_file(each.filename)]
    if len(entries) > MOST_FILES:
        raise GivenUp(f"it contains {len(entries):,} files")
    for entry in entries:
        try:
            with archive.open(entry) as inner:
                yield from _text(entry.filename, inner)
        except UNREADABLE as error:
            yield unopened_by(entry.filename, error)


def _text(name: str, stream: IO[bytes] | gzip.GzipFile) -> Iterator[DataTable]:
    """Yield a text as a table; raise GivenUp for any other format."""
    beginning = stream.read(BEGINNING)
    stream.seek(0)
    text = beginning.removeprefix(b"\xef\xbb\xbf").lstrip()
    is_binary = b"\0" in beginning or len(_CONTROL.findall(beginning)) > 1 + MOST_CONTROL * len(beginning)
    if is_binary or beginning.startswith(OTHERS) or text.startswith(b"["):
        raise GivenUp(OTHER_FORMAT)
    line = text.partition(b"\n")[0].decode(errors="replace")
    if line.startswith("{"):
        yield DataTable(name, _of_json(stream))
    elif line:
        yield DataTable(name, _of_csv(stream, line))


def _of_csv(stream: IO[bytes] | gzip.GzipFile, line: str) -> Iterator[pd.DataFrame]:
    delimiter = max(DELIMITERS, key=line.count)
    columns = line.count(delimiter) + 1
    if columns > MOST_COLUMNS:
        raise GivenUp(f"it has more than {MOST_COLUMNS:,} columns")
    yield from pd.read_csv(
        stream,
        sep=delimiter,
        dtype=str,
        na_filter=False,
        index_col=False,
        encoding_errors="replace",
        on_bad_lines="skip",
        chunksize=max(1, BLOCK_CELLS // columns),
    )


def _of_json(stream: IO[bytes] | gzip.GzipFile) -> Iterator[pd.DataFrame]:
    is_first = True
    while lines := list(islice(stream, BLOCK_LINES)):
        try:
            values = [json.loads(line) for line in lines if line.strip()]
        except (ValueError, RecursionError) as error:
            raise GivenUp(OTHER_FORMAT) from error
        if is_first and len(values) == 1:  # a document in one line
            raise GivenUp(OTHER_FORMAT)
        is_first = False
        rows = pd.json_normalize([each for each in values if isinstance(each, dict)])
        if rows.shape[1] > MOST_COLUMNS:
            raise GivenUp(f"it has more than {MOST_COLUMNS:,} columns")
        yield rows.astype(object).where(rows.notna(), "").map(str)
