"""Rows of a solution: the values of each column, or all problems with their lines."""

import csv
import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

import numpy as np

from grader.files.reading.numbers import BLANKS, number_of
from grader.files.reading.problems import FileProblem, Finding, Findings
from grader.files.reading.row_ids import INVISIBLE, RowIds
from grader.files.reading.text import first_invalid_byte
from grader.files.solution.columns import (
    USAGE_CODES,
    CategoryWriter,
    Columns,
    NumberColumn,
    Wanted,
    text_stream,
)
from grader.files.solution.roles import MISSING_WORDS, is_coded
from grader.files.submission.explaining_path import repeated_header
from grader.text import character, counted, listed, quoted

_CACHED_TEXTS = 100_000
_LONGEST_ID = 512
_ROWS_AT_ONCE = 1 << 12
_PROGRESS_ROWS = 1 << 16
CODED_ADVICE = "Write 1 for yes, 0 for no, fractions for percentages, and nothing for a missing value."
Progress = Callable[[int], None]
"""A callback that receives the number of rows read so far."""


def unobserved(done: int) -> None:
    """Ignore the progress."""


def read_rows(
    open_stream: Callable[[], BinaryIO],
    wanted: Wanted,
    names: list[str],
    progress: Progress = unobserved,
) -> tuple[Columns, list[FileProblem]]:
    """Read the columns and collect all their problems; the columns are complete only without problems."""
    with text_stream(open_stream()) as stream:
        return _Reader(wanted, names, progress).read(stream)


class _Numbers(dict[str, float]):
    """The number in each text, cached because such tables repeat a few texts many times.

    Texts that are not numbers have the value infinity, which no column allows.
    """

    def __missing__(self, text: str) -> float:
        value = number_of(text)
        number = math.inf if value is None else value
        if len(self) < _CACHED_TEXTS:
            self[text] = number
        return number


class _Reader:
    """Collects rows of the right width, and then adds many of them at once to the columns."""

    def __init__(self, wanted: Wanted, names: list[str], progress: Progress) -> None:
        self._wanted = wanted
        self._names = names
        self._progress = progress
        self._places = [names.index(name) for name in wanted.names]
        self._rows: list[list[str]] = []
        self._lines = array("q")  # the first line of each row
        self._findings = Findings()
        self._of_ids = Findings()
        self._of_column = {column: Findings() for column in wanted.numbers}
        self._ids: list[str] = []
        self._usage = array("b")
        self._numbers = {column: array("d") for column in wanted.numbers}
        self._texts = {column: CategoryWriter() for column in wanted.texts}
        self._number_of = _Numbers().__getitem__

    def read(self, stream: Iterator[str]) -> tuple[Columns, list[FileProblem]]:
        records = csv.reader(stream, strict=True)
        next(records, None)
        line = records.line_num + 1
        blank_lines: list[int] = []
        try:
            for record in records:
                if len(record) <= 1 and not "".join(record).strip(BLANKS):
                    blank_lines.append(line)
                else:
                    # Blank lines at the end of the file are allowed.
                    for blank in blank_lines:
                        self._findings.add("blank_line", blank, _blank)
                    blank_lines.clear()
                    self._take(record, line)
                line = records.line_num + 1
        except csv.Error as error:
            self._findings.is_complete = False
            self._findings.add("stray_quote", line, _unreadable, str(error))
        self._add_rows()
        self._of_ids.is_complete = self._findings.is_complete
        row_ids = None if self._wanted.id is None else self._row_ids()
        problems = [*self._of_ids.problems(), *self._findings.problems()]
        for findings in self._of_column.values():
            findings.is_complete = self._findings.is_complete
            problems += findings.problems()
        return self._columns(row_ids), sorted(problems, key=lambda problem: problem.line or 0)

    def _take(self, record: list[str], line: int) -> None:
        if record[0].strip(BLANKS) == self._names[0] and self._is_header(record):
            header = ",".join(self._names)
            self._findings.add("repeated_header", line, repeated_header, header)
        elif len(record) != len(self._names):
            self._findings.add("field_count", line, _field_count, record, len(self._names))
        else:
            self._rows.append([record[place] for place in self._places])
            self._lines.append(line)
            if len(self._rows) == _ROWS_AT_ONCE:
                self._add_rows()
            if len(self._lines) % _PROGRESS_ROWS == 0:
                self._progress(len(self._lines))

    def _is_header(self, record: list[str]) -> bool:
        return [field.strip(BLANKS) for field in record] == self._names

    def _add_rows(self) -> None:
        if not self._rows:
            return
        texts = dict(zip(self._wanted.names, zip(*self._rows, strict=True), strict=True))
        lines = self._lines[-len(self._rows) :]
        if self._wanted.id is not None:
            self._ids += [text.strip(BLANKS) for text in texts[self._wanted.id]]
        if self._wanted.usage is not None:
            for text, line in zip(texts[self._wanted.usage], lines, strict=True):
                self._add_usage(text.strip(BLANKS), line)
        for column in self._numbers:
            self._add_numbers(column, texts[column], lines)
        for column in self._texts:
            for text, line in zip(texts[column], lines, strict=True):
                self._add_text(column, text.strip(BLANKS), line)
        self._rows.clear()

    def _add_usage(self, text: str, line: int) -> None:
        code = USAGE_CODES.get(text.casefold())
        if code is None and not _is_utf8(text):
            self._findings.add("invalid_utf8", line, _not_utf8, "Usage", text)
        elif code is None:
            self._findings.add("unknown_usage", line, _unknown_usage, text)
        else:
            self._usage.append(code)

    def _add_numbers(self, column: str, texts: Sequence[str], lines: Sequence[int]) -> None:
        spec = self._wanted.numbers[column]
        values = np.fromiter(map(self._number_of, texts), np.float64, len(texts))
        is_allowed = spec.allowed(values)
        self._numbers[column].frombytes(values.tobytes())
        for row in np.flatnonzero(~is_allowed).tolist():
            text, value = texts[row], number_of(texts[row])
            code = _fault_of_number(spec, text, value)
            self._of_column[column].add(code, lines[row], _describe_number, spec, column, text, value)

    def _add_text(self, column: str, text: str, line: int) -> None:
        if not text.isascii() and not _is_utf8(text):
            self._findings.add("invalid_utf8", line, _not_utf8, quoted(column), text)
        elif not text and column in self._wanted.filled:
            self._findings.add("blank_target", line, _blank_target, column)
        else:
            self._texts[column].add(text)

    def _row_ids(self) -> RowIds | None:
        """Return the ids; if any of them is unusable, add all their problems instead."""
        try:
            row_ids = RowIds.of(self._ids)
        except ValueError:
            row_ids = None
        if row_ids is None or row_ids.longest > _LONGEST_ID:
            first_lines: dict[str, int] = {}
            for text, line in zip(self._ids, self._lines, strict=True):
                self._check_id(text, line, first_lines.setdefault(text, line))
        return row_ids

    def _check_id(self, text: str, line: int, first_line: int) -> None:
        if not text:
            self._of_ids.add("empty_id", line, _empty_id)
        elif first_line != line:
            self._of_ids.add("duplicate_row_id", line, _duplicate, text, first_line)
        elif "\n" in text or "\r" in text or "\0" in text:
            self._of_ids.add("bad_id", line, _bad_id, text)
        elif not text.isascii() and not _is_utf8(text):
            self._of_ids.add("invalid_utf8", line, _not_utf8, "id", text)
        elif not text.isascii() and INVISIBLE.search(text):
            self._of_ids.add("invisible_character", line, _invisible, text)
        elif len(text) > _LONGEST_ID:
            self._of_ids.add("bad_id", line, _bad_id, text)

    def _columns(self, row_ids: RowIds | None) -> Columns:
        return Columns(
            row_ids,
            None if self._wanted.usage is None else np.frombuffer(self._usage, np.int8),
            {column: np.frombuffer(values, np.float64) for column, values in self._numbers.items()},
            {column: writer.categories() for column, writer in self._texts.items()},
        )


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _blank() -> Finding:
    return Finding("the line is empty; expected a row", "a row", "an empty line")


def _unreadable(reason: str) -> Finding:
    return Finding(
        f"the quotes of this row are invalid ({reason}); reading stopped here",
        "quotes that enclose whole fields",
        reason,
    )


def _field_count(record: list[str], width: int) -> Finding:
    found = counted(len(record), "field")
    return Finding(f"{found}, expected {width} as in the header", counted(width, "field"), found)


def _empty_id() -> Finding:
    return Finding("empty id; expected an id in every row", "an id", "a blank")


def _duplicate(text: str, first_line: int) -> Finding:
    sentence = f"id {quoted(text)} already occurs on line {first_line:,}; expected each id once"
    return Finding(sentence, "each id once", quoted(text))


def _bad_id(text: str) -> Finding:
    sentence = f"id {quoted(text)} is too long or contains a line break or a NUL byte"
    return Finding(sentence, f"a single-line id of at most {_LONGEST_ID} characters", quoted(text))


def _blank_target(column: str) -> Finding:
    return Finding(f"the target {quoted(column)} is blank; expected a class", "a class", "a blank")


def _not_utf8(what: str, text: str) -> Finding:
    value = text.encode("utf-8", "surrogateescape")
    byte = f"0x{value[first_invalid_byte(value) or 0]:02X}"
    sentence = f"invalid UTF-8 ({byte}): {what} is {quoted(value)}; expected UTF-8"
    return Finding(sentence, "UTF-8", byte, "Save the file as 'CSV UTF-8'.")


def _invisible(text: str) -> Finding:
    hidden = INVISIBLE.search(text)
    name = character(hidden[0]) if hidden else ""
    sentence = f"invisible character {name} in id {quoted(text)}; expected an id without invisible characters"
    return Finding(sentence, "an id without invisible characters", name)


def _unknown_usage(text: str) -> Finding:
    expected = listed(["Public", "Private", "Ignored"], conjunction="or")
    return Finding(f"Usage is {quoted(text)}; expected {expected}", expected, quoted(text))


def _fault_of_number(spec: NumberColumn, text: str, value: float | None) -> str:
    if value is None and not _is_utf8(text):
        return "invalid_utf8"
    if value is None:
        return f"bad_{spec.part}"
    return f"blank_{spec.part}" if math.isnan(value) else f"{spec.part}_out_of_range"


def _describe_number(spec: NumberColumn, name: str, text: str, value: float | None) -> Finding:
    """Describe a value that is blank, not a number, or out of bounds."""
    what, shown = f"the {spec.part} {quoted(name)}", quoted(text)
    if value is None and not _is_utf8(text):
        return _not_utf8(what, text)
    expected = f"a number from {spec.low:g} to {spec.high:g}"
    if spec.high > 1:
        expected = "a finite decimal number" + (" of at least 0" if spec.low == 0 else "")
    if spec.may_be_blank:
        expected += " or a blank"
    if value is None:
        word = text.strip().casefold()
        advice = CODED_ADVICE if is_coded(word) or word in MISSING_WORDS else ""
        sentence = f"{what} is {shown}, which is not a number; expected {expected}"
        return Finding(sentence, expected, shown, advice)
    if math.isnan(value):
        return Finding(f"{what} is blank; expected {expected}", expected, "a blank")
    return Finding(f"{what} is {shown}; expected {expected}", expected, shown)
