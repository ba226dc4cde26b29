"""Rows of a solution: the values of each column, or all problems with their lines."""

import csv
import math
import re
from array import array
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from grader.files.reading.containers import Source
from grader.files.reading.numbers import BLANKS, fault_of_number, number_of
from grader.files.reading.problems import FileProblem, Findings
from grader.files.reading.row_ids import RowIds
from grader.files.reading.text import INVISIBLE, invisible_in
from grader.files.solution.columns import (
    USAGE_CODES,
    Categories,
    Columns,
    NumberColumn,
    Wanted,
    text_stream,
)
from grader.text import counted, quoted

_CACHED_TEXTS = 100_000
_LONGEST_ID = 512
_NOT_UTF8 = re.compile("[\ud800-\udfff]")  # bytes that were decoded with surrogateescape
_ROWS_AT_ONCE = 1 << 12


def read_rows(
    source: Source, cap: int, wanted: Wanted, names: list[str]
) -> tuple[Columns, list[FileProblem]]:
    """Read the columns and collect all their problems; the columns are complete only without problems."""
    with text_stream(source, cap) as stream:
        return _SolutionReader(wanted, names).read(stream)


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


class _SolutionReader:
    """Collects rows of the right width, and then adds many of them at once to the columns."""

    def __init__(self, wanted: Wanted, names: list[str]) -> None:
        self._wanted = wanted
        self._names = names
        self._places = [names.index(name) for name in wanted.names]
        self._rows: list[list[str]] = []
        self._lines = array("q")  # the first line of each row
        self._findings = Findings()
        self._of_ids = Findings()
        self._of_column = {column: Findings() for column in wanted.numbers}
        self._ids: list[str] = []
        self._usage = array("b")
        self._numbers = {column: array("d") for column in wanted.numbers}
        # For each text, its code; a blank has the code -1.
        self._codes = {column: {"": -1} for column in wanted.texts}
        self._texts = {column: array("i") for column in wanted.texts}
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
                        self._findings.add("blank_line", blank, header="a row")
                    blank_lines.clear()
                    self._take(record, line)
                line = records.line_num + 1
        except csv.Error as error:
            self._findings.is_complete = False
            self._findings.add("stray_quote", line, like="unreadable_quotes", reason=str(error))
        self._add_rows()
        self._of_ids.is_complete = self._findings.is_complete
        row_ids = self._row_ids()
        problems = [*self._of_ids.problems(), *self._findings.problems()]
        for findings in self._of_column.values():
            findings.is_complete = self._findings.is_complete
            problems += findings.problems()
        return self._columns(row_ids), sorted(problems, key=lambda problem: problem.line or 0)

    def _take(self, record: list[str], line: int) -> None:
        is_alike = record[0].strip(BLANKS) == self._names[0]
        if is_alike and [field.strip(BLANKS) for field in record] == self._names:
            self._findings.add("repeated_header", line, ",".join(self._names))
        elif len(record) != len(self._names):
            fields, width = counted(len(record), "field"), counted(len(self._names), "field")
            self._findings.add("field_count", line, ",".join(record), fields=fields, width=width)
        else:
            self._rows.append([record[place] for place in self._places])
            self._lines.append(line)
            if len(self._rows) == _ROWS_AT_ONCE:
                self._add_rows()

    def _add_rows(self) -> None:
        if not self._rows:
            return
        texts = dict(zip(self._wanted.names, zip(*self._rows, strict=True), strict=True))
        lines = self._lines[-len(self._rows) :]
        if self._wanted.id is None:
            self._ids += map(str, range(len(self._ids), len(self._lines)))
        else:
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
        if code is None and _NOT_UTF8.search(text):
            self._findings.add("invalid_utf8", line, _bytes(text))
        elif code is None:
            self._findings.add("unknown_usage", line, text)
        else:
            self._usage.append(code)

    def _add_numbers(self, column: str, texts: Sequence[str], lines: Sequence[int]) -> None:
        spec = self._wanted.numbers[column]
        values = np.fromiter(map(self._number_of, texts), np.float64, len(texts))
        is_allowed = spec.allowed(values)
        self._numbers[column].frombytes(values.tobytes())
        for row in np.flatnonzero(~is_allowed).tolist():
            self._add_number(spec, column, texts[row], lines[row])

    def _add_number(self, spec: NumberColumn, column: str, text: str, line: int) -> None:
        """Report a value that is blank, not a number, or out of bounds."""
        value = number_of(text)
        if value is None and _NOT_UTF8.search(text):
            self._of_column[column].add("invalid_utf8", line, _bytes(text))
            return
        code, like = f"{spec.part}_out_of_range", "value_out_of_range"
        if value is None:
            code, like = f"bad_{spec.part}", "bad_value"
        elif math.isnan(value):
            code, like = f"blank_{spec.part}", "blank_value"
        if code.startswith("bad_") and fault_of_number(_bytes(text.strip(BLANKS))) == "decimal_comma":
            like = "decimal_comma_value"
        words = {"part": spec.part, "column": quoted(column), "expected": spec.domain}
        words |= {"advice": ""} if spec.part == "target" and like == "bad_value" else {}
        self._of_column[column].add(code, line, text, like=like, **words)

    def _add_text(self, column: str, text: str, line: int) -> None:
        if not text.isascii() and _NOT_UTF8.search(text):
            self._findings.add("invalid_utf8", line, _bytes(text))
        elif not text and column in self._wanted.filled:
            self._findings.add("blank_target", line, column=quoted(column))
        else:
            codes = self._codes[column]
            self._texts[column].append(codes.setdefault(text, len(codes) - 1))

    def _row_ids(self) -> RowIds:
        """Return the ids, or none and all their problems if any of them is unusable."""
        try:
            row_ids = RowIds.of(self._ids)
        except ValueError:
            row_ids = RowIds.of([])
        if not len(row_ids) or row_ids.longest > _LONGEST_ID:
            first_lines: dict[str, int] = {}
            for text, line in zip(self._ids, self._lines, strict=True):
                self._check_id(text, line, first_lines.setdefault(text, line))
        return row_ids

    def _check_id(self, text: str, line: int, first_line: int) -> None:
        code = "duplicate_row_id" if text and first_line != line else _fault_of_id(text)
        if code:
            words = {"name": quoted(text), "first": f"{first_line:,}", "most": str(_LONGEST_ID)}
            self._of_ids.add(code, line, _bytes(text), character=partial(invisible_in, text), **words)

    def _columns(self, row_ids: RowIds) -> Columns:
        return Columns(
            row_ids,
            None if self._wanted.usage is None else np.frombuffer(self._usage, np.int8),
            {column: np.frombuffer(values, np.float64) for column, values in self._numbers.items()},
            {
                column: Categories(tuple(self._codes[column])[1:], np.frombuffer(codes, np.int32))
                for column, codes in self._texts.items()
            },
        )


def _fault_of_id(text: str) -> str:
    """Return the problem code of a trimmed id, or an empty text."""
    if not text:
        return "empty_id"
    if "\n" in text or "\r" in text or "\0" in text:
        return "bad_id"
    if not text.isascii() and _NOT_UTF8.search(text):
        return "invalid_utf8"
    if not text.isascii() and INVISIBLE.search(text):
        return "invisible_character"
    return "bad_id" if len(text) > _LONGEST_ID else ""


def _bytes(text: str) -> bytes:
    """Return the bytes of a text of the file, which may not be UTF-8."""
    return text.encode("utf-8", "surrogateescape")
