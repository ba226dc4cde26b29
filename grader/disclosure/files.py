"""Tables of a data file: delimited text or JSON Lines, plain, compressed with gzip or in a ZIP archive."""

import gzip
import io
import json
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO

from grader.disclosure.source import Budget, CountedStream, GivenUp
from grader.disclosure.tables import FileTable, delimited, json_lines
from grader.text import is_system_file

BLOCK_BYTES = 1 << 20
BEGINNING = 1 << 16
MOST_FILES = 200_000
NAME_PARTS = 8
MEMBER_COLUMNS = (
    *("name of the file", "size of the file", "time of the file", "position of the file"),
    *(f"part {number} of the file name" for number in range(1, NAME_PARTS + 1)),
)
GZIP, ZIP = b"\x1f\x8b", (b"PK\x03\x04", b"PK\x05\x06")
OTHER_FORMATS: tuple[tuple[bytes | tuple[bytes, ...], str], ...] = (
    (b"PAR1", "Parquet files are not checked"),
    ((GZIP, *ZIP), "archives and compressed files in other archives or compressed files are not checked"),
    (b"%PDF", "PDF documents are not checked"),
    ((b"\xff\xfe", b"\xfe\xff"), "UTF-16 texts are not checked; save it as UTF-8"),
    ((b"<?xml", b"<!", b"<html"), "XML and HTML documents are not checked"),
)
OTHER_BINARY = "it is not text (only CSV, JSON Lines, ZIP and gzip are checked)"
OTHER_JSON = "only JSON Lines are checked, not other JSON documents"
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")
MOST_CONTROL = 0.01  # share in texts, for example in comments from the web; binary data has more
# Exceptions that readers raise for damaged input. An incorrect archive directory can cause almost any error,
# except StorageUnavailable, which does not depend on the file and is passed on.
DAMAGED_OR_GIVEN_UP = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, OSError, RuntimeError, TypeError),
    *(ValueError, lzma.LZMAError, struct.error, zipfile.BadZipFile, zlib.error, GivenUp),
)


@dataclass(frozen=True, slots=True)
class Unopened:
    """A part of a file that could not be checked; `name` is its path, which is empty for the whole file."""

    name: str
    reason: str


def unopened_by(name: str, error: Exception) -> Unopened:
    """Return a part that could not be checked; the reason is taken from an error."""
    if isinstance(error, GivenUp):
        return Unopened(name, str(error))
    if isinstance(error, MemoryError):
        return Unopened(name, "reading it takes too much memory")
    return Unopened(name, f"it is damaged ({type(error).__name__}: {str(error)[:200]})")


def opened(file: IO[bytes], budget: Budget) -> Iterator[FileTable | Unopened]:
    """Yield every table in a seekable file, and every part that is not checked.

    Each table must be read before the next one is requested. Reading it raises one of `DAMAGED_OR_GIVEN_UP`.
    """
    try:
        beginning = file.read(4)
        file.seek(0)
        if beginning.startswith(ZIP):
            with zipfile.ZipFile(file) as archive:
                yield from _members(archive, budget)
        elif beginning.startswith(GZIP):
            with gzip.GzipFile(fileobj=file) as inner:
                yield from _text("", inner, budget)
        else:
            yield from _text("", file, budget)
    except DAMAGED_OR_GIVEN_UP as error:
        yield unopened_by("", error)


def _members(archive: zipfile.ZipFile, budget: Budget) -> Iterator[FileTable | Unopened]:
    entries = [each for each in archive.infolist() if not each.is_dir() and not is_system_file(each.filename)]
    if any(entry.filename == "[Content_Types].xml" for entry in entries):
        raise GivenUp("Office documents are not checked")
    if len(entries) > MOST_FILES:
        raise GivenUp(f"it contains {len(entries):,} files")
    yield FileTable("the list of its files", map(_facts, entries), list(MEMBER_COLUMNS))
    for entry in entries:
        try:
            if entry.flag_bits & 1:
                raise GivenUp("it is password-protected")
            with archive.open(entry) as inner:
                yield from _text(entry.filename, inner, budget)
        except DAMAGED_OR_GIVEN_UP as error:
            yield unopened_by(entry.filename, error)


def _facts(entry: zipfile.ZipInfo) -> list[str]:
    """Return what a member's name, size, time and position may disclose, without reading it."""
    time = "{:04}{:02}{:02}{:02}{:02}{:02}".format(*entry.date_time)
    parts = re.split("[^0-9A-Za-z]+", entry.filename)[:NAME_PARTS]
    return [PurePosixPath(entry.filename).stem, str(entry.file_size), time, str(entry.header_offset), *parts]


def _text(name: str, stream: IO[bytes] | gzip.GzipFile, budget: Budget) -> Iterator[FileTable]:
    """Yield a text as a table; raise GivenUp for any other format."""
    counted = io.BufferedReader(CountedStream(stream, budget), BLOCK_BYTES)
    beginning = counted.peek(BEGINNING)
    for magic, reason in OTHER_FORMATS:
        if beginning.startswith(magic):
            raise GivenUp(reason)
    start = beginning[:BEGINNING]
    if b"\0" in start or len(_CONTROL.findall(start)) > 1 + MOST_CONTROL * len(start):
        raise GivenUp(OTHER_BINARY)
    text = io.TextIOWrapper(counted, "utf-8-sig", errors="replace", newline="")  # ids are still recognized
    shown = beginning.decode("utf-8-sig", "replace").lstrip()
    if not shown.startswith(("{", "[")):
        yield delimited(name, text)
    elif _is_json_lines(shown):
        yield json_lines(name, text)
    else:
        raise GivenUp(OTHER_JSON)


def _is_json_lines(beginning: str) -> bool:
    """Return whether the first line is a complete JSON object or list and more lines follow."""
    line, _, rest = beginning.partition("\n")
    try:
        return bool(rest.strip()) and isinstance(json.loads(line), dict | list)
    except (ValueError, RecursionError):
        return False
