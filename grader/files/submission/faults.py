"""Wording of problems in a submission's rows, and notes on an accepted submission."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.numbers import LONGEST_NUMBER
from grader.files.reading.problems import Finding, Note, Problem
from grader.files.submission.header import HEADER, OTHER_DELIMITERS
from grader.text import counted, quoted

_BEFORE_COMMA = re.compile(rb"[+-]?[0-9]++")
_AFTER_COMMA = re.compile(rb"[0-9]++(?:[eE][+-]?[0-9]++)?")
_FEW_DISTINCT = 1000
_ROWS_PER_VALUE = 10
_LARGE_SHARE = 0.02


def reading_stopped(line: int) -> Problem:
    """Say that the rest of a hopeless file was not read."""
    return Problem(
        "reading_stopped",
        f"Reading stopped after line {line:,}: far too many rows, or far too much wrong with them. "
        "Counts are of what was read until then.",
        line=line,
        lines=(line,),
        expected="a file that can be read to its end",
        found=f"{line:,} lines",
    )


def describe_blank(has_doubled_returns: bool) -> Finding:
    """Say that a line is empty, and why where the whole file shows it."""
    advice = ""
    if has_doubled_returns:
        advice = "Lines end in CR CR LF: open the file with newline='' when you write it."
    return Finding("the line is empty; expected id and prediction", HEADER, "nothing", advice)


def describe_too_long(head: bytes) -> Finding:
    """Say that a line is too long, given as much of it as was read."""
    found = f"more than {len(head) - 1:,} bytes"
    return Finding(
        f"field too long: the line begins {quoted(head)} and has {found}; a field may have {LONGEST_NUMBER}",
        f"fields of at most {LONGEST_NUMBER} bytes",
        found,
    )


def describe_nul(line: bytes) -> Finding:
    """Say that a line holds a NUL byte."""
    return Finding(f"NUL byte in {quoted(line)}", "text without NUL bytes", "a NUL byte")


def describe_invalid_utf8(line: bytes, offset: int) -> Finding:
    """Say which byte of a line is not UTF-8."""
    byte = f"0x{line[offset]:02X}"
    return Finding(
        f"invalid UTF-8 ({byte}); expected UTF-8",
        "UTF-8",
        byte,
        "Save the file as 'CSV UTF-8'.",
        f"byte {offset + 1}",
    )


def describe_repeated_header(header: str) -> Finding:
    """Say that the header is repeated among the rows."""
    return Finding(
        "this line repeats the header; expected the header on line 1 only (were files joined?)",
        "one header",
        header,
    )


def describe_line_break(line: bytes) -> Finding:
    """Say that a quoted field reaches over several lines."""
    shown = quoted(line)
    return Finding(f"line break inside a field: {shown}", "fields without line breaks", shown)


def describe_stray_quote(line: bytes) -> Finding:
    """Say that a quote does not enclose a field."""
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
    """Say how many fields a line has, and why perhaps; without quotes, `fields` may be cut short."""
    found = counted(len(fields) if b'"' in line else line.count(delimiter) + 1, "field")
    other = next((mark for mark in OTHER_DELIMITERS if mark in line), None)
    if not hint and len(fields) == 1 and delimiter in fields[0]:
        hint = "quotes around the whole line?"
    elif not hint and line.endswith(delimiter):
        hint = "the last one is empty: a trailing comma?"
    elif not hint and delimiter not in line and other:
        hint = f"delimiter {quoted(other)}?"
    reason = f" ({hint})" if hint else f": {quoted(line)}"
    return Finding(f"{found}, expected {width}{reason}", counted(width, "field"), found)


def remarks_on(predictions: NDArray[np.float64], first_line: int) -> list[Note]:
    """Say where predictions lie outside [0, 1] and where many of them tie.

    Parameters
    ----------
    predictions : array of float64, shape (n,)
        Finite, in the order of the file: an accepted file has one on every line.
    first_line : int
        The line the first of them stands on.
    """
    return [*_outside(predictions, first_line), *_ties(predictions)]


def underflow_notes(lines: Sequence[int]) -> list[Note]:
    """Say that the numbers on these lines are not 0 and are read as 0, if there are any."""
    if not lines:
        return []
    found = counted(len(lines), "value")
    return [
        Note(
            "underflow",
            f"{found} too small for a 64-bit float (first line {lines[0]:,}), read as 0; rows with the same "
            "value tie and count one half.",
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
                "rows with the same value tie and count one half.",
                count=rows,
            )
        )
    elif longest > rows * _LARGE_SHARE:
        value = float(ordered[begins[int(runs.argmax())]])
        notes.append(
            Note(
                "many_ties",
                f"{counted(longest, 'row')} ({longest / rows:.1%}) share the prediction {value!r}; "
                "they tie and count one half.",
                count=longest,
            )
        )
    return notes
