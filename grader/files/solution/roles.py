"""Roles of solution columns: proposed by name and first values, chosen by organizers, and checked."""

import enum
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from grader.errors import OrganizerError
from grader.files.reading.numbers import BLANKS, number_of
from grader.files.reading.problems import FileProblem
from grader.files.solution.columns import USAGE_CODES
from grader.text import listed, quoted

_WORDS = {
    name: frozenset(" ".join(lines).split())
    for name, lines in tomllib.loads(files(__package__).joinpath("names.toml").read_text("utf-8")).items()
}
OTHER_LABEL_COLUMNS, KNOWN_IDENTITIES, KNOWN_UNUSED = (
    _WORDS[name] for name in ("other_labels", "identities", "unused")
)
ID_COLUMN, USAGE_COLUMN, UNNAMED = "id", "Usage", "(unnamed)"
LABEL_COLUMNS = ("target", "label", "toxicity")
PAIR_COLUMNS = ("counterfactual_id", "pair", "pair_id", "template", "template_id")
_PREDICTIONS = re.compile(
    r"(?:models?|preds?|predictions?|predicted|prob|probs|proba|scores?|logits?|y_?hat)(?:_|\b)"
)
_AN_ID = re.compile(r"(?:[_ -][iI][dD]|[a-z0-9]I[dD])$")
MOST_STRAYS = 0.1
MOST_SLICE_VALUES = 20
LEAST_ROWS_OF_A_SLICE = 5  # minimum average number of rows per value among the sampled rows
SAMPLE_ROWS = 1000
EXAMPLES = 3
_LONGEST_EXAMPLE = 40


class WrongColumns(OrganizerError):
    """A requested column does not exist, or one column was requested for two roles."""

    public_name = "wrong_columns"


class ColumnRole(enum.StrEnum):
    """The role of a column in a solution.

    A slice divides the rows into groups, an "other label" is an additional label, and rows with the same pair
    value are variants of one text. With the bias metric, all three are only for analyses.
    """

    ID = "id"
    LABEL = "label"
    IDENTITY = "identity"
    USAGE = "usage"
    SLICE = "slice"
    OTHER_LABEL = "other label"
    PAIR = "pair"
    UNUSED = "unused"


ONCE = (ColumnRole.ID, ColumnRole.LABEL, ColumnRole.USAGE, ColumnRole.PAIR)
NEEDED = (ColumnRole.ID, ColumnRole.LABEL)


@dataclass(frozen=True, slots=True)
class ColumnGuess:
    """A column with its proposed role and some of its values.

    `is_explained` is false if neither the name nor the values explain the role, so that someone must choose
    it.
    """

    name: str
    role: ColumnRole
    examples: tuple[str, ...]
    is_explained: bool = True


@dataclass(frozen=True, slots=True)
class ColumnRoles:
    """The roles of a table's columns.

    `by_column` contains the role of every column except those with predictions; an unnamed column is called
    ``(unnamed)``. Identities are in the requested order, or else in the order of the columns.
    """

    by_column: Mapping[str, ColumnRole]

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        roles: Mapping[str, ColumnRole],
        *,
        identities: Sequence[str] = (),
        predictions: Sequence[str] = (),
    ) -> "ColumnRoles":
        """Return the roles of the columns with these names; those without a role are unused."""
        ordered = [name for name in dict.fromkeys((*identities, *names)) if name not in predictions]
        return cls({name or UNNAMED: roles.get(name, ColumnRole.UNUSED) for name in ordered})

    def having(self, role: ColumnRole) -> tuple[str, ...]:
        """Return the columns with a role."""
        return tuple(name for name, each in self.by_column.items() if each is role)

    def _first(self, role: ColumnRole) -> str | None:
        return next(iter(self.having(role)), None)

    @property
    def id(self) -> str | None:
        """The column with the ids; None in a scored table without one."""
        return self._first(ColumnRole.ID)

    @property
    def label(self) -> str:
        """The first column with true values."""
        return self._first(ColumnRole.LABEL) or ""

    @property
    def identities(self) -> tuple[str, ...]:
        """The columns with annotations of identities."""
        return self.having(ColumnRole.IDENTITY)

    @property
    def usage(self) -> str | None:
        """The column that names the split of each row."""
        return self._first(ColumnRole.USAGE)


def proposed_roles(names: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[ColumnGuess, ...]:
    """Propose the role of every column from its name and its values in the first rows.

    A column with the name of an identity, or with only numbers in 0..1 and blanks, is an identity, unless
    its values are continuous, such as predictions. Columns without a name are unused.

    Returns
    -------
    tuple of ColumnGuess
        In the order of the columns. If several columns may be the id, label, Usage or pair, only the
        likeliest one gets the role.
    """
    whole = [row for row in rows if len(row) == len(names)]
    columns = [[row[place].strip(BLANKS) for row in whole] for place in range(len(names))]
    once = {
        column_called(names, (ID_COLUMN,)) or _with_ids(names, columns): ColumnRole.ID,
        column_called(names, (USAGE_COLUMN,)) or _with_usages(names, columns): ColumnRole.USAGE,
        column_called(names, LABEL_COLUMNS): ColumnRole.LABEL,
        column_called(names, PAIR_COLUMNS): ColumnRole.PAIR,
    }
    return tuple(
        ColumnGuess(name, once[name], _examples(texts)) if name in once else _guess(name, texts)
        for name, texts in zip(names, columns, strict=True)
    )


def role_of_fractions(name: str) -> ColumnRole:
    """Return the role of a column with values in 0..1: other label (by its name), or else identity."""
    is_known = name.casefold() in OTHER_LABEL_COLUMNS | set(LABEL_COLUMNS)
    return ColumnRole.OTHER_LABEL if is_known else ColumnRole.IDENTITY


def with_named(guessed: Mapping[str, ColumnRole], named: Mapping[str, ColumnRole]) -> dict[str, ColumnRole]:
    """Return the role of each column: the named role if there is one, or else the proposed role.

    If a unique role is named for one column, another column for which it was proposed loses it.

    Returns
    -------
    dict of str to ColumnRole
        The proposed columns in their order, then the other named columns.
    """
    taken = {role for role in named.values() if role in ONCE}
    kept = {
        name: (role_of_fractions(name) if role is ColumnRole.LABEL else ColumnRole.UNUSED)
        if role in taken
        else role
        for name, role in guessed.items()
    }
    return kept | dict(named)


def undecided(guesses: Sequence[ColumnGuess], named: Collection[str]) -> list[FileProblem]:
    """Return the problem for columns whose role is unclear, or nothing."""
    names = [each.name for each in guesses if not each.is_explained and each.name not in named]
    if not names:
        return []
    return [FileProblem.of("undecided_columns", lines=[1], count=len(names), names=_shown(names))]


def faults_of_roles(
    names: Sequence[str], roles: Mapping[str, ColumnRole], guessed: Collection[str] = ()
) -> list[FileProblem]:
    """Return the problems of chosen roles: unique roles with no column or with several columns.

    If the label or Usage was only proposed, no other column may have a name for it.
    """
    problems = []
    called = {ColumnRole.LABEL: LABEL_COLUMNS, ColumnRole.USAGE: (USAGE_COLUMN.casefold(),)}
    for role in ONCE:
        columns = [name for name in names if roles.get(name) is role]
        alike = [name for name in names if name in guessed and name.casefold() in called.get(role, ())]
        columns = columns if set(columns).isdisjoint(alike) else alike
        if len(columns) > 1:
            problem = FileProblem.of(
                f"several_{role}s",
                like="several_roles",
                lines=[1],
                count=len(columns),
                role=role,
                names=_shown(columns),
            )
            problems.append(problem)
        if not columns and role in NEEDED:
            code, shown = f"missing_{role}", _shown(names)
            problems.append(FileProblem.of(code, like="missing_role", lines=[1], role=role, names=shown))
    return problems


def check_columns(names: Sequence[str], asked: Sequence[str]) -> None:
    """Raise WrongColumns if a requested column does not exist or was requested twice."""
    unknown = [name for name in dict.fromkeys(asked) if name not in names]
    if unknown:
        raise WrongColumns(
            f"The table has no column {_shown(unknown)}; its columns are {_shown(names, most=60)}."
        )
    twice = [name for name in dict.fromkeys(asked) if asked.count(name) > 1]
    if twice:
        raise WrongColumns(
            f"The column {_shown(twice)} was requested for two roles; label, identities, predictions and id "
            "must be different columns."
        )


def _shown(names: Sequence[str], most: int = 20) -> str:
    return listed([quoted(name) for name in names], most=most)


def column_called(names: Sequence[str], wanted: Sequence[str]) -> str | None:
    """Return the first wanted name that exists, compared exactly or, failing that, ignoring case."""
    alike = {name.casefold(): name for name in reversed(names)}
    exact = next((name for name in wanted if name in names), None)
    return exact or next((alike[name.casefold()] for name in wanted if name.casefold() in alike), None)


def _with_ids(names: Sequence[str], columns: Sequence[Sequence[str]]) -> str | None:
    """Return the only column that is called an id and has another value in each row, such as PassengerId."""
    id_columns = [
        name
        for name, column in zip(names, columns, strict=True)
        if _AN_ID.search(name) and name not in PAIR_COLUMNS and len({*column, ""}) == len(column) + 1
    ]
    return id_columns[0] if len(id_columns) == 1 else None


def _with_usages(names: Sequence[str], columns: Sequence[Sequence[str]]) -> str | None:
    """Return the first column, whatever its name, that contains both splits and hardly anything else."""
    for name, column in zip(names, columns, strict=True):
        texts = [text.casefold() for text in column if text]
        strays = sum(text not in USAGE_CODES for text in texts)
        if name and {"public", "private"} <= set(texts) and strays <= MOST_STRAYS * len(texts):
            return name
    return None


def _guess(name: str, texts: Sequence[str]) -> ColumnGuess:
    examples, values = _examples(texts), [text for text in texts if text]
    folded = name.casefold()
    if not name or folded in KNOWN_UNUSED or _PREDICTIONS.match(folded):
        return ColumnGuess(name, ColumnRole.UNUSED, examples)
    if not values and len(texts) < SAMPLE_ROWS:  # otherwise, values may follow
        return ColumnGuess(name, ColumnRole.UNUSED, examples)
    numbers = [number_of(text) for text in values]
    role = role_of_fractions(name)
    are_fractions = all(number is not None and 0 <= number <= 1 for number in numbers)
    if folded in KNOWN_IDENTITIES or (role is ColumnRole.OTHER_LABEL and are_fractions):
        return ColumnGuess(name, role, examples)
    if are_fractions and not _is_continuous([number for number in numbers if number is not None]):
        return ColumnGuess(name, role, examples)
    distinct = len(set(values))
    is_slice = 2 <= distinct <= MOST_SLICE_VALUES and len(texts) >= LEAST_ROWS_OF_A_SLICE * distinct
    is_slice = is_slice and not are_fractions
    role = ColumnRole.SLICE if is_slice else ColumnRole.UNUSED
    return ColumnGuess(name, role, examples, is_explained=False)


def _is_continuous(values: Sequence[float]) -> bool:
    """Return whether numbers in 0..1 are continuous, such as predictions.

    Most of them are neither 0 nor 1, and most or very many of these are distinct.
    """
    between = np.array([value for value in values if 0 < value < 1])
    distinct = np.unique(between).size
    are_many = distinct > MOST_SLICE_VALUES or 2 * distinct > max(between.size, 2 * EXAMPLES)
    return 2 * between.size > len(values) and are_many


def _examples(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the first distinct values, shortened, to help the organizer choose the role."""
    distinct = list(dict.fromkeys(text for text in texts if text))[:EXAMPLES]
    shown = (text.replace("\0", "").encode("utf-8", "replace").decode() for text in distinct)
    return tuple(t if len(t) <= _LONGEST_EXAMPLE else f"{t[:_LONGEST_EXAMPLE]}…" for t in shown)
