"""Header problems in any file: lines above the header, bad encoding, invisible characters."""

import re
from collections.abc import Iterator, Sequence

from grader.files.reading.problems import FileProblem, Finding, Findings, not_utf8_at
from grader.files.reading.row_ids import INVISIBLE
from grader.files.reading.text import BLANKS, first_invalid_byte
from grader.text import character, quoted

_INVISIBLE_ENDS = re.compile(f"^{INVISIBLE.pattern}+|{INVISIBLE.pattern}+$")
# An index written by pandas has one of the first two names, depending on whether the file was read back.
INDEX_NAMES = ("", "Unnamed: 0", "index")
_COMMENTED_HEADER = re.compile(rb'#[# \t]*"?id"?[ \t]*,', re.IGNORECASE)
_SEPARATOR_LINE = re.compile(rb'"?sep=.?"?[ \t,;]*', re.IGNORECASE)


def fault_of_line_above(line: bytes) -> str | None:
    """Return the problem code of a line above the header, or None if the line can be the header."""
    if _SEPARATOR_LINE.fullmatch(line):
        return "separator_line"
    if line.startswith(b"#"):
        return "comment_line"
    return None if line.strip(BLANKS) else "blank_line"


def describe_line_above(code: str, line: bytes, expected: str) -> Finding:
    """Describe a line above the header, given its problem code."""
    shown = quoted(line)
    if code == "separator_line":
        return Finding(f"the line {shown} must be removed", expected, shown)
    if code == "comment_line":
        sentence = f"the line starts with '#' ({shown}), but comments are not allowed"
        if _COMMENTED_HEADER.match(line):
            sentence += "; pass comments='' to numpy.savetxt"
        return Finding(sentence, expected, shown)
    return Finding("the line is empty; expected the header", expected, "an empty line")


def invalid_utf8(line: bytes, number: int) -> list[FileProblem]:
    """Return the problem for the first invalid UTF-8 byte in a header line, if any."""
    found, offset = Findings(), first_invalid_byte(line)
    if offset is not None:
        found.add("invalid_utf8", number, not_utf8_at, line, offset)
    return found.problems()


def invisible_characters(names: Sequence[str], number: int, expected: str) -> Iterator[FileProblem]:
    """Yield a problem for each column name that contains an invisible character."""
    for name in names:
        if match := INVISIBLE.search(name):
            bare = quoted(INVISIBLE.sub("", name))
            place = "before" if match.start() == 0 else "in"
            sentence = f"Line {number:,}: unexpected {character(match[0])} {place} {bare}"
            yield header_problem("invisible_character", number, sentence, character(match[0]), expected)


def trimmed(name: str) -> str:
    """Return a column name without leading and trailing invisible characters."""
    return _INVISIBLE_ENDS.sub("", name)


def header_problem(code: str, line: int, sentence: str, found: str, expected: str) -> FileProblem:
    """Return a problem in the header line; `sentence` has no full stop."""
    return FileProblem(code, f"{sentence}.", line, (line,), expected=expected, found=found)
