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
from grader.files.reading.numbers import NUMBER
from grader.files.reading.problems import FileProblem, Findings, Note
from grader.files.reading.row_ids import INVISIBLE
from grader.files.reading.text import Text, line_at, split_fields
from grader.text import character, counted, listed, plural, quoted

ID, PREDICTION = "id", "prediction"
HEADER = f"{ID},{PREDICTION}"
_LONGEST_HEADER = 1 << 14
_MOST_COLUMNS = 64
_MOST_LINES_ABOVE = 20
OTHER_DELIMITERS = (b";", b"\t", b"|")
_DECIMAL_COMMA = re.compile(rb'[^,]*[;\t|][ \t]*"?[+-]?[0-9]*,[0-9]+"?[ \t]*')


def are_right(names: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether the columns are id, prediction and possibly other labels, each exactly once."""
    distinct = set(names)
    return {ID, PREDICTION} <= distinct <= {ID, PREDICTION, *others} and len(distinct) == len(names)


def notes_on(names: Sequence[str], line: int) -> list[Note]:
    """Return notes about the use of columns with correct names."""
    notes = []
    if names.index(PREDICTION) < names.index(ID):
        message = f"The columns were reordered by name: {quoted(','.join(names))}."
        notes.append(Note("columns_reordered", message, line=line))
    unread = [name for name in names if name not in (ID, PREDICTION)]
    if unread:
        shown = f"{plural('column', len(unread))} {listed([quoted(name) for name in unread], most=20)}"
        verb = "was" if len(unread) == 1 else "were"
        message = f"Only {quoted(PREDICTION)} is scored; the {shown} {verb} not read."
        notes.append(Note("columns_not_read", message, line=line, count=len(unread)))
    return notes


def problems_of(names: Sequence[str], others: Sequence[str], number: int) -> list[FileProblem]:
    """Return all problems of the column names; the names in `others` are also allowed."""
    own = [name for name in names if name not in others]
    folded = [name.casefold() for name in own]
    header = quoted(",".join(names))
    if sorted(folded) == sorted([ID, PREDICTION]) and sorted(own) != sorted([ID, PREDICTION]):
        sentence = f"Line {number:,} is the header {header}; expected '{HEADER}' (case matters)"
        return [_problem("wrong_header", number, sentence, header)]
    if own[:1] == [names[0]] and own[0] in INDEX_NAMES and folded[1:] == [ID, PREDICTION]:
        shown = ", ".join([names[0] or "unnamed", *names[1:]])
        sentence = (
            f"Line {number:,} has {len(names)} columns ({shown}); expected {len(names) - 1} "
            f"({', '.join(names[1:])}). Use to_csv(index=False)"
        )
        return [_problem("index_column", number, sentence, shown)]
    missing = [name for name in (ID, PREDICTION) if name not in names]
    extra = [name for name in dict.fromkeys(own) if name not in (ID, PREDICTION)]
    if len(missing) == 2 and len(names) <= 2:
        sentence = f"Line {number:,} is {header}{_foreign(names)}; expected the header '{HEADER}'"
        return [_problem("wrong_header", number, sentence, header)]
    problems = list(_duplicates(names, number))
    if len(missing) == len(extra) == 1:
        return [*problems, _wrong_column(names, extra[0], missing[0], number)]
    if missing:
        shown = plural("column", len(missing)) + " " + listed([quoted(name) for name in missing])
        sentence = f"Line {number:,} is {header}{_foreign(names)}: missing {shown}; expected '{HEADER}'"
        problems.append(_problem("missing_column", number, sentence, header))
    if extra:
        problems.append(_unexpected(names, extra, others, number))
    return problems


def _duplicates(names: Sequence[str], number: int) -> Iterator[FileProblem]:
    for name in dict.fromkeys(names):
        count = names.count(name)
        if name and count > 1:
            times = "twice" if count == 2 else f"{count} times"
            sentence = f"Line {number:,}: column {quoted(name)} appears {times}"
            yield _problem("duplicate_column", number, sentence, quoted(",".join(names)))


def _wrong_column(names: Sequence[str], name: str, expected: str, number: int) -> FileProblem:
    shown = f"the column {quoted(name)}{_foreign([name])}" if name else "a column without a name"
    is_index = expected == ID and name == names[0] and name in INDEX_NAMES
    hint = f". Use to_csv(index_label='{ID}')" if is_index else ""
    sentence = f"Line {number:,}: found {shown}; expected '{expected}'{hint}"
    return _problem("wrong_column", number, sentence, quoted(name))


def _unexpected(
    names: Sequence[str], extra: Sequence[str], others: Sequence[str], number: int
) -> FileProblem:
    shown = listed([quoted(name) if name else "(unnamed)" for name in extra])
    unexpected = f"unexpected {plural('column', len(extra))} {shown}"
    if names[-1] == "" and list(extra) == [""]:
        unexpected += " (a trailing comma?)"
    width = counted(len(names), "column")
    sentence = f"Line {number:,} has {width}, expected 2: {unexpected}"
    if others:
        allowed = listed([quoted(name) for name in others], most=20)
        sentence = (
            f"Line {number:,} has {width}: {unexpected}; besides '{HEADER}', only {allowed} may be present"
        )
    return _problem("unexpected_column", number, sentence, shown)


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
    prediction_column : int or None
        None if no column can be the prediction.
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
    prediction_column: int | None
    first_line: int
    offset: int
    names: list[bytes]
    decimal_comma: bool = False

    @property
    def is_standard(self) -> bool:
        """Whether rows are ``id,prediction``."""
        columns = (self.delimiter, self.width, self.id_column, self.prediction_column)
        return columns == (b",", 2, 0, 1)


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


def read_header(text: Text, other_labels: Sequence[str] = ()) -> Header:
    """Find the columns ``id`` and ``prediction``; if they are wrong, guess the intended ones.

    Thanks to the guess, problems of the rows can be reported together with those of the header. Additional
    columns are allowed if their names are in `other_labels`.
    """
    above = Findings()
    number, start, line, end = _header_line(text, above)
    problems = above.problems()
    delimiter = _delimiter(line)
    fields = split_fields(line, delimiter)
    is_one_field = isinstance(fields, list) and len(fields) == 1 and delimiter in fields[0]
    if not isinstance(fields, list) or len(fields) > _MOST_COLUMNS or is_one_field or b"\0" in line:
        return Header(None, [*problems, _unusable(number, line, fields)], [])
    names = [field.decode("utf-8", "backslashreplace") for field in fields]
    if end - start <= _LONGEST_HEADER:
        problems += invalid_utf8(line, number)
    problems += invisible_characters(names, number, HEADER)
    names = [INVISIBLE.sub("", name) for name in names]
    layout = Layout(delimiter, len(names), 0, 1, number + 1, end, fields)
    if delimiter != b",":
        following, _ = line_at(text, end, _LONGEST_HEADER)
        layout = replace(layout, decimal_comma=bool(_DECIMAL_COMMA.fullmatch(following)))
        problems.append(_wrong_delimiter(number, layout))
    if len(fields) == 2 and NUMBER.fullmatch(fields[1].replace(b",", b".")):
        problems.append(_missing_header(number, line))
        return Header(replace(layout, first_line=number, offset=start, names=[]), problems, [])
    others = [name for name in dict.fromkeys(other_labels) if name not in (ID, PREDICTION)]
    return _with_columns(layout, names, others, number, problems)


def _header_line(text: Text, above: Findings) -> tuple[int, int, bytes, int]:
    """Skip the lines above the header; return the header's line number, start, content and end."""
    offset = text.start
    for number in range(1, _MOST_LINES_ABOVE + 2):
        start = offset
        line, offset = line_at(text, start, _LONGEST_HEADER)
        code = fault_of_line_above(line)
        if code is None or offset >= text.end:
            break
        above.add(code, number, describe_line_above, code, line, f"the header {HEADER}")
    return number, start, line, offset


def _delimiter(line: bytes) -> bytes:
    if b"," in line:
        return b","
    if line.lower().split(b" ") == [ID.encode(), PREDICTION.encode()]:
        return b" "
    most = max(OTHER_DELIMITERS, key=line.count)
    return most if most in line else b","


def _with_columns(
    layout: Layout, names: list[str], others: list[str], number: int, problems: list[FileProblem]
) -> Header:
    if are_right(names, others):
        layout = replace(layout, id_column=names.index(ID), prediction_column=names.index(PREDICTION))
        unread = tuple(name for name in names if name in others)
        return Header(layout, problems, notes_on(names, number), unread)
    problems = problems + problems_of(names, others, number)
    folded = [name.casefold() for name in names]
    if len(names) == 1 and ID not in folded:
        return Header(None, problems, [])
    id_column = folded.index(ID) if ID in folded else 0
    prediction_column = _prediction_column(folded, id_column)
    layout = replace(layout, id_column=id_column, prediction_column=prediction_column)
    return Header(layout, problems, [])


def _prediction_column(folded: list[str], id_column: int) -> int | None:
    if PREDICTION in folded:
        return folded.index(PREDICTION)
    others = [column for column in range(len(folded)) if column != id_column]
    return others[0] if len(others) == 1 else None


def _wrong_delimiter(number: int, layout: Layout) -> FileProblem:
    shown = quoted(layout.delimiter)
    sentence = f"Line {number:,}: delimiter {shown} found; expected ','"
    if layout.decimal_comma:
        sentence = f"Line {number:,}: delimiter {shown} and decimal comma found; expected ',' and '.'"
    return _problem("wrong_delimiter", number, sentence, shown, "','")


def _missing_header(number: int, line: bytes) -> FileProblem:
    sentence = f"Line {number:,} is {quoted(line)}; expected the header '{HEADER}'"
    return _problem("missing_header", number, sentence, quoted(line))


def _unusable(number: int, line: bytes, fields: object) -> FileProblem:
    if b"\0" in line:
        line_text = f"a NUL byte in {quoted(line)}"
    elif not isinstance(fields, list):
        line_text = f"stray quotes in {quoted(line)}"
    elif len(fields) == 1:
        line_text = f"quotes around the whole line {quoted(fields[0])}"
    else:
        line_text = counted(len(fields), "column", at_least=len(line) >= _LONGEST_HEADER - 1)
    sentence = f"Line {number:,} has {line_text}; expected the header '{HEADER}'"
    return _problem("wrong_header", number, sentence, line_text)


def _problem(code: str, line: int, sentence: str, found: str, expected: str = HEADER) -> FileProblem:
    return header_problem(code, line, sentence, found, expected)
