"""Slow submission reader that explains every problem with its line."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.numbers import LONGEST_NUMBER, underflows
from grader.files.reading.problems import LINES_SHOWN, FileProblem, Findings, Note, foreign
from grader.files.reading.row_ids import RowIds, fault_of_id, hint_on_id, place_of, without_invisible
from grader.files.reading.text import BLANKS, Text, invalid_utf8, invisible_in, lines_of, split_fields
from grader.files.submission.columns import ONE_NUMBER, PredictedColumn, SubmissionColumns
from grader.files.submission.header import Layout
from grader.files.submission.remarks import FIRST_LINE, underflow_notes
from grader.text import counted, listed, named, quoted

_LONGEST_LINE = 4096
_SPARE_ROWS = 1000
_SPARE_FIELDS = 8


@dataclass(frozen=True, slots=True)
class PredictionRows:
    """The predictions of a submission in the solution's order, with the line of each, problems and notes.

    The values of each column are described for `SubmissionFile`.
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
        self._row_ids = row_ids
        self._most = len(row_ids)
        self._index = row_ids.index()
        self._first_lines = array("q", bytes(8 * len(row_ids)))  # of each expected id, or 0
        self._values = [column.storage(len(row_ids)) for column in wanted.columns]
        self._findings, self._repeats = Findings(), Findings()
        self._underflows = list[int]()
        self._decimal_ids = self._first_decimal_id = 0
        fields = LONGEST_NUMBER * (len(wanted.columns) - 1) + wanted.longest_texts
        self._longest_line = _LONGEST_LINE + 2 * row_ids.longest + fields

    def read(self) -> PredictionRows:
        id_place, *places = self._layout.places
        index, first_lines = self._index, self._first_lines
        columns = list(zip(self._wanted.columns, self._values, places, strict=True))
        number = FIRST_LINE - 1
        for line in lines_of(self._text, self._layout.offset, self._longest_line):
            if number > 2 * self._most + _SPARE_ROWS or self._findings.total > self._most + _SPARE_ROWS:
                self._findings.is_complete = self._repeats.is_complete = False
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
                parsed, fault = column.parsed(value := fields[value_place])
                if fault:
                    self._add_value(column, fault, number, value)
                    continue
                if place is not None:
                    values[place] = parsed
                if parsed == 0 and isinstance(parsed, float) and underflows(value):
                    self._underflows.append(number)
        return self._result(number)

    def _fields(self, line: bytes, number: int) -> list[bytes] | None:
        """Return the fields of a row, or report why it cannot be read."""
        add, header, width = self._findings.add, self._wanted.header, len(self._layout.names)
        if b"\0" in line:
            add("nul_byte", number, line.partition(b"\0")[0])
        elif len(line) > self._longest_line:
            add("field_too_long", number, line, most=f"{LONGEST_NUMBER}")
        elif not line.isascii() and (at := invalid_utf8(line)):
            add("invalid_utf8", number, at)
        else:
            fields = split_fields(line, width + _SPARE_FIELDS)
            if fields is None:
                add("stray_quote", number, line)
            elif fields == [b""]:
                add("blank_line", number, header="a row")
            elif fields == self._layout.names:
                add("repeated_header", number, header)
            elif len(fields) != width:
                count = len(fields) if b'"' in line else line.count(b",") + 1
                add(
                    "field_count", number, line, fields=counted(count, "field"), width=counted(width, "field")
                )
            else:
                return fields
        return None

    def _add_value(self, column: PredictedColumn, fault: str, number: int, value: bytes) -> None:
        """Report a field of predictions; name the column if there are several."""
        words = {"most": f"{column.longest}"} if fault == "field_too_long" else {"expected": column.domain}
        self._findings.add(
            fault,
            number,
            partial(column.culprit, value),
            column=f"column {quoted(column.name)}: " if len(self._values) > 1 else "",
            hint=partial(column.hint, value),
            foreign=partial(foreign, value.decode("utf-8", "replace")),
            **words,
        )

    def _place(self, name: bytes, place: int | None, number: int) -> int | None:
        """Return the position of an id that is new but written differently, or report its problem."""
        if place is None:
            place = place_of(name, self._index)
            if place is not None and not name.isdigit():
                self._decimal_ids += 1
                self._first_decimal_id = self._first_decimal_id or number
        if place is not None:
            return place if self._mark(place, number) else None
        code = fault_of_id(name, are_integers=self._row_ids.are_integers)
        self._findings.add(
            code,
            number,
            name,
            name=named(name),
            character=partial(invisible_in, name.decode()),
            hint=partial(hint_on_id, name, self._index),
        )
        if code == "invisible_character":
            self._mark_id(without_invisible(name), number)
        return None

    def _mark(self, place: int, number: int) -> bool:
        """Record the line of an expected id, or report that it is repeated."""
        first = self._first_lines[place]
        if first:
            self._repeats.add("duplicate_row_id", number, name=partial(self._name, place), first=f"{first:,}")
        else:
            self._first_lines[place] = number
        return not first

    def _name(self, place: int) -> str:
        return named(self._row_ids.at([place])[0])

    def _mark_id(self, name: bytes, number: int) -> None:
        place = place_of(name, self._index)
        if place is not None:
            self._mark(place, number)

    def _mark_damaged(self, line: bytes, number: int) -> None:
        """Record the id of an unusable line, so that it is not also reported as missing."""
        id_place = self._layout.places[0]
        fields = line.replace(b";", b",").split(b",", id_place + 1)
        if id_place < len(fields):
            self._mark_id(fields[id_place].translate(None, b'\0"').strip(BLANKS), number)

    def _result(self, last_line: int) -> PredictionRows:
        rows = last_line - FIRST_LINE + 1 - self._findings.count("blank_line")
        lines = np.frombuffer(self._first_lines, np.int64)
        notes = underflow_notes(self._underflows)
        if self._decimal_ids:
            count, line = self._decimal_ids, self._first_decimal_id
            notes.insert(0, Note.of("decimal_ids", line=line, count=count, lines=counted(count, "line")))
        problems = [*self._findings.problems(), *self._of_all_rows(rows, last_line, lines)]
        return PredictionRows(tuple(self._values), lines, problems, notes)

    def _of_all_rows(self, rows: int, last_line: int, lines: NDArray[np.int64]) -> Iterator[FileProblem]:
        """Yield the problems of the ids and rows as a whole."""
        is_complete, expected = self._findings.is_complete, self._most
        shown, wanted = counted(rows, "row", at_least=not is_complete), counted(expected, "row")
        if not is_complete and rows > expected:
            yield FileProblem.of("too_many_rows", count=rows - expected, rows=shown, expected_rows=wanted)
        yield from self._repeats.problems()
        missing = np.flatnonzero(lines == 0)
        if not is_complete:
            yield FileProblem.of("reading_stopped", lines=[last_line], lines_read=f"{last_line:,} lines")
        elif not rows:
            yield FileProblem.of("no_rows", count=expected, rows=shown, expected_rows=wanted)
        elif missing.size:
            # The missing ids are listed in id order, because the solution's order is secret.
            names = [named(name) for name in self._row_ids.smallest(missing, LINES_SHOWN)]
            yield FileProblem.of(
                "missing_row_id",
                count=missing.size,
                missing=counted(missing.size, "id"),
                ids=listed(names, total=missing.size),
                expected=f"all {counted(expected, 'id')}",
                there=f"{expected - missing.size:,}",
            )
