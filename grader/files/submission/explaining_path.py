"""Slow submission reader that explains every problem with its line."""

import re
from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.numbers import LONGEST_NUMBER, NUMBER, underflows
from grader.files.reading.problems import FileProblem, Findings, Note
from grader.files.reading.row_ids import RowIds, describe_id, fault_of_id, place_of, without_invisible
from grader.files.reading.text import (
    BLANKS,
    QuoteFault,
    Text,
    first_invalid_byte,
    is_plainly_quoted,
    lines_of,
    split_fields,
)
from grader.files.reading.zeros import RUN, describe_run
from grader.files.submission import faults
from grader.files.submission.columns import ONE_NUMBER, NumberValues, SubmissionColumns
from grader.files.submission.faults import Coverage, underflow_notes
from grader.files.submission.header import OTHER_DELIMITERS, Layout
from grader.text import counted

_NEEDS_CARE = re.compile(rb'["\0\x80-\xff]|\A[ \t]*+\Z')
_LONGEST_LINE = 4096
_MOST_LINES_OF_A_FIELD = 10
_SPARE_ROWS = 1000
_SPARE_FIELDS = 8
_BYTES_PER_COST = 64
_COST_OF_QUOTES = 3


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

    Reading stops after twice the expected number of rows, or once more rows have been explained than are
    expected. Counts are then reported as "at least". Reading any file therefore costs at most a small
    multiple of the cost of a valid file.
    """
    return _SubmissionReader(text, layout, row_ids, wanted).read()


class _SubmissionReader:
    def __init__(self, text: Text, layout: Layout, row_ids: RowIds, wanted: SubmissionColumns) -> None:
        self._text = text
        self._wanted = wanted
        self._layout = layout
        self._row_ids = row_ids
        self._index = row_ids.index()
        self._first_lines = array("q", bytes(8 * len(row_ids)))
        self._values = [column.values(len(row_ids)) for column in wanted.columns]
        self._findings = Findings()
        self._coverage = Coverage(row_ids, self._first_lines)
        # The number of lines that may still be explained; a long line or a faulty quote counts as several
        # lines.
        self._cost_left = len(row_ids) + _SPARE_ROWS
        self._decimal_ids = self._first_decimal_id = 0
        self._underflows = array("q")  # line numbers
        fields = LONGEST_NUMBER * (len(wanted.columns) - 1) + wanted.longest_texts
        self._longest_line = _LONGEST_LINE + 2 * row_ids.longest + fields
        self._source = lines_of(text, layout.offset, self._longest_line)
        self._ahead: deque[bytes] = deque()

    def read(self) -> PredictionRows:
        """Read all rows: clean rows in a short loop, other rows with explanations."""
        layout, first_lines = self._layout, self._first_lines
        delimiter, width = layout.delimiter, layout.width
        id_column, prediction_column = layout.id_column, layout.prediction_columns[0] or 0
        is_plain = layout.prediction_columns[0] is not None and self._row_ids.are_plain
        # Only files with one column of numbers need the short loop: pandas may be missing.
        predictions = self._values[0].stored
        is_plain = is_plain and self._wanted.is_single_number
        lowest, highest = self._wanted.columns[0].lowest, self._wanted.columns[0].highest
        # The quotes and the encoding of further columns must be checked.
        is_wide = width > 2
        find, is_number = self._index.get, NUMBER.fullmatch
        name_of_ids = layout.names[id_column] if layout.names else None
        number = layout.first_line - 1
        last = number + 2 * len(self._row_ids) + _SPARE_ROWS
        for line in self._lines():
            if number >= last or self._cost_left < 0:
                self._findings.is_complete = False
                break
            number += 1
            if b'"' in line and is_plainly_quoted(line):
                line = line.translate(None, b'"')
            fields = line.split(delimiter, width)
            is_split = len(fields) == width and is_plain and len(line) <= LONGEST_NUMBER
            if is_wide and is_split:
                is_split = not _NEEDS_CARE.search(line)
            if is_split:
                name = fields[id_column].strip(BLANKS)
                value = fields[prediction_column].strip(BLANKS)
                place = find(name)
                if place is not None and is_number(value):
                    prediction = float(value)
                    if lowest <= prediction <= highest:
                        if first_lines[place]:
                            self._coverage.mark(place, number)
                        else:
                            first_lines[place] = number
                            predictions[place] = prediction
                        if not prediction:
                            self._mark_zero(value, number)
                        continue
            faults_before = self._findings.total
            if is_split and name != name_of_ids and not _NEEDS_CARE.search(line):
                self._explain_values(name, [value], number)
            else:
                number += self._explain(line, number)
            is_wrong = self._findings.total > faults_before
            self._cost_left -= 1 + (len(line) // _BYTES_PER_COST if is_wrong else 0)
        return self._result(number)

    def _lines(self) -> Iterator[bytes]:
        for line in self._source:
            yield line
            while self._ahead:
                yield self._ahead.popleft()

    def _explain(self, line: bytes, number: int) -> int:
        """Accept a row or report its problem; return the number of further lines that it spans."""
        add = self._findings.add
        if not line.strip(BLANKS):
            add("blank_line", number, faults.describe_blank, self._wanted, self._text.has_doubled_returns)
        elif RUN in line:
            self._mark_damaged(line, number)
            add("zero_bytes", number, describe_run, self._text.data, self._layout.offset)
        elif len(line) > self._longest_line:
            self._mark_damaged(line, number)
            add("field_too_long", number, faults.describe_too_long, line)
        elif b"\0" in line:
            self._mark_damaged(line, number)
            add("nul_byte", number, faults.describe_nul, line)
        elif not line.isascii() and (offset := first_invalid_byte(line)) is not None:
            self._mark_damaged(line, number)
            add("invalid_utf8", number, faults.describe_invalid_utf8, line, offset)
        else:
            fields = split_fields(line, self._layout.delimiter, self._layout.width + _SPARE_FIELDS)
            if isinstance(fields, QuoteFault):
                return self._explain_quotes(fields, line, number)
            if fields == self._layout.names:
                add("repeated_header", number, faults.describe_repeated_header, self._wanted.header)
            elif len(fields) != self._layout.width:
                self._explain_width(fields, line, number)
            else:
                places = self._layout.prediction_columns
                values = [None if place is None else fields[place] for place in places]
                self._explain_values(fields[self._layout.id_column], values, number)
        return 0

    def _explain_quotes(self, fault: QuoteFault, line: bytes, number: int) -> int:
        self._cost_left -= _COST_OF_QUOTES
        self._mark_damaged(line, number)
        taken = self._lines_until_closed(line) if fault is QuoteFault.OPEN else 0
        if taken:
            self._findings.add("line_break_in_field", number, faults.describe_line_break, line)
        else:
            self._findings.add("stray_quote", number, faults.describe_stray_quote, line)
        return taken

    def _lines_until_closed(self, line: bytes) -> int:
        """Consume the lines of a quoted field if it is closed soon; return their number."""
        wanted = _MOST_LINES_OF_A_FIELD - len(self._ahead)
        self._ahead.extend(islice(self._source, max(wanted, 0)))
        for taken, following in enumerate(islice(self._ahead, _MOST_LINES_OF_A_FIELD), start=1):
            line += b"\n" + following
            fields = split_fields(line, self._layout.delimiter)
            if fields is QuoteFault.STRAY:
                return 0
            if fields is not QuoteFault.OPEN:
                for _ in range(taken):
                    self._ahead.popleft()
                return taken
        return 0

    def _explain_width(self, fields: list[bytes], line: bytes, number: int) -> None:
        width, delimiter = self._layout.width, self._layout.delimiter
        code, hint = "field_count", ""
        joined = b"".join(fields[:-1])
        if self._mark_damaged(line, number):
            if faults.is_decimal_comma(fields, width):
                code, hint = "decimal_comma", "decimal comma?"
        elif len(fields) > width and self._mark(joined, number) is not None:
            hint = "ids are written without thousands separators"
        self._findings.add(code, number, faults.describe_width, fields, line, delimiter, width, hint)

    def _explain_values(self, name: bytes, values: Sequence[bytes | None], number: int) -> None:
        """Accept the trimmed id and predictions of a row, or report the problem with each."""
        place = self._explain_id(name, number)
        for column, reader, value in zip(self._wanted.columns, self._values, values, strict=True):
            if value is not None:
                is_number = isinstance(reader, NumberValues)
                if is_number and self._layout.decimal_comma:
                    value = value.replace(b",", b".")
                fault = reader.fault(value)
                if fault is not None:
                    self._findings.add(fault, number, self._wanted.describe, column, reader, fault, value)
                elif place is not None and self._first_lines[place] == number:
                    reader.store(place, value)
                if fault is None and is_number and not float(value):
                    self._mark_zero(value, number)

    def _mark_zero(self, value: bytes, number: int) -> None:
        if underflows(value):
            self._underflows.append(number)

    def _explain_id(self, value: bytes, number: int) -> int | None:
        """Mark an id and return its position, or report its problem."""
        place = self._mark(value, number)
        if place is None:
            code = fault_of_id(value, are_integers=self._row_ids.are_integers)
            self._findings.add(code, number, describe_id, code, value, self._index)
            if code == "invisible_character":
                self._mark(without_invisible(value), number)
        elif value not in self._index and not value.isdigit():
            self._decimal_ids += 1
            self._first_decimal_id = self._first_decimal_id or number
        return place

    def _mark(self, value: bytes, number: int) -> int | None:
        """Record that an id occurs on a line; return its position, or None if it is unknown."""
        place = place_of(value, self._index)
        if place is not None:
            self._coverage.mark(place, number)
        return place

    def _mark_damaged(self, line: bytes, number: int) -> bool:
        """Record the id of an unusable line, so that it is not also reported as missing."""
        delimiter, column = self._layout.delimiter, self._layout.id_column
        if delimiter not in line:
            delimiter = next((mark for mark in OTHER_DELIMITERS if mark in line), delimiter)
        fields = line.split(delimiter, column + 1)
        value = fields[min(column, len(fields) - 1)].translate(None, b'\0"').strip(BLANKS)
        return self._mark(value, number) is not None

    def _result(self, last_line: int) -> PredictionRows:
        rows = last_line - self._layout.first_line + 1 - self._findings.count("blank_line")
        is_complete = self._findings.is_complete
        problems = self._findings.problems()
        problems += self._coverage.problems(rows, is_complete=is_complete)
        if not is_complete:
            problems.append(faults.reading_stopped(last_line))
        notes = [self._decimal_ids_note()] if self._decimal_ids else []
        notes += underflow_notes(self._underflows, self._wanted)
        return PredictionRows(
            tuple(reader.read for reader in self._values),
            np.frombuffer(self._first_lines, np.int64),
            problems,
            notes,
        )

    def _decimal_ids_note(self) -> Note:
        return Note(
            "decimal_ids",
            "Ids written as decimals or in scientific notation were read as integers on "
            f"{counted(self._decimal_ids, 'line')} (first line {self._first_decimal_id:,}).",
            line=self._first_decimal_id,
            count=self._decimal_ids,
        )
