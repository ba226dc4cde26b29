"""Messages for a submission's problems and notes, including missing and duplicate ids."""

import re
from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.numbers import LONGEST_NUMBER
from grader.files.reading.problems import LINES_SHOWN, FileProblem, Finding, Note
from grader.files.reading.row_ids import RowIds
from grader.files.submission.columns import ONE_NUMBER, SubmissionColumns
from grader.files.submission.header import OTHER_DELIMITERS
from grader.text import counted, listed, named, quoted

_BEFORE_COMMA = re.compile(rb"[+-]?[0-9]++")
_AFTER_COMMA = re.compile(rb"[0-9]++(?:[eE][+-]?[0-9]++)?")
_FEW_DISTINCT = 1000
_ROWS_PER_VALUE = 10
_LARGE_SHARE = 0.02
_FEW_COLUMNS = 2
# Below this number of rows, sorting takes less time than a proof that there are not many ties.
_MANY_ROWS = 10_000
_MULTIPLIER, _BUCKET_SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(48)
_SAMPLE = 1000
# It is very unlikely that this many ids fit into a float by chance.
_SMALLEST_SAMPLE = 20
_ROUNDED = " The ids look rounded. Store them as text or 64-bit integers, not as floats."


def reading_stopped(line: int) -> FileProblem:
    """Return the problem that reading was stopped before the end of the file."""
    return FileProblem(
        "reading_stopped",
        f"Reading stopped after line {line:,}, because there are too many rows or too many problems. Counts "
        "include only the lines read.",
        line=line,
        lines=(line,),
        expected="a file that can be read to the end",
        found=f"{line:,} lines",
    )


def describe_blank(wanted: SubmissionColumns, has_doubled_returns: bool) -> Finding:
    """Describe an empty line, with the cause if the line endings of the file reveal it."""
    advice = ""
    if has_doubled_returns:
        advice = "Lines end in CR CR LF. Open the file with newline='' when you write it."
    names = wanted.names
    fields = counted(len(names), "field") if len(names) > _FEW_COLUMNS else " and ".join(names)
    return Finding(f"the line is empty; expected {fields}", wanted.header, "nothing", advice)


def describe_too_long(head: bytes) -> Finding:
    """Describe a line that is too long, given the part that was read."""
    length = f"more than {len(head) - 1:,} bytes"
    return Finding(
        f"field too long: the line starts with {quoted(head)} and has {length}; a field may have at most "
        f"{LONGEST_NUMBER}",
        f"fields of at most {LONGEST_NUMBER} bytes",
        length,
    )


def describe_nul(line: bytes) -> Finding:
    """Describe a line that contains a NUL byte."""
    return Finding(f"NUL byte in {quoted(line)}", "text without NUL bytes", "a NUL byte")


def describe_invalid_utf8(line: bytes, offset: int) -> Finding:
    """Describe the first byte of a line that is not UTF-8."""
    byte = f"0x{line[offset]:02X}"
    return Finding(
        f"invalid UTF-8 ({byte}); expected UTF-8",
        "UTF-8",
        byte,
        "Save the file as 'CSV UTF-8'.",
        f"byte {offset + 1}",
    )


def describe_repeated_header(header: str) -> Finding:
    """Describe a header that is repeated among the rows."""
    return Finding(
        "this line repeats the header; expected the header only on line 1 (were files concatenated?)",
        "one header",
        header,
    )


def describe_line_break(line: bytes) -> Finding:
    """Describe a quoted field that spans several lines."""
    shown = quoted(line)
    return Finding(f"line break inside a field: {shown}", "fields without line breaks", shown)


def describe_stray_quote(line: bytes) -> Finding:
    """Describe a quote that does not enclose a field."""
    shown = quoted(line)
    return Finding(
        f"stray quote in {shown}; quotes must enclose a whole field",
        "no quotes, or quotes around a whole field",
        shown,
    )


def is_decimal_comma(fields: list[bytes], width: int) -> bool:
    """Return whether a row has one field too many because a number is written ``0,5``."""
    if len(fields) != width + 1:
        return False
    return bool(_BEFORE_COMMA.fullmatch(fields[-2]) and _AFTER_COMMA.fullmatch(fields[-1]))


def describe_width(fields: list[bytes], line: bytes, delimiter: bytes, width: int, hint: str) -> Finding:
    """Describe a wrong number of fields with its likely cause; `fields` may be truncated."""
    fields_text = counted(len(fields) if b'"' in line else line.count(delimiter) + 1, "field")
    other = next((mark for mark in OTHER_DELIMITERS if mark in line), None)
    if not hint and len(fields) == 1 and delimiter in fields[0]:
        hint = "quotes around the whole line?"
    elif not hint and line.endswith(delimiter):
        hint = "the last field is empty; trailing comma?"
    elif not hint and delimiter not in line and other:
        hint = f"delimiter {quoted(other)}?"
    reason = f" ({hint})" if hint else f": {quoted(line)}"
    return Finding(f"{fields_text}, expected {width}{reason}", counted(width, "field"), fields_text)


def remarks_on(predictions: NDArray[np.float64], first_line: int) -> list[Note]:
    """Return notes about predictions outside [0, 1] and about many tied predictions.

    Parameters
    ----------
    predictions : array of float64, shape (n,)
        Finite and in the order of the file; an accepted file has one on every line.
    first_line : int
        The line of the first prediction.
    """
    return [*_outside(predictions, first_line), *_ties(predictions)]


def underflow_notes(lines: Sequence[int], wanted: SubmissionColumns = ONE_NUMBER) -> list[Note]:
    """Return a note on nonzero numbers that are read as 0, if there are any."""
    if not lines:
        return []
    values = counted(len(lines), "value")
    effect = "; rows with the same value tie and count as one half" if wanted.is_default else ""
    return [
        Note(
            "underflow",
            f"{values} too small for a 64-bit float (first line {lines[0]:,}), read as 0{effect}.",
            line=lines[0],
            count=len(lines),
        )
    ]


def _outside(predictions: NDArray[np.float64], first_line: int) -> list[Note]:
    outside = (predictions < 0) | (predictions > 1)
    count = int(np.count_nonzero(outside))
    if not count:
        return []
    line = first_line + int(outside.argmax())
    return [
        Note(
            "outside_unit_interval",
            f"{counted(count, 'value')} outside [0, 1] (first line {line:,}); only the order counts.",
            line=line,
            count=count,
        )
    ]


def _ties(predictions: NDArray[np.float64]) -> list[Note]:
    if _are_spread(predictions):
        return []
    ordered = np.sort(predictions)
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    runs = np.diff(begins, append=len(ordered))
    rows, distinct, longest = len(ordered), len(begins), int(runs.max(initial=0))
    if rows < 2 or distinct == rows:
        return []
    notes = []
    if distinct <= _FEW_DISTINCT and distinct * _ROWS_PER_VALUE <= rows:
        values = counted(distinct, "distinct value")
        notes.append(
            Note(
                "few_distinct_values",
                f"The predictions have {values} on {counted(rows, 'row')}; "
                "rows with the same value tie and count as one half.",
                count=rows,
            )
        )
    elif longest > rows * _LARGE_SHARE:
        value = float(ordered[begins[int(runs.argmax())]])
        notes.append(
            Note(
                "many_ties",
                f"{counted(longest, 'row')} ({longest / rows:.1%}) share the prediction {value!r}; "
                "they tie and count as one half.",
                count=longest,
            )
        )
    return notes


def _are_spread(predictions: NDArray[np.float64]) -> bool:
    """Return whether no value is shared by enough rows for a note, proven without sorting.

    A note requires a value on at least one of `_FEW_DISTINCT` rows. Equal values are in the same bucket of a
    hash, so it is enough that no bucket has as many rows.
    """
    if len(predictions) < _MANY_ROWS:
        return False
    bits = (predictions + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    buckets = (bits * _MULTIPLIER) >> _BUCKET_SHIFT
    return int(np.bincount(buckets.view(np.int64)).max()) * _FEW_DISTINCT < len(predictions)


Places = NDArray[np.int64]


class Coverage:
    """Records the occurrences of the expected ids.

    Parameters
    ----------
    row_ids : RowIds
    first_lines : array of int64
        For each expected id, the line of its first occurrence, or 0; shared with the reader.
    """

    def __init__(self, row_ids: RowIds, first_lines: "array[int]") -> None:
        self._row_ids = row_ids
        self._first_lines = first_lines
        self._repeats = array("l", bytes(array("l").itemsize * len(row_ids)))
        self._lines_shown: dict[int, list[int]] = {}

    def mark(self, place: int, line: int) -> None:
        """Record that an expected id occurs on a line; marking a line twice counts once."""
        first_line = self._first_lines[place]
        if not first_line:
            self._first_lines[place] = line
        elif first_line != line:
            self._repeats[place] += 1
            if place in self._lines_shown or len(self._lines_shown) < LINES_SHOWN:
                lines = self._lines_shown.setdefault(place, [first_line])
                if len(lines) < LINES_SHOWN:
                    lines.append(line)

    def problems(self, rows: int, *, is_complete: bool) -> list[FileProblem]:
        """Return the problems of the ids as a whole, after reading `rows` rows below the header."""
        expected = len(self._row_ids)
        problems = []
        if not is_complete and rows > expected:
            problems.append(_too_many_rows(rows, expected))
        repeats = np.asarray(self._repeats, np.int64)
        repeated = np.flatnonzero(repeats)
        missing = np.flatnonzero(np.frombuffer(self._first_lines, np.int64) == 0)
        if len(repeated) == expected and repeats.min() == repeats.max() and is_complete:
            problems.append(self._everything_repeated(rows, int(repeats[0]) + 1))
        elif len(repeated):
            problems.append(self._repeated(repeated, missing, is_complete))
        if not rows and is_complete:
            problems.append(_no_rows(expected))
        elif len(missing) and is_complete:
            sample = self._sample_of_found()
            look_rounded = (
                not len(repeated) and len(sample) >= _SMALLEST_SAMPLE and self._look_rounded(sample, missing)
            )
            problems.append(self._missing(missing, rows, _ROUNDED if look_rounded else ""))
        return problems

    def _everything_repeated(self, rows: int, times: int) -> FileProblem:
        expected = len(self._row_ids)
        lines = self._first_repeated_lines()
        return FileProblem(
            "duplicate_row_id",
            f"{counted(rows, 'row')}, expected {expected:,}; every id appears {_times(times)}.",
            line=lines[0],
            lines=lines,
            count=expected,
            expected=counted(expected, "row"),
            found=counted(rows, "row"),
        )

    def _repeated(self, repeated: Places, missing: Places, is_complete: bool) -> FileProblem:
        names = self._row_ids.at(self._lines_shown)
        places = [
            f"id {named(name)} appears {_times(self._repeats[place] + 1)} "
            f"(lines {listed([f'{line:,}' for line in lines], total=int(self._repeats[place]) + 1)})"
            for name, (place, lines) in zip(names, self._lines_shown.items(), strict=True)
        ]
        total = counted(len(repeated), "duplicated id", at_least=not is_complete)
        message = f"{listed(places, total=len(repeated))}; {total}; expected each id once."
        if self._look_rounded(repeated, missing):
            message += _ROUNDED
        lines = self._first_repeated_lines()
        return FileProblem(
            "duplicate_row_id",
            message[0].upper() + message[1:],
            line=lines[0],
            lines=lines,
            count=len(repeated),
            expected="each id once",
            found=total,
        )

    def _first_repeated_lines(self) -> tuple[int, ...]:
        lines = {line for shown in self._lines_shown.values() for line in shown}
        return tuple(sorted(lines)[:LINES_SHOWN])

    def _sample_of_found(self) -> Places:
        return np.flatnonzero(np.frombuffer(self._first_lines, np.int64))[:_SAMPLE]

    def _look_rounded(self, unknown: Places, missing: Places) -> bool:
        """Return whether the ids that were found fit into a float and the missing ids do not."""
        if not self._row_ids.are_integers or not len(unknown) or not len(missing):
            return False
        there = [int(text) for text in self._row_ids.at(unknown[:_SAMPLE])]
        gone = [int(text) for text in self._row_ids.at(missing[:LINES_SHOWN])]
        return any(
            all(_fits(value, kind) for value in there) and not any(_fits(value, kind) for value in gone)
            for kind in (np.float32, np.float64)
        )

    def _missing(self, missing: Places, rows: int, hint: str) -> FileProblem:
        """List the missing ids in id order, because the solution's order is secret."""
        names = [named(name) for name in self._row_ids.smallest(missing, LINES_SHOWN)]
        expected = len(self._row_ids)
        rows_text = f" ({counted(rows, 'row')} found, {expected:,} expected)" if rows != expected else ""
        return FileProblem(
            "missing_row_id",
            f"{counted(len(missing), 'id')} missing: {listed(names, total=len(missing))}{rows_text}.{hint}",
            count=len(missing),
            expected=f"all {counted(expected, 'id')}",
            found=f"{expected - len(missing):,} of them",
        )


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count:,} times"


def _fits(value: int, kind: type[np.floating]) -> bool:
    if value > 1 << 63:
        return False
    return int(kind(value)) == value


def _no_rows(expected: int) -> FileProblem:
    return FileProblem(
        "no_rows",
        f"The file has 0 rows; expected {expected:,}.",
        count=expected,
        expected=counted(expected, "row"),
        found="0 rows",
    )


def _too_many_rows(rows: int, expected: int) -> FileProblem:
    return FileProblem(
        "too_many_rows",
        f"The file has at least {counted(rows, 'row')}; expected {expected:,}. Reading stopped there.",
        count=rows - expected,
        expected=counted(expected, "row"),
        found=counted(rows, "row", at_least=True),
    )
