"""Submission header: the columns of the ids and predictions, or the problem with their names."""

from collections.abc import Sequence
from dataclasses import dataclass

from grader.files.reading.header_faults import (
    INDEX_NAMES,
    describe_line_above,
    fault_of_line_above,
    header_problem,
    invalid_utf8,
)
from grader.files.reading.problems import FileProblem, FileRejected, Findings, Note, nul_byte
from grader.files.reading.text import Text, line_at, split_fields
from grader.files.submission.columns import ONE_NUMBER, SubmissionColumns
from grader.text import character, listed, plural, quoted

_LONGEST_HEADER = 1 << 14
OTHER_DELIMITERS = (b";", b"\t", b"|")


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of the columns, and the start of the rows.

    Attributes
    ----------
    names : list of bytes
        The fields of the header.
    places : tuple of int
        The places of the id and of each column of predictions.
    offset : int
        Byte offset of the first row, which is on line 2.
    notes : list of Note
    other_labels : tuple of str
        Columns named after other labels; they are not read.
    """

    names: list[bytes]
    places: tuple[int, ...]
    offset: int
    notes: list[Note]
    other_labels: tuple[str, ...]

    @property
    def is_standard(self) -> bool:
        """Whether rows are the id and the predictions in the expected order."""
        return self.places == tuple(range(len(self.names)))


def read_header(
    text: Text, other_labels: Sequence[str] = (), wanted: SubmissionColumns = ONE_NUMBER
) -> Layout:
    """Find the columns of the id and the predictions.

    Additional columns are allowed if their names are in `other_labels`.

    Raises
    ------
    FileRejected
        The header is wrong. Then the rows are not read.
    """
    longest = max(_LONGEST_HEADER, 2 * len(",".join(wanted.names).encode()))
    line, offset = line_at(text, text.start, longest)
    findings = Findings()
    if b"\0" in line:
        findings.add("nul_byte", 1, nul_byte, line)
    elif code := fault_of_line_above(line):
        findings.add(code, 1, describe_line_above, code, line, f"the header {wanted.header}")
    if findings:
        raise FileRejected("submission", findings.problems())
    fields = split_fields(line) or [line]
    names = [field.decode("utf-8", "backslashreplace") for field in fields]
    others = [name for name in other_labels if name not in wanted.names]
    problems = invalid_utf8(line, 1)
    distinct = set(names)
    is_right = {*wanted.names} <= distinct <= {*wanted.names, *others} and len(distinct) == len(names)
    if problems or not is_right:
        raise FileRejected("submission", problems or [_wrong_header(line, names, wanted, others)])
    places = tuple(names.index(name) for name in wanted.names)
    unread = tuple(name for name in names if name in others)
    return Layout(fields, places, offset, _notes(names, places, unread, wanted), unread)


def _notes(
    names: Sequence[str], places: Sequence[int], unread: Sequence[str], wanted: SubmissionColumns
) -> list[Note]:
    notes = []
    if list(places) != sorted(places):
        message = f"The columns were reordered by name: {quoted(','.join(names))}."
        notes.append(Note("columns_reordered", message, line=1))
    if unread:
        shown = f"{plural('column', len(unread))} {listed([quoted(name) for name in unread], most=20)}"
        verb = "was" if len(unread) == 1 else "were"
        used = "Only the predictions are" if len(places) > 2 else f"Only {quoted(wanted.names[1])} is"
        message = f"{used} scored; the {shown} {verb} not read."
        notes.append(Note("columns_not_read", message, line=1, count=len(unread)))
    return notes


def _wrong_header(
    line: bytes, names: Sequence[str], wanted: SubmissionColumns, others: Sequence[str]
) -> FileProblem:
    """Return the problem of a header with wrong names, and the likely cause."""
    missing = [name for name in wanted.names if name not in names]
    extra = [name for name in dict.fromkeys(names) if name not in wanted.names and name not in others]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    faults = [
        f"{kind} {plural('column', len(columns))} {listed([quoted(name) for name in columns])}"
        for kind, columns in (("missing", missing), ("unexpected", extra), ("repeated", repeated))
        if columns
    ]
    delimiter = next((mark for mark in OTHER_DELIMITERS if mark in line and b"," not in line), None)
    hint = ""
    if delimiter:
        code, faults = "wrong_delimiter", [f"delimiter {quoted(delimiter)} found instead of ','"]
    elif missing and [name.casefold() for name in missing] == [name.casefold() for name in extra]:
        code, hint = "wrong_header", " (case matters)"
    elif names[0] in INDEX_NAMES and extra[:1] == [names[0]]:
        code = "index_column"
        hint = ". Use to_csv(index_label='id')" if "id" in missing else ". Use to_csv(index=False)"
    elif len(missing) == len(wanted.names):
        code = "wrong_header"
    else:
        code = f"{'duplicate' if repeated else 'missing' if missing else 'unexpected'}_column"
        hint = " (a trailing comma?)" if extra == [""] and not names[-1] else ""
        if others and extra:
            allowed = listed([quoted(name) for name in others], most=20)
            hint += f"; besides '{wanted.header}', only {allowed} may be present"
    if foreign := next((char for char in "".join(extra) if not char.isascii()), None):
        hint += f" (it contains {character(foreign)})"
    shown = quoted(line)
    sentence = f"Line 1 is {shown}; expected the header '{wanted.header}': {', '.join(faults)}{hint}"
    return header_problem(code, 1, sentence, shown, wanted.header)
