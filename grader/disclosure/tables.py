"""Tables in a data file: CSV or JSON Lines, plain, compressed with gzip or in a ZIP archive."""

import gzip
import json
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import IO, NamedTuple

import pandas as pd

from grader.disclosure.findings import Unopened
from grader.text import is_system_file

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
