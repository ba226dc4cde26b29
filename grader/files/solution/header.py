"""Read the header and the first rows of a solution CSV."""

import csv
from codecs import BOM_UTF8
from itertools import islice

from grader.files.reading.containers import Content
from grader.files.reading.header_faults import (
    describe_line_above,
    fault_of_line_above,
    invalid_utf8,
    invisible_characters,
    trimmed,
)
from grader.files.reading.problems import FileRejected, Findings, Problem
from grader.files.reading.text import not_utf8, wide_encoding
from grader.files.reading.zeros import first_run, problem_of
from grader.files.solution.fast_path import text_stream
from grader.files.submission.faults import describe_nul
from grader.text import quoted

_SAMPLE_ROWS = 1000
_LONGEST_HEADER = 1 << 20
_OTHER_DELIMITERS = ";\t|\uff0c"  # the last is the full-width comma
_OF_A_SOLUTION = "a header with id, a label and identities"


def read_beginning(
    content: Content, expected: str = _OF_A_SOLUTION
) -> tuple[list[str], list[list[str]], list[Problem]]:
    """Return the names of the columns, the first rows, and what is wrong with the header.

    `expected` says in messages what the file should begin with.
    """
    with content.open() as stream:
        head = stream.read(_LONGEST_HEADER)
    if not head:
        raise FileRejected("solution", [_empty("The file is empty", expected)])
    if encoding := wide_encoding(head[:64]):
        raise FileRejected("solution", [not_utf8(encoding)])
    lines = head.removeprefix(BOM_UTF8).splitlines()
    _reject_lines_above(lines, expected)
    with text_stream(content.open(), errors="surrogateescape") as stream:
        header = csv.reader(stream, strict=True)
        try:
            names = [name.strip(" \t") for name in next(header, [])]
        except csv.Error as error:
            problem = _bad_header(f"the header is unreadable ({error})")
            raise FileRejected("solution", [_cause_of(problem, content)]) from error
        header_lines = header.line_num
        rows = csv.reader(stream)
        try:
            sample = list(islice(rows, _SAMPLE_ROWS))
        except csv.Error as error:
            problem = _bad_row(header_lines + rows.line_num, error)
            raise FileRejected("solution", [_cause_of(problem, content)]) from error
    if not any(sample):
        raise FileRejected("solution", [_cause_of(_empty("The file has 0 rows", expected), content)])
    if len(names) == 1 and (other := next((mark for mark in _OTHER_DELIMITERS if mark in names[0]), None)):
        raise FileRejected("solution", [_bad_header(f"delimiter {quoted(other)} found")])
    if len(names) == 1 and "," in names[0]:
        found = f"quotes around the whole of {quoted(names[0])}"
        raise FileRejected("solution", [_bad_header(found)])
    problems = _nul_bytes(lines[:header_lines])
    numbered = enumerate(lines[:header_lines], start=1)
    problems += [problem for number, line in numbered for problem in invalid_utf8(line, number)]
    problems += invisible_characters([name for name in names if name != trimmed(name)], 1, expected)
    return [trimmed(name) for name in names], sample, problems


def _reject_lines_above(lines: list[bytes], expected: str) -> None:
    """Refuse blank lines, comments and Excel's line ``sep=,`` where the header should be."""
    above = Findings()
    for number, line in enumerate(lines, start=1):
        code = fault_of_line_above(line)
        if code is None:
            break
        above.add(code, number, describe_line_above, code, line, expected)
    else:
        raise FileRejected("solution", [_empty("The file holds only blank lines or comments", expected)])
    if above:
        raise FileRejected("solution", above.problems())


def _nul_bytes(lines: list[bytes]) -> list[Problem]:
    """Refuse names that no database keeps."""
    found = Findings()
    for number, line in enumerate(lines, start=1):
        if 0 in line:
            found.add("nul_byte", number, describe_nul, line)
    return found.problems()


def _cause_of(problem: Problem, content: Content) -> Problem:
    """Return why reading broke: the zero bytes that the file has, if it has some, else the problem itself."""
    run = first_run(content.open())
    return problem if run is None else problem_of(run)


def _empty(fact: str, header: str) -> Problem:
    expected = f"{header}, and rows"
    return Problem("empty_file", f"{fact}; expected {expected}.", expected=expected, found=fact)


def _bad_row(line: int, error: csv.Error) -> Problem:
    message = f"The rows cannot be read from about line {line:,} on ({error})."
    return Problem("stray_quote", message, line, (line,), 1, "quotes that enclose whole fields", str(error))


def _bad_header(found: str) -> Problem:
    message = f"Line 1: {found}; expected column names separated by ','."
    return Problem("wrong_delimiter", message, 1, (1,), 1, "','", found)
