"""The explaining path: reads row by row, accepts what the grammar allows, names everything else."""

import re
from array import array
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from grader.files.coverage import Coverage
from grader.files.fields import BLANKS, QuoteFault, split_fields
from grader.files.findings import Finding, Findings
from grader.files.header import HEADER, OTHER_DELIMITERS, Layout
from grader.files.ids import INVISIBLE, as_integer, unknown_id
from grader.files.numbers import LONGEST_NUMBER, NUMBER, finite, not_finite
from grader.files.problems import Note, Problem
from grader.files.rowids import RowIds
from grader.files.text import Text, lines_of
from grader.files.wording import counted, quoted

_INFINITY = float("inf")
_LONGEST_LINE = 4096
_MOST_LINES_OF_A_FIELD = 10
_SPARE_ROWS = 1000
_DIGITS = re.compile(rb"[+-]?[0-9]+")


@dataclass(frozen=True, slots=True)
class Rows:
    """What the rows of a submission hold, in the solution's order.

    Attributes
    ----------
    predictions : array of float64, shape (n,)
    lines : array of int64, shape (n,)
        The line each prediction stands on.
    problems : list of Problem
        Empty where the rows are accepted.
    notes : list of Note
    """

    predictions: NDArray[np.float64]
    lines: NDArray[np.int64]
    problems: list[Problem]
    notes: list[Note]


def read_rows(text: Text, layout: Layout, row_ids: RowIds) -> Rows:
    """Read the rows below the header, whatever they hold.

    Reading stops past twice the expected rows: what is counted until then is said to be "at least".
    """
    return _Reader(text, layout, row_ids).read()


class _Reader:
    def __init__(self, text: Text, layout: Layout, row_ids: RowIds) -> None:
        self._text = text
        self._layout = layout
        self._row_ids = row_ids
        self._index = row_ids.index()
        self._first_lines = array("q", bytes(8 * len(row_ids)))
        self._predictions = array("d", bytes(8 * len(row_ids)))
        self._findings = Findings()
        self._coverage = Coverage(row_ids, self._first_lines)
        self._decimal_ids = self._first_decimal_id = 0
        self._longest_line = _LONGEST_LINE + 2 * row_ids.longest
        self._source = lines_of(text, layout.offset, self._longest_line)
        self._ahead: deque[bytes] = deque()

    def read(self) -> Rows:
        layout, first_lines, predictions = self._layout, self._first_lines, self._predictions
        delimiter, width = layout.delimiter, layout.width
        id_column, prediction_column = layout.id_column, layout.prediction_column
        find, is_number = self._index.get, NUMBER.fullmatch
        number = layout.first_line - 1
        last = number + 2 * len(self._row_ids) + _SPARE_ROWS
        for line in self._lines():
            number += 1
            if number > last:
                self._findings.is_complete = False
                break
            fields = line.split(delimiter)
            if len(fields) == width and prediction_column is not None and len(line) <= LONGEST_NUMBER:
                place = find(fields[id_column].strip(BLANKS))
                value = fields[prediction_column].strip(BLANKS)
                if place is not None and is_number(value):
                    prediction = float(value)
                    if -_INFINITY < prediction < _INFINITY:
                        if first_lines[place]:
                            self._coverage.mark(place, number)
                        else:
                            first_lines[place] = number
                            predictions[place] = prediction
                        continue
            number += self._explain(line, number)
        return self._result(number - layout.first_line + 1)

    def _lines(self) -> Iterator[bytes]:
        for line in self._source:
            yield line
            while self._ahead:
                yield self._ahead.popleft()

    def _explain(self, line: bytes, number: int) -> int:
        """Accept a row or say what is wrong with it; return how many further lines it takes."""
        if not line.strip(BLANKS):
            self._findings.add("blank_line", number, self._blank)
            return 0
        if len(line) > self._longest_line:
            self._mark_damaged(line, number)
            self._findings.add("field_too_long", number, lambda: _too_long(line))
            return 0
        if b"\0" in line:
            self._mark_damaged(line, number)
            self._findings.add("nul_byte", number, lambda: _nul(line))
            return 0
        fields = split_fields(line, self._layout.delimiter)
        if isinstance(fields, QuoteFault):
            return self._explain_quotes(fields, line, number)
        if not line.isascii() and (fault := _invalid_utf8(line)):
            self._mark_damaged(line, number)
            self._findings.add("invalid_utf8", number, lambda: fault)
        elif fields == self._layout.names:
            self._findings.add("repeated_header", number, _repeated_header)
        elif len(fields) != self._layout.width:
            self._mark_damaged(line, number)
            self._explain_width(fields, line, number)
        else:
            self._explain_fields(fields, number)
        return 0

    def _explain_quotes(self, fault: QuoteFault, line: bytes, number: int) -> int:
        self._mark_damaged(line, number)
        taken = self._lines_until_closed(line) if fault is QuoteFault.OPEN else 0
        if taken:
            self._findings.add("line_break_in_field", number, lambda: _line_break(line))
        else:
            self._findings.add("stray_quote", number, lambda: _stray_quote(line))
        return taken

    def _lines_until_closed(self, line: bytes) -> int:
        """Take the lines an open quote reaches over, if it is closed soon; return their number."""
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
        width = self._layout.width
        if len(fields) == width + 1 and all(map(_DIGITS.fullmatch, fields[-2:])):
            self._findings.add("decimal_comma", number, lambda: _width(fields, width, " (decimal comma?)"))
            return
        hint = self._width_hint(fields, line, number)
        self._findings.add("field_count", number, lambda: _width(fields, width, hint))

    def _width_hint(self, fields: list[bytes], line: bytes, number: int) -> str:
        if len(fields) > self._layout.width and not fields[-1]:
            return " (the last one is empty: a trailing comma?)"
        if len(fields) > self._layout.width and self._mark(b"".join(fields[:-1]), number):
            return " (ids are written without thousands separators)"
        other = next((mark for mark in OTHER_DELIMITERS if mark in line), None)
        if len(fields) == 1 and other:
            return f" (delimiter {quoted(other)}?)"
        return f": {quoted(line)}"

    def _explain_fields(self, fields: list[bytes], number: int) -> None:
        self._explain_id(fields[self._layout.id_column], number)
        if self._layout.prediction_column is None:
            return
        value = fields[self._layout.prediction_column]
        if self._layout.decimal_comma:
            value = value.replace(b",", b".")
        prediction = finite(value)
        if prediction is None:
            code, describe = not_finite(value)
            self._findings.add(code, number, describe)
        elif (place := self._place(fields[self._layout.id_column])) is not None:
            self._predictions[place] = prediction

    def _explain_id(self, value: bytes, number: int) -> None:
        if self._mark(value, number):
            if value not in self._index:
                self._decimal_ids += 1
                self._first_decimal_id = self._first_decimal_id or number
            return
        if not value.isascii():
            self._mark(INVISIBLE.sub("", value.decode()).encode(), number)
        code, describe = unknown_id(value, self._index, are_integers=self._row_ids.are_integers)
        self._findings.add(code, number, describe)

    def _place(self, value: bytes) -> int | None:
        place = self._index.get(value)
        if place is None and (integer := as_integer(value)) is not None:
            place = self._index.get(integer)
        return place

    def _mark(self, value: bytes, number: int) -> bool:
        """Note that an id occurs on a line, whatever else the line holds; False if it is unknown."""
        place = self._place(value.strip(BLANKS))
        if place is None:
            return False
        self._coverage.mark(place, number)
        return True

    def _mark_damaged(self, line: bytes, number: int) -> None:
        """Note the id of a line that cannot be used, so that it is not called missing as well."""
        for delimiter in (self._layout.delimiter, *OTHER_DELIMITERS):
            fields = line.split(delimiter)
            column = min(self._layout.id_column, len(fields) - 1)
            if self._mark(fields[column].translate(None, b'\0"'), number):
                return

    def _blank(self) -> Finding:
        advice = ""
        if self._text.has_doubled_returns:
            advice = "Lines end in CR CR LF: open the file with newline='' when you write it."
        return Finding("the line is empty; expected id and prediction", HEADER, "nothing", advice)

    def _result(self, rows: int) -> Rows:
        problems = self._findings.problems() + self._coverage.problems(
            rows - self._findings.count("blank_line"), is_complete=self._findings.is_complete
        )
        notes = [_decimal_ids(self._decimal_ids, self._first_decimal_id)] if self._decimal_ids else []
        return Rows(
            np.frombuffer(self._predictions, np.float64),
            np.frombuffer(self._first_lines, np.int64),
            problems,
            notes,
        )


def _too_long(line: bytes) -> Finding:
    return Finding(
        f"field too long: the line begins {quoted(line)} and has more than {len(line) - 1:,} bytes; "
        f"a field may have {LONGEST_NUMBER}",
        f"fields of at most {LONGEST_NUMBER} bytes",
        f"more than {len(line) - 1:,} bytes",
    )


def _nul(line: bytes) -> Finding:
    return Finding(f"NUL byte in {quoted(line)}", "text without NUL bytes", "a NUL byte")


def _invalid_utf8(line: bytes) -> Finding | None:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        byte = f"0x{line[error.start]:02X}"
        return Finding(
            f"invalid UTF-8 ({byte}); expected UTF-8",
            "UTF-8",
            byte,
            "Save the file as 'CSV UTF-8'.",
            f"byte {error.start + 1}",
        )
    return None


def _repeated_header() -> Finding:
    return Finding(
        "this line repeats the header; expected the header on line 1 only (were files joined?)",
        "one header",
        HEADER,
    )


def _line_break(line: bytes) -> Finding:
    return Finding(f"line break inside a field: {quoted(line)}", "fields without line breaks", quoted(line))


def _stray_quote(line: bytes) -> Finding:
    return Finding(
        f"stray quote in {quoted(line)}; quotes must enclose a whole field",
        "no quotes, or quotes around a whole field",
        quoted(line),
    )


def _width(fields: list[bytes], width: int, hint: str) -> Finding:
    found = counted(len(fields), "field")
    return Finding(f"{found}, expected {width}{hint}", counted(width, "field"), found)


def _decimal_ids(count: int, line: int) -> Note:
    return Note(
        "decimal_ids",
        f"Ids written as decimals were read as integers on {counted(count, 'line')} (first line {line:,}).",
        line=line,
        count=count,
    )
