"""Slow submission reader that explains every problem with its line."""

from array import array
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.numbers import LONGEST_NUMBER
from grader.files.reading.problems import LINES_SHOWN, FileProblem, FileRejected, Findings, Note, foreign
from grader.files.reading.row_ids import RowIds, fault_of_id, hint_on_id, place_of
from grader.files.reading.text import Text, invalid_utf8, invisible_in, lines_of, split_fields
from grader.files.submission.columns import ONE_NUMBER, PredictedColumn, SubmissionColumns
from grader.files.submission.header import Layout
from grader.text import counted, listed, named, quoted

FIRST_LINE = 2
_LONGEST_LINE = 4096
_SPARE_ROWS = 1000
_SPARE_FIELDS = 8


class RowReader:
    """Reader of the rows of a submission.

    Reading stops after twice the expected number of rows, or once more problems have been found than rows are
    expected. Counts are then reported as "at least". Reading any file therefore costs at most a small
    multiple of the cost of a valid file.
    """

    def __init__(
        self, text: Text, layout: Layout, row_ids: RowIds, wanted: SubmissionColumns = ONE_NUMBER
    ) -> None:
        self._text = text
        self._wanted = wanted
        self._layout = layout
        self._row_ids = row_ids
        self._most = len(row_ids)
        self._index = row_ids.index()
        self._first_lines = array("q", bytes(8 * len(row_ids)))  # of each expected id, or 0
        self._values = [column.storage(len(row_ids)) for column in wanted.columns]
        self._findings, self._repeats = Findings(), Findings()
        self._decimal_ids = self._first_decimal_id = 0
        self._is_damaged = False  # some lines have no readable id
        fields = LONGEST_NUMBER * (len(wanted.columns) - 1) + wanted.longest_texts
        self._longest_line = _LONGEST_LINE + 2 * row_ids.longest + fields

    def read(self) -> tuple[list[NDArray[Any]], NDArray[np.int64], list[Note]]:
        """Return the predictions in the solution's order, the line of each, and notes; raise FileRejected.

        The values of each column are described for `SubmissionFile`.
        """
        id_place, *places = self._layout.places
        columns = list(zip(self._wanted.columns, self._values, places, strict=True))
        number = FIRST_LINE - 1
        for line in lines_of(self._text, self._layout.offset, self._longest_line):
            if number > 2 * self._most + _SPARE_ROWS or self._findings.total > self._most + _SPARE_ROWS:
                self._findings.is_complete = self._repeats.is_complete = False
                break
            number += 1
            fields = self._fields(line, number)
            if fields is None:
                self._is_damaged = True
                continue
            place = self._place(fields[id_place], number)
            for column, values, value_place in columns:
                parsed, fault = column.parsed(value := fields[value_place])
                if fault:
                    self._add_value(column, fault, number, value)
                elif place is not None:
                    values[place] = parsed
        lines = np.frombuffer(self._first_lines, np.int64)
        problems = [*self._findings.problems(), *self._of_all_rows(number, lines)]
        if problems:
            raise FileRejected(*problems)
        notes = []
        if count := self._decimal_ids:
            words = counted(count, "line")
            notes.append(Note.of("decimal_ids", line=self._first_decimal_id, count=count, lines=words))
        return self._values, lines, notes

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

    def _place(self, name: bytes, number: int) -> int | None:
        """Return the position of an id, or report that it is unknown or repeated."""
        place = self._index.get(name)
        if place is None:
            place = place_of(name, self._index)
            if place is not None and not name.isdigit():
                self._decimal_ids += 1
                self._first_decimal_id = self._first_decimal_id or number
        if place is None:
            self._findings.add(
                fault_of_id(name, are_integers=self._row_ids.are_integers),
                number,
                name,
                name=named(name.decode()),
                character=partial(invisible_in, name.decode()),
                hint=partial(hint_on_id, name, self._index),
            )
            return None
        if first := self._first_lines[place]:
            known = named(self._row_ids.at([place])[0])
            self._repeats.add("duplicate_row_id", number, name=known, first=f"{first:,}")
            return None
        self._first_lines[place] = number
        return place

    def _of_all_rows(self, last_line: int, lines: NDArray[np.int64]) -> Iterator[FileProblem]:
        """Yield the problems of the ids and rows as a whole."""
        rows = last_line - FIRST_LINE + 1 - self._findings.count("blank_line")
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
        elif missing.size and not self._is_damaged:
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
