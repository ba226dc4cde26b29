"""Header of a solution CSV: problems and column roles."""

import csv
from codecs import BOM_UTF8
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from grader.errors import OrganizerError
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
from grader.files.solution.column_roles import (
    ID_COLUMN,
    ONCE,
    SAMPLE_ROWS,
    ColumnRole,
    ColumnSample,
    faults_of_roles,
    guess_roles,
    is_known_unused,
    with_named,
)
from grader.files.solution.columns import text_stream
from grader.text import listed, quoted

_LONGEST_HEADER = 1 << 20
UNNAMED = "(unnamed)"
_OTHER_DELIMITERS = ";\t|\uff0c"  # the last one is the full-width comma
_OF_A_SOLUTION = "a header with id, a label and identities"


class WrongColumns(OrganizerError):
    """A requested column does not exist, or one column was requested for two roles."""

    public_name = "wrong_columns"


@dataclass(frozen=True, slots=True)
class ColumnRoles:
    """The roles of a table's columns.

    Attributes
    ----------
    id : str or None
        None in a scored table without an id column.
    label : str
    identities : tuple of str
        In the requested order, or else in the order of the columns.
    usage : str or None
        The column that names the split of each row.
    unused : tuple of str
        All other columns; an unnamed column is called ``(unnamed)``.
    predictions : tuple of str
        Only in a scored table.
    other_labels, slices : tuple of str
    pair : str or None
        Kept for analyses.
    undeclared : tuple of str
        The unused columns and slices whose role was only guessed. Callers should warn about them.
    """

    id: str | None
    label: str
    identities: tuple[str, ...]
    usage: str | None
    unused: tuple[str, ...]
    predictions: tuple[str, ...] = ()
    other_labels: tuple[str, ...] = ()
    slices: tuple[str, ...] = ()
    pair: str | None = None
    undeclared: tuple[str, ...] = ()

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns that are only used in analyses."""
        return (*self.other_labels, *self.slices, *([] if self.pair is None else [self.pair]))

    def by_column(self) -> dict[str, ColumnRole]:
        """Return the role of every named column except those with predictions."""
        once = {self.id: ColumnRole.ID, self.label: ColumnRole.LABEL, self.usage: ColumnRole.USAGE}
        once |= {self.pair: ColumnRole.PAIR}
        several = {
            ColumnRole.IDENTITY: self.identities,
            ColumnRole.OTHER_LABEL: self.other_labels,
            ColumnRole.SLICE: self.slices,
            ColumnRole.UNUSED: self.unused,
        }
        roles = {name: role for name, role in once.items() if name is not None}
        return roles | {name: role for role, names in several.items() for name in names}


@dataclass(frozen=True, slots=True)
class Choice:
    """The caller's choice of columns: some names and roles (the others are guessed), or the role of each.

    A `guessed` column loses its role if a value contradicts it. If the role was chosen, such a value is a
    problem. If identities are chosen, all other columns are declared unused, except those in `named`.
    """

    label: str | None = None
    identities: Sequence[str] | None = None
    predictions: Sequence[str] = ()
    needs_id: bool = True
    roles: Mapping[str, ColumnRole] | None = None
    guessed: Collection[str] = ()
    named: Mapping[str, ColumnRole] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Assignment:
    """The columns of each role before the values are read.

    Attributes
    ----------
    id, usage, pair : str or None
    label : str
    identities : tuple of str
        The requested columns.
    candidates : tuple of str
        Columns that are identities if all their values are blank or in 0..1.
    predictions, other_labels, slices : tuple of str
    watched : tuple of str
        Guessed slices and columns without a role, which are reported if they may be identities.
    guessed_labels : tuple of str
        Columns that were guessed to be other labels.
    undeclared : tuple of str
        Columns whose role was guessed, and columns without a name.
    """

    id: str | None
    usage: str | None
    label: str
    identities: tuple[str, ...]
    candidates: tuple[str, ...]
    predictions: tuple[str, ...]
    other_labels: tuple[str, ...]
    slices: tuple[str, ...]
    pair: str | None
    watched: tuple[str, ...]
    guessed_labels: tuple[str, ...]
    undeclared: tuple[str, ...]

    def roles(self, names: Sequence[str], read: Collection[str], missed: Collection[str] = ()) -> ColumnRoles:
        """Return the roles without columns whose values turned out not to be numbers.

        Columns in `missed` are reported as near misses.
        """
        identities = self.identities
        if confirmed := {name for name in self.candidates if name in read}:
            identities = tuple(name for name in names if name in confirmed.union(self.identities))
        other_labels = tuple(name for name in self.other_labels if name in read)
        scored = {self.id, self.usage, self.label, self.pair, *identities, *self.predictions, *other_labels}
        return ColumnRoles(
            self.id,
            self.label,
            identities,
            self.usage,
            tuple(name or UNNAMED for name in names if name not in scored and name not in self.slices),
            self.predictions,
            other_labels,
            self.slices,
            self.pair,
            tuple(name or UNNAMED for name in self.undeclared if name not in scored and name not in missed),
        )


def assign(columns: Sequence[ColumnSample], choice: Choice) -> Assignment | list[FileProblem]:
    """Assign a role to every column, or return the problems that prevent it.

    Raises
    ------
    WrongColumns
        A requested name does not exist or was requested twice.
    """
    names = [column.name for column in columns]
    if choice.roles is not None:
        check_columns(names, [name for name in choice.roles if name and name != ID_COLUMN])
        return _assign_roles(names, choice.roles, choice)
    asked = [*filter(None, [choice.label]), *(choice.identities or ()), *choice.predictions]
    check_columns(names, [*asked, *(name for name in choice.named if name != ID_COLUMN)])
    guessed = {each.name: each.role for each in guess_roles(columns) if each.name}
    if choice.identities is not None:
        guessed = {name: role if role in ONCE else ColumnRole.UNUSED for name, role in guessed.items()}
    named = dict.fromkeys(choice.predictions, ColumnRole.UNUSED)
    named |= dict.fromkeys(choice.identities or (), ColumnRole.IDENTITY) | dict(choice.named)
    named |= {} if choice.label is None else {choice.label: ColumnRole.LABEL}
    roles = with_named(guessed, named)
    undeclared = guessed.keys() - named.keys() if choice.identities is None else ()
    return _assign_roles(names, roles, replace(choice, guessed=undeclared))


def _assign_roles(
    names: Sequence[str], roles: Mapping[str, ColumnRole], choice: Choice
) -> Assignment | list[FileProblem]:
    guessed = choice.guessed
    problems = duplicate_columns(names)
    for problem in faults_of_roles(names, roles, guessed):
        if problem.code == "missing_id" and choice.roles is None:
            problems += [no_id(names)] if choice.needs_id else []
        else:
            problems.append(problem)
    if problems:
        return problems
    columns = {role: tuple(name for name in names if name and roles.get(name) is role) for role in ColumnRole}
    by_guess = {role: tuple(name for name in of_role if name in guessed) for role, of_role in columns.items()}
    candidates = by_guess[ColumnRole.IDENTITY]
    in_order = choice.identities or columns[ColumnRole.IDENTITY]
    return Assignment(
        id=next(iter(columns[ColumnRole.ID]), None),
        usage=next(iter(columns[ColumnRole.USAGE]), None),
        label=columns[ColumnRole.LABEL][0],
        identities=tuple(name for name in in_order if name not in candidates),
        candidates=candidates,
        predictions=tuple(choice.predictions),
        other_labels=columns[ColumnRole.OTHER_LABEL],
        slices=columns[ColumnRole.SLICE],
        pair=next(iter(columns[ColumnRole.PAIR]), None),
        watched=tuple(
            name
            for name in by_guess[ColumnRole.SLICE] + by_guess[ColumnRole.UNUSED]
            if not is_known_unused(name)
        ),
        guessed_labels=by_guess[ColumnRole.OTHER_LABEL],
        undeclared=tuple(name for name in names if name in guessed or (guessed and not name)),
    )


def check_columns(names: Sequence[str], asked: Sequence[str]) -> None:
    """Raise WrongColumns if a requested column does not exist or was requested twice."""
    unknown = [name for name in dict.fromkeys(asked) if name not in names]
    if unknown:
        raise WrongColumns(
            f"The table has no column {listed([quoted(name) for name in unknown], most=20)}; "
            f"its columns are {listed([quoted(name) for name in names], most=60)}."
        )
    twice = [name for name in dict.fromkeys(asked) if asked.count(name) > 1 or name == ID_COLUMN]
    if twice:
        raise WrongColumns(
            f"The column {listed([quoted(name) for name in twice])} was requested for two roles; label, "
            "identities, predictions and id must be different columns."
        )


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
