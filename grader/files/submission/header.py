"""Submission header: delimiter, column names, problems."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from grader.files.reading.header_faults import (
    INDEX_NAMES,
    describe_line_above,
    fault_of_line_above,
    header_problem,
    invalid_utf8,
    invisible_characters,
)
from grader.files.reading.problems import FileProblem, Findings, Note
from grader.files.reading.row_ids import INVISIBLE
from grader.files.reading.text import Text, line_at, split_fields
from grader.files.submission.columns import ID, ONE_NUMBER, SubmissionColumns
from grader.text import character, counted, listed, plural, quoted

_LONGEST_HEADER = 1 << 14
_MOST_COLUMNS = 64
_MOST_LINES_ABOVE = 20
OTHER_DELIMITERS = (b";", b"\t", b"|")
_DECIMAL_COMMA = re.compile(rb'[^,]*[;\t|][ \t]*"?[+-]?[0-9]*,[0-9]+"?[ \t]*')


def are_right(names: Sequence[str], expected: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether the columns are the expected ones and possibly other labels, each exactly once."""
    distinct = set(names)
    return {*expected} <= distinct <= {*expected, *others} and len(distinct) == len(names)


def notes_on(names: Sequence[str], expected: Sequence[str], line: int) -> list[Note]:
    """Return notes about the use of columns with correct names."""
    notes = []
    places = [names.index(name) for name in expected]
    if places != sorted(places):
        message = f"The columns were reordered by name: {quoted(','.join(names))}."
        notes.append(Note("columns_reordered", message, line=line))
    unread = [name for name in names if name not in expected]
    if unread:
        shown = f"{plural('column', len(unread))} {listed([quoted(name) for name in unread], most=20)}"
        verb = "was" if len(unread) == 1 else "were"
        used = "Only the predictions are" if len(expected) > 2 else f"Only {quoted(expected[1])} is"
        message = f"{used} scored; the {shown} {verb} not read."
        notes.append(Note("columns_not_read", message, line=line, count=len(unread)))
    return notes


def problems_of(
    names: Sequence[str], wanted: SubmissionColumns, others: Sequence[str], number: int
) -> list[FileProblem]:
    """Return all problems of the column names; the names in `others` are also allowed."""
    own = [name for name in names if name not in others]
    folded, expected = [name.casefold() for name in own], [name.casefold() for name in wanted.names]
    header = quoted(",".join(names))
    if sorted(folded) == sorted(expected) and sorted(own) != sorted(wanted.names):
        sentence = f"Line {number:,} is the header {header}; expected '{wanted.header}' (case matters)"
        return [header_problem("wrong_header", number, sentence, header, wanted.header)]
    if own[:1] == [names[0]] and own[0] in INDEX_NAMES and folded[1:] == expected:
        shown = ", ".join([names[0] or "unnamed", *names[1:]])
        sentence = (
            f"Line {number:,} has {len(names)} columns ({shown}); expected {len(names) - 1} "
            f"({', '.join(names[1:])}). Use to_csv(index=False)"
        )
        return [header_problem("index_column", number, sentence, shown, wanted.header)]
    missing = [name for name in wanted.names if name not in names]
    extra = [name for name in dict.fromkeys(own) if name not in wanted.names]
    if len(missing) == len(wanted.names) >= len(names):
        sentence = f"Line {number:,} is {header}{_foreign(names)}; expected the header '{wanted.header}'"
        return [header_problem("wrong_header", number, sentence, header, wanted.header)]
    problems = list(_duplicates(names, wanted, number))
    if len(missing) == len(extra) == 1:
        return [*problems, _wrong_column(names, extra[0], missing[0], wanted, number)]
    if missing:
        shown = plural("column", len(missing)) + " " + listed([quoted(name) for name in missing])
        sentence = (
            f"Line {number:,} is {header}{_foreign(names)}: missing {shown}; expected '{wanted.header}'"
        )
        problems.append(header_problem("missing_column", number, sentence, header, wanted.header))
    if extra:
        problems.append(_unexpected(names, extra, wanted, others, number))
    return problems


def _duplicates(names: Sequence[str], wanted: SubmissionColumns, number: int) -> Iterator[FileProblem]:
    for name in dict.fromkeys(names):
        count = names.count(name)
        if name and count > 1:
            times = "twice" if count == 2 else f"{count} times"
            sentence = f"Line {number:,}: column {quoted(name)} appears {times}"
            yield header_problem("duplicate_column", number, sentence, quoted(",".join(names)), wanted.header)


def _wrong_column(
    names: Sequence[str], name: str, expected: str, wanted: SubmissionColumns, number: int
) -> FileProblem:
    shown = f"the column {quoted(name)}{_foreign([name])}" if name else "a column without a name"
    is_index = expected == ID and name == names[0] and name in INDEX_NAMES
    hint = f". Use to_csv(index_label='{ID}')" if is_index else ""
    sentence = f"Line {number:,}: found {shown}; expected '{expected}'{hint}"
    return header_problem("wrong_column", number, sentence, quoted(name), wanted.header)


def _unexpected(
    names: Sequence[str], extra: Sequence[str], wanted: SubmissionColumns, others: Sequence[str], number: int
) -> FileProblem:
    shown = listed([quoted(name) if name else "(unnamed)" for name in extra])
    unexpected = f"unexpected {plural('column', len(extra))} {shown}"
    if names[-1] == "" and list(extra) == [""]:
        unexpected += " (a trailing comma?)"
    width = counted(len(names), "column")
    sentence = f"Line {number:,} has {width}, expected {len(wanted.names)}: {unexpected}"
    if others:
        allowed = listed([quoted(name) for name in others], most=20)
        sentence = (
            f"Line {number:,} has {width}: {unexpected}; besides '{wanted.header}', only {allowed} may be "
            "present"
        )
    return header_problem("unexpected_column", number, sentence, shown, wanted.header)


def _foreign(names: Sequence[str]) -> str:
    """Name the first non-ASCII character, which may look exactly like the expected one."""
    foreign = next((char for char in "".join(names) if not char.isascii()), None)
    return f" (it contains {character(foreign)})" if foreign else ""


@dataclass(frozen=True, slots=True)
class Layout:
    """The format of the rows below the header.

    Attributes
    ----------
    delimiter : bytes
    width : int
        Number of fields of a row.
    id_column : int
    prediction_columns : tuple of (int or None)
        For each column of predictions, its place; None if no column of the file can be meant.
    first_line, offset : int
        Line number and byte offset of the first row.
    names : list of bytes
        The fields of the header, to recognize repetitions; empty if there is no header.
    decimal_comma : bool
        Whether predictions are written like ``0,5``, which has already been reported.
    """

    delimiter: bytes
    width: int
    id_column: int
    prediction_columns: tuple[int | None, ...]
    first_line: int
    offset: int
    names: list[bytes]
    decimal_comma: bool = False

    @property
    def is_standard(self) -> bool:
        """Whether rows are the id and the predictions in the expected order."""
        places = (self.id_column, *self.prediction_columns)
        return self.delimiter == b"," and places == tuple(range(self.width))


@dataclass(frozen=True, slots=True)
class Header:
    """The parsed header.

    Attributes
    ----------
    layout : Layout or None
        None if rows cannot be read.
    problems : list of FileProblem
    notes : list of Note
    other_labels : tuple of str
        Columns named after other labels; they are not read.
    """

    layout: Layout | None
    problems: list[FileProblem]
    notes: list[Note]
    other_labels: tuple[str, ...] = ()


def read_header(
    text: Text, other_labels: Sequence[str] = (), wanted: SubmissionColumns = ONE_NUMBER
) -> Header:
    """Find the columns of the id and the predictions; if they are wrong, guess the intended ones.

    Thanks to the guess, problems of the rows can be reported together with those of the header. Additional
    columns are allowed if their names are in `other_labels`.
    """
    above = Findings()
    longest = max(_LONGEST_HEADER, 2 * len(",".join(wanted.names).encode()))
    number, start, line, end = _header_line(text, above, wanted.header, longest)
    problems = above.problems()
    delimiter = _delimiter(line, wanted)
    fields = split_fields(line, delimiter)
    most = max(_MOST_COLUMNS, 2 * len(wanted.names))
    is_one_field = isinstance(fields, list) and len(fields) == 1 and delimiter in fields[0]
    if not isinstance(fields, list) or len(fields) > most or is_one_field or b"\0" in line:
        return Header(None, [*problems, _unusable(number, line, fields, wanted.header, longest)], [])
    names = [field.decode("utf-8", "backslashreplace") for field in fields]
    if end - start <= longest:
        problems += invalid_utf8(line, number)
    problems += invisible_characters(names, number, wanted.header)
    names = [INVISIBLE.sub("", name) for name in names]
    in_order = tuple(range(1, len(wanted.names)))
    layout = Layout(delimiter, len(names), 0, in_order, number + 1, end, fields)
    if delimiter != b",":
        following, _ = line_at(text, end, longest)
        layout = replace(layout, decimal_comma=bool(_DECIMAL_COMMA.fullmatch(following)))
        problems.append(_wrong_delimiter(number, layout))
    if len(fields) == len(wanted.names) and _are_values(fields[1:], wanted):
        problems.append(_missing_header(number, line, wanted.header))
        return Header(replace(layout, first_line=number, offset=start, names=[]), problems, [])
    others = [name for name in dict.fromkeys(other_labels) if name not in wanted.names]
    return _with_columns(layout, names, wanted, others, number, problems)


def _are_values(fields: Sequence[bytes], wanted: SubmissionColumns) -> bool:
    """Return whether all fields can be predictions instead of names."""
    return all(
        column.is_possible(field) and field != column.name.encode()
        for column, field in zip(wanted.columns, fields, strict=True)
    )


def _header_line(text: Text, above: Findings, expected: str, longest: int) -> tuple[int, int, bytes, int]:
    """Skip the lines above the header; return the header's line number, start, content and end."""
    offset = text.start
    for number in range(1, _MOST_LINES_ABOVE + 2):
        start = offset
        line, offset = line_at(text, start, longest)
        code = fault_of_line_above(line)
        if code is None or offset >= text.end:
            break
        above.add(code, number, describe_line_above, code, line, f"the header {expected}")
    return number, start, line, offset


def _delimiter(line: bytes, wanted: SubmissionColumns) -> bytes:
    if b"," in line:
        return b","
    if line.lower().split(b" ") == [name.lower().encode() for name in wanted.names]:
        return b" "
    most = max(OTHER_DELIMITERS, key=line.count)
    return most if most in line else b","


def _with_columns(
    layout: Layout,
    names: list[str],
    wanted: SubmissionColumns,
    others: list[str],
    number: int,
    problems: list[FileProblem],
) -> Header:
    if are_right(names, wanted.names, others):
        id_column, *places = [names.index(name) for name in wanted.names]
        layout = replace(layout, id_column=id_column, prediction_columns=tuple(places))
        unread = tuple(name for name in names if name in others)
        return Header(layout, problems, notes_on(names, wanted.names, number), unread)
    problems = problems + problems_of(names, wanted, others, number)
    folded = [name.casefold() for name in names]
    if len(names) == 1 and ID not in folded:
        return Header(None, problems, [])
    id_column = folded.index(ID) if ID in folded else 0
    columns = _prediction_columns(folded, id_column, wanted)
    return Header(replace(layout, id_column=id_column, prediction_columns=columns), problems, [])


def _prediction_columns(
    folded: list[str], id_column: int, wanted: SubmissionColumns
) -> tuple[int | None, ...]:
    """Return the place of each column of predictions; a single unknown one replaces a single missing one."""
    expected = [column.name.casefold() for column in wanted.columns]
    unknown = [place for place, name in enumerate(folded) if place != id_column and name not in expected]
    missing = [name for name in expected if name not in folded]
    guess = unknown[0] if len(unknown) == len(missing) == 1 else None
    return tuple(folded.index(name) if name in folded else guess for name in expected)


def _wrong_delimiter(number: int, layout: Layout) -> FileProblem:
    shown = quoted(layout.delimiter)
    sentence = f"Line {number:,}: delimiter {shown} found; expected ','"
    if layout.decimal_comma:
        sentence = f"Line {number:,}: delimiter {shown} and decimal comma found; expected ',' and '.'"
    return header_problem("wrong_delimiter", number, sentence, shown, "','")


def _missing_header(number: int, line: bytes, header: str) -> FileProblem:
    sentence = f"Line {number:,} is {quoted(line)}; expected the header '{header}'"
    return header_problem("missing_header", number, sentence, quoted(line), header)


def _unusable(number: int, line: bytes, fields: object, header: str, longest: int) -> FileProblem:
    if b"\0" in line:
        line_text = f"a NUL byte in {quoted(line)}"
    elif not isinstance(fields, list):
        line_text = f"stray quotes in {quoted(line)}"
    elif len(fields) == 1:
        line_text = f"quotes around the whole line {quoted(fields[0])}"
    else:
        line_text = counted(len(fields), "column", at_least=len(line) >= longest - 1)
    sentence = f"Line {number:,} has {line_text}; expected the header '{header}'"
    return header_problem("wrong_header", number, sentence, line_text, header)
