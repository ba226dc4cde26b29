"""Guess each solution column's role (id, label, identity, slice, unused), and check an organizer's choice."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.files.reading.problems import Problem
from grader.files.solution.tally import MOST_MISFITS, Tally
from grader.text.wording import listed, quoted

ID_COLUMN = "id"
USAGE_COLUMN = "Usage"
LABEL_COLUMNS = ("target", "label", "toxicity")
OTHER_LABEL_COLUMNS = frozenset(
    {
        "severe_toxicity",
        "severe_toxic",
        "obscene",
        "identity_attack",
        "identity_hate",
        "insult",
        "threat",
        "sexual_explicit",
    }
)
PAIR_COLUMNS = frozenset({"pair", "pair_id", "template", "template_id", "counterfactual_id"})
USAGES = frozenset({"public", "private", "ignored"})
MOST_SLICE_VALUES = 20
LEAST_ROWS_OF_A_SLICE = 5  # on average, in the rows that the guess looks at
EXAMPLES = 3
_LONGEST_EXAMPLE = 40


class ColumnRole(enum.StrEnum):
    """What a column of a solution is.

    A slice divides the rows into groups and an other label is a second truth, both for later diagnosis; rows
    of one pair are variants of one text. They enter no score.
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
class ColumnSample:
    """The first rows of a column.

    Attributes
    ----------
    name : str
    texts : tuple of str
        Trimmed, blanks included.
    tally : Tally
        How many of them are numbers in 0..1.
    """

    name: str
    texts: tuple[str, ...]
    tally: Tally

    @property
    def examples(self) -> tuple[str, ...]:
        """The first different values, shortened, for somebody who chooses the role."""
        distinct = list(dict.fromkeys(text for text in self.texts if text))[:EXAMPLES]
        return tuple(t if len(t) <= _LONGEST_EXAMPLE else f"{t[:_LONGEST_EXAMPLE]}…" for t in distinct)


@dataclass(frozen=True, slots=True)
class ColumnGuess:
    """A column with the role that was guessed, and some of its values."""

    name: str
    role: ColumnRole
    examples: tuple[str, ...]


def guess_roles(columns: Sequence[ColumnSample]) -> tuple[ColumnGuess, ...]:
    """Guess the role of every column from its name and its first rows; an unnamed one is unused.

    Nearly all values in 0..1 make an identity as all of them do: reading tells what is wrong with the others.

    Parameters
    ----------
    columns : sequence of ColumnSample

    Returns
    -------
    tuple of ColumnGuess
        In the order of the columns. Of several columns that may be the id, the label, the Usage or the pair
        the likeliest one is.
    """
    names = [column.name for column in columns]
    once = {
        _named(names, (ID_COLUMN,)): ColumnRole.ID,
        _named(names, (USAGE_COLUMN,)) or _with_usages(columns): ColumnRole.USAGE,
        _named(names, LABEL_COLUMNS): ColumnRole.LABEL,
        _named(names, sorted(PAIR_COLUMNS)): ColumnRole.PAIR,
    }
    return tuple(
        ColumnGuess(column.name, once.get(column.name) or _guessed(column), column.examples)
        for column in columns
    )


def role_of_fractions(name: str) -> ColumnRole:
    """Return the role of a column whose values are in 0..1: another label by its name, else an identity."""
    is_known = name.casefold() in OTHER_LABEL_COLUMNS | set(LABEL_COLUMNS)
    return ColumnRole.OTHER_LABEL if is_known else ColumnRole.IDENTITY


def with_named(guessed: Mapping[str, ColumnRole], named: Mapping[str, ColumnRole]) -> dict[str, ColumnRole]:
    """Return the role of each column: as named, else as guessed.

    Where a column is named for a role that only one has, what was guessed for it gives way.

    Parameters
    ----------
    guessed, named : mapping of str to ColumnRole

    Returns
    -------
    dict of str to ColumnRole
        The guessed columns in their order, then the others that are named.
    """
    taken = {role for role in named.values() if role in ONCE}
    kept = {
        name: (role_of_fractions(name) if role is ColumnRole.LABEL else ColumnRole.UNUSED)
        if role in taken
        else role
        for name, role in guessed.items()
    }
    return kept | dict(named)


def faults_of_roles(names: Sequence[str], roles: Mapping[str, ColumnRole]) -> list[Problem]:
    """Return what is wrong with a choice of roles: none or several columns where there is to be one."""
    problems = []
    for role in ONCE:
        columns = [name for name in names if roles.get(name) is role]
        if len(columns) > 1:
            shown = listed([quoted(name) for name in columns], most=20)
            message = f"Several columns have the role {role}: {shown}. Expected one."
            problems.append(Problem(f"several_{role}s", message, 1, (1,), len(columns), "one", shown))
        if not columns and role in NEEDED:
            shown = listed([quoted(name) for name in names], most=20)
            message = f"No column has the role {role}: choose it among {shown}."
            problems.append(Problem(f"missing_{role}", message, 1, (1,), 1, f"one {role}", shown))
    return problems


def _named(names: Sequence[str], wanted: Sequence[str]) -> str | None:
    """Return the first of the wanted names that is there, in any case if not exactly."""
    alike = {name.casefold(): name for name in reversed(names)}
    exact = next((name for name in wanted if name in names), None)
    return exact or next((alike[name.casefold()] for name in wanted if name.casefold() in alike), None)


def _with_usages(columns: Sequence[ColumnSample]) -> str | None:
    """Return the first column that holds both splits, and hardly anything else, under another name."""
    for column in columns:
        texts = [text.casefold() for text in column.texts if text]
        strays = sum(text not in USAGES for text in texts)
        if column.name and {"public", "private"} <= set(texts) and strays <= MOST_MISFITS * len(texts):
            return column.name
    return None


def _guessed(column: ColumnSample) -> ColumnRole:
    if not column.name:
        return ColumnRole.UNUSED
    if column.tally.is_whole or column.tally.is_near:
        return role_of_fractions(column.name)
    distinct = set(filter(None, column.texts))
    few = 2 <= len(distinct) <= MOST_SLICE_VALUES
    return ColumnRole.SLICE if few and _are_repeated(column.texts, distinct) else ColumnRole.UNUSED


def _are_repeated(texts: Sequence[str], distinct: set[str]) -> bool:
    return len(texts) >= LEAST_ROWS_OF_A_SLICE * len(distinct)
