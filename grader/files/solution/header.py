"""Header of a solution CSV: names, first rows and problems."""

import csv
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from itertools import islice

from grader.files.reading.containers import Content
from grader.files.reading.header_faults import (
    INDEX_NAMES,
    describe_line_above,
    fault_of_line_above,
    invalid_utf8,
    invisible_characters,
    trimmed,
)
from grader.files.reading.numbers import NUMBER
from grader.files.reading.problems import FileProblem, FileRejected, Findings, nul_byte
from grader.files.reading.text import not_utf8, wide_encoding
from grader.files.solution.columns import text_stream
from grader.files.solution.roles import ID_COLUMN, SAMPLE_ROWS
from grader.text import listed, quoted

_LONGEST_HEADER = 1 << 20
UNNAMED = "(unnamed)"
_OTHER_DELIMITERS = ";\t|\uff0c"  # the last one is the full-width comma
_OF_A_SOLUTION = "a header with id, a label and identities"


def no_id(names: Sequence[str]) -> FileProblem:
    """Return the problem that there is no id column."""
    shown = listed([quoted(name) if name else UNNAMED for name in names], most=20)
    alike = next((name for name in names if name.casefold() == ID_COLUMN), None)
    found = f"found {quoted(alike)} (case matters)" if alike else f"found {shown}"
    if names[0] in INDEX_NAMES:
        found += f"; use to_csv(index_label='{ID_COLUMN}') if the index contains the ids"
    elif NUMBER.fullmatch(names[0].encode("utf-8", "replace")):
        found += " (is there a header?)"
    message = f"Line 1: missing column '{ID_COLUMN}'; {found}."
    return FileProblem("missing_column", message, 1, (1,), 1, f"'{ID_COLUMN}'", shown)


def duplicate_columns(names: Sequence[str]) -> list[FileProblem]:
    """Return a problem for each name that several columns have."""
    counts: Mapping[str, int] = {name: names.count(name) for name in dict.fromkeys(names) if name}
    return [
        FileProblem(
            "duplicate_column",
            f"Line 1: column {quoted(name)} appears {count} times; expected each name once.",
            1,
            (1,),
            count,
            "each name once",
            quoted(name),
        )
        for name, count in counts.items()
        if count > 1
    ]


def read_beginning(
    content: Content, expected: str = _OF_A_SOLUTION
) -> tuple[list[str], list[list[str]], list[FileProblem]]:
    """Return the column names, the first rows and the problems of the header.

    `expected` describes the expected header in messages.
    """
    with content.open() as stream:
        head = stream.read(_LONGEST_HEADER)
    if not head:
        raise FileRejected("solution", [_empty("The file is empty", expected)])
    if encoding := wide_encoding(head[:64]):
        raise FileRejected("solution", [not_utf8(encoding)])
    lines = head.removeprefix(BOM_UTF8).splitlines()
    _reject_lines_above(lines, expected)
    with text_stream(content.open()) as stream:
        header = csv.reader(stream, strict=True)
        try:
            names = [name.strip(" \t") for name in next(header, [])]
        except csv.Error as error:
            problem = _bad_header(f"the header is unreadable ({error})")
            raise FileRejected("solution", [problem]) from error
        header_lines = header.line_num
        rows = csv.reader(stream)
        try:
            sample = list(islice(rows, SAMPLE_ROWS))
        except csv.Error as error:
            problem = _bad_row(header_lines + rows.line_num, error)
            raise FileRejected("solution", [problem]) from error
    if not any(sample):
        raise FileRejected("solution", [_empty("The file has 0 rows", expected)])
    if len(names) == 1 and (other := next((mark for mark in _OTHER_DELIMITERS if mark in names[0]), None)):
        raise FileRejected("solution", [_bad_header(f"delimiter {quoted(other)} found")])
    if len(names) == 1 and "," in names[0]:
        found = f"quotes around the whole line {quoted(names[0])}"
        raise FileRejected("solution", [_bad_header(found)])
    problems = _nul_bytes(lines[:header_lines])
    numbered = enumerate(lines[:header_lines], start=1)
    problems += [problem for number, line in numbered for problem in invalid_utf8(line, number)]
    problems += invisible_characters([name for name in names if name != trimmed(name)], 1, expected)
    return [trimmed(name) for name in names], sample, problems


def _reject_lines_above(lines: list[bytes], expected: str) -> None:
    """Reject blank lines, comments and Excel's line ``sep=,`` above the header."""
    above = Findings()
    for number, line in enumerate(lines, start=1):
        code = fault_of_line_above(line)
        if code is None:
            break
        above.add(code, number, describe_line_above, code, line, expected)
    else:
        raise FileRejected("solution", [_empty("The file contains only blank lines or comments", expected)])
    if above:
        raise FileRejected("solution", above.problems())


def _nul_bytes(lines: list[bytes]) -> list[FileProblem]:
    """Return the problems of NUL bytes, which no database can store in names."""
    found = Findings()
    for number, line in enumerate(lines, start=1):
        if 0 in line:
            found.add("nul_byte", number, nul_byte, line)
    return found.problems()


def _empty(fact: str, header: str) -> FileProblem:
    expected = f"{header}, followed by rows"
    return FileProblem("empty_file", f"{fact}; expected {expected}.", expected=expected, found=fact)


def _bad_row(line: int, error: csv.Error) -> FileProblem:
    message = f"The rows cannot be read from about line {line:,} onwards ({error})."
    return FileProblem(
        "stray_quote", message, line, (line,), 1, "quotes that enclose whole fields", str(error)
    )


def _bad_header(found: str) -> FileProblem:
    message = f"Line 1: {found}; expected column names separated by ','."
    return FileProblem("wrong_delimiter", message, 1, (1,), 1, "','", found)
