"""Slow submission reader that explains every problem with its line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.numbers import LONGEST_NUMBER
from grader.files.reading.problems import FileProblem, Finding, Findings, Note, not_utf8_at, nul_byte
from grader.files.reading.row_ids import RowIds, describe_id, fault_of_id, place_of, without_invisible
from grader.files.reading.text import BLANKS, Text, first_invalid_byte, lines_of, split_fields
from grader.files.submission.columns import ONE_NUMBER, NumberValues, SubmissionColumns
from grader.files.submission.faults import FIRST_LINE, Coverage, underflow_notes
from grader.files.submission.header import OTHER_DELIMITERS, Layout
from grader.text import counted, quoted

_LONGEST_LINE = 4096
_SPARE_ROWS = 1000
_SPARE_FIELDS = 8


@dataclass(frozen=True, slots=True)
class PredictionRows:
    """The predictions of a submission in the solution's order, with problems and notes.

    Attributes
    ----------
    predictions : tuple of array, each of shape (n,) or (n, places)
        The values of each column, as described for `SubmissionFile`.
    lines : array of int64, shape (n,)
        The line of each prediction.
    problems : list of FileProblem
        Empty if the rows are accepted.
    notes : list of Note
    """

    predictions: tuple[NDArray[Any], ...]
    lines: NDArray[np.int64]
    problems: list[FileProblem]
    notes: list[Note]


def read_rows(
    text: Text, layout: Layout, row_ids: RowIds, wanted: SubmissionColumns = ONE_NUMBER
) -> PredictionRows:
    """Read the rows below the header, valid or not.

    Reading stops after twice the expected number of rows, or once more problems have been found than rows are
    expected. Counts are then reported as "at least". Reading any file therefore costs at most a small
    multiple of the cost of a valid file.
    """
    return _RowReader(text, layout, row_ids, wanted).read()


class _RowReader:
    def __init__(self, text: Text, layout: Layout, row_ids: RowIds, wanted: SubmissionColumns) -> None:
        self._text = text
        self._wanted = wanted
        self._layout = layout
        self._are_integers = row_ids.are_integers
        self._most = len(row_ids)
        self._index = row_ids.index()
        self._coverage = Coverage(row_ids)
        self._values = [column.values(len(row_ids)) for column in wanted.columns]
        self._findings = Findings()
        self._decimal_ids = self._first_decimal_id = 0
        fields = LONGEST_NUMBER * (len(wanted.columns) - 1) + wanted.longest_texts
        self._longest_line = _LONGEST_LINE + 2 * row_ids.longest + fields

    def read(self) -> PredictionRows:
        id_place, *places = self._layout.places
        index, first_lines = self._index, self._coverage.first_lines
        columns = list(zip(self._wanted.columns, self._values, places, strict=True))
        number = FIRST_LINE - 1
        for line in lines_of(self._text, self._layout.offset, self._longest_line):
            if number > 2 * self._most + _SPARE_ROWS or self._findings.total > self._most + _SPARE_ROWS:
                self._findings.is_complete = False
                break
            number += 1
            fields = self._fields(line, number)
            if fields is None:
                self._mark_damaged(line, number)
                continue
            place = index.get(fields[id_place])
            if place is not None and not first_lines[place]:
                first_lines[place] = number
            else:
                place = self._place(fields[id_place], place, number)
            for column, values, value_place in columns:
                value = fields[value_place]
                fault = values.put(place, value, number)
                if fault is not None:
                    self._findings.add(fault, number, self._wanted.describe, column, values, fault, value)
        return self._result(number)

    def _fields(self, line: bytes, number: int) -> list[bytes] | None:
        """Return the fields of a row, or report why it cannot be read."""
        add, wanted = self._findings.add, self._wanted
        if b"\0" in line:
            add("nul_byte", number, nul_byte, line)
        elif len(line) > self._longest_line:
            add("field_too_long", number, _too_long, line)
        elif not line.isascii() and (offset := first_invalid_byte(line)) is not None:
            add("invalid_utf8", number, not_utf8_at, line, offset)
        else:
            fields = split_fields(line, len(self._layout.names) + _SPARE_FIELDS)
            if fields is None:
                add("stray_quote", number, _stray_quote, line)
            elif fields == [b""]:
                add("blank_line", number, _blank, wanted, self._text.has_doubled_returns)
            elif fields == self._layout.names:
                add("repeated_header", number, repeated_header, wanted.header)
            elif len(fields) != len(self._layout.names):
                add("field_count", number, _wrong_width, line, fields, len(self._layout.names))
            else:
                return fields
        return None

    def _place(self, name: bytes, place: int | None, number: int) -> int | None:
        """Return the position of an id that is new but written differently, or report its problem."""
        if place is None:
            place = place_of(name, self._index)
            if place is not None and not name.isdigit():
                self._decimal_ids += 1
                self._first_decimal_id = self._first_decimal_id or number
        if place is not None:
            self._coverage.mark(place, number)
            return place if self._coverage.first_lines[place] == number else None
        code = fault_of_id(name, are_integers=self._are_integers)
        self._findings.add(code, number, describe_id, code, name, self._index)
        if code == "invisible_character":
            self._mark(without_invisible(name), number)
        return None

    def _mark(self, name: bytes, number: int) -> None:
        place = place_of(name, self._index)
        if place is not None:
            self._coverage.mark(place, number)

    def _mark_damaged(self, line: bytes, number: int) -> None:
        """Record the id of an unusable line, so that it is not also reported as missing."""
        id_place = self._layout.places[0]
        fields = line.replace(b";", b",").split(b",", id_place + 1)
        if id_place < len(fields):
            self._mark(fields[id_place].translate(None, b'\0"').strip(BLANKS), number)

    def _result(self, last_line: int) -> PredictionRows:
        rows = last_line - FIRST_LINE + 1 - self._findings.count("blank_line")
        problems = self._findings.problems()
        problems += self._coverage.problems(rows, last_line, is_complete=self._findings.is_complete)
        notes = [self._decimal_ids_note()] if self._decimal_ids else []
        numbers = [values for values in self._values if isinstance(values, NumberValues)]
        underflows = sorted(line for values in numbers for line in values.underflows)
        notes += underflow_notes(underflows, self._wanted)
        lines = np.frombuffer(self._coverage.first_lines, np.int64)
        return PredictionRows(tuple(values.read for values in self._values), lines, problems, notes)

    def _decimal_ids_note(self) -> Note:
        message = (
            "Ids written as decimals or in scientific notation were read as integers on "
            f"{counted(self._decimal_ids, 'line')} (first line {self._first_decimal_id:,})."
        )
        return Note("decimal_ids", message, line=self._first_decimal_id, count=self._decimal_ids)


def repeated_header(header: str) -> Finding:
    """Describe a header that is repeated among the rows."""
    sentence = "this line repeats the header; expected it only on line 1 (were files concatenated?)"
    return Finding(sentence, "one header", header)


def _blank(wanted: SubmissionColumns, has_doubled_returns: bool) -> Finding:
    advice = "Lines end in CR CR LF. Open the file with newline='' when you write it."
    sentence = f"the line is empty; expected {counted(len(wanted.names), 'field')}"
    return Finding(sentence, wanted.header, "nothing", advice if has_doubled_returns else "")


def _too_long(head: bytes) -> Finding:
    length = f"more than {len(head) - 1:,} bytes"
    sentence = f"field too long: the line starts with {quoted(head)} and has {length}"
    return Finding(sentence, f"fields of at most {LONGEST_NUMBER} bytes", length)


def _stray_quote(line: bytes) -> Finding:
    shown = quoted(line)
    sentence = f"stray quote in {shown}; quotes must enclose a whole field on one line"
    return Finding(sentence, "no quotes, or quotes around a whole field", shown)


def _wrong_width(line: bytes, fields: Sequence[bytes], width: int) -> Finding:
    count = counted(len(fields) if b'"' in line else line.count(b",") + 1, "field")
    hint = ""
    if line.endswith(b","):
        hint = " (trailing comma?)"
    elif len(fields) == width + 1 and fields[-1].isdigit() and fields[-2].lstrip(b"+-").isdigit():
        hint = " (decimal comma?)"
    elif other := next((mark for mark in OTHER_DELIMITERS if mark in line and b"," not in line), None):
        hint = f" (delimiter {quoted(other)}?)"
    return Finding(f"{count}, expected {width}: {quoted(line)}{hint}", counted(width, "field"), count)
