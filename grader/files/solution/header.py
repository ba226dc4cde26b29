"""Header of a solution CSV: names, first rows and problems."""

import csv
import re
from codecs import BOM_UTF8
from collections.abc import Sequence
from itertools import islice

from grader.files.reading.containers import Source, open_content
from grader.files.reading.problems import FileProblem, FileRejected, Findings
from grader.files.reading.text import (
    INDEX_NAMES,
    INVISIBLE,
    invalid_utf8,
    invisible_in,
    is_above_header,
    require_utf8,
)
from grader.files.solution.columns import text_stream
from grader.files.solution.roles import ID_COLUMN, SAMPLE_ROWS, UNNAMED
from grader.text import listed, quoted

_LONGEST_HEADER = 1 << 20
_OTHER_DELIMITERS = ";\t|\uff0c"  # the last one is the full-width comma
_INVISIBLE_ENDS = re.compile(f"^{INVISIBLE.pattern}+|{INVISIBLE.pattern}+$")


def no_id(names: Sequence[str]) -> FileProblem:
    """Return the problem for a missing id column."""
    advice = "If another column contains the ids, give it the role id."
    if names[0] in INDEX_NAMES:
        advice = f"If the index contains the ids, use to_csv(index_label='{ID_COLUMN}')."
    return missing_column(ID_COLUMN, names, advice)


def missing_column(name: str, names: Sequence[str], advice: str = "") -> FileProblem:
    """Return the problem for a column that is missing in a header."""
    shown = listed([quoted(each) if each else UNNAMED for each in names], most=20)
    return FileProblem.of("missing_column", lines=[1], name=quoted(name), names=shown, advice=advice)


def duplicate_columns(names: Sequence[str]) -> list[FileProblem]:
    """Return a problem for each name that several columns have."""
    counts = {name: names.count(name) for name in dict.fromkeys(names) if name}
    return [
        FileProblem.of("duplicate_column", name, lines=[1], count=count, times=str(count))
        for name, count in counts.items()
        if count > 1
    ]


def read_beginning(
    source: Source, cap: int, expected: str = "a header with id, a label and identities"
) -> tuple[list[str], list[list[str]], list[FileProblem]]:
    """Return the column names, the first rows and the problems of the header.

    `expected` describes the expected header in messages.
    """
    with open_content(source, cap=cap) as stream:
        head = stream.read(_LONGEST_HEADER)
    if not head:
        raise FileRejected(FileProblem.of("empty_file", fact="is empty", header=expected))
    require_utf8(head)
    lines = head.removeprefix(BOM_UTF8).splitlines()
    _reject_lines_above(lines, expected)
    with text_stream(source, cap) as stream:
        header = csv.reader(stream, strict=True)
        try:
            names = [name.strip(" \t") for name in next(header, [])]
        except csv.Error as error:
            raise _wrong_delimiter(f"the header is unreadable ({error})") from error
        header_lines = header.line_num
        rows = csv.reader(stream)
        try:
            sample = list(islice(rows, SAMPLE_ROWS))
        except csv.Error as error:
            at_line, like = header_lines + rows.line_num, "unreadable_quotes"
            problem = FileProblem.of("stray_quote", like=like, lines=[at_line], reason=str(error))
            raise FileRejected(problem) from error
    if not any(sample):
        raise FileRejected(FileProblem.of("empty_file", fact="has 0 rows", header=expected))
    if len(names) == 1 and any(mark in names[0] for mark in _OTHER_DELIMITERS):
        raise _wrong_delimiter("another delimiter is used")
    if len(names) == 1 and "," in names[0]:
        raise _wrong_delimiter(f"quotes around the whole line {quoted(names[0])}")
    findings = Findings()
    for number, each in enumerate(lines[:header_lines], start=1):
        if 0 in each:  # no database can store it in names
            findings.add("nul_byte", number, each.partition(b"\0")[0])
        if at := invalid_utf8(each):
            findings.add("invalid_utf8", number, at)
    bare = [_INVISIBLE_ENDS.sub("", name) for name in names]
    problems = findings.problems() + [
        FileProblem.of("invisible_character", name, lines=[1], character=invisible_in(name))
        for name, trimmed in zip(names, bare, strict=True)
        if name != trimmed
    ]
    return bare, sample, problems


def _reject_lines_above(lines: list[bytes], expected: str) -> None:
    """Reject blank lines, comments and Excel's line ``sep=,`` above the header."""
    above = Findings()
    for number, line in enumerate(lines, start=1):
        if not is_above_header(line, number, above, expected):
            break
    else:
        fact = "contains only blank lines or comments"
        raise FileRejected(FileProblem.of("empty_file", fact=fact, header=expected))
    if above:
        raise FileRejected(*above.problems())


def _wrong_delimiter(fault: str) -> FileRejected:
    return FileRejected(FileProblem.of("wrong_delimiter", lines=[1], fault=fault))
