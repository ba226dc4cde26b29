"""Roles of solution columns (id, label, identity, slice, unused): proposals and checks."""

import enum
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.numbers import BLANKS, number_of
from grader.files.reading.problems import Note, Problem
from grader.text import listed, quoted

MOST_MISFITS = 0.1
MISSING_WORDS = frozenset({"nan", "na", "n/a", "<na>", "null", "none", "nil", "-", "?", "."})
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
LEAST_ROWS_OF_A_SLICE = 5  # minimum average number of rows per value among the sampled rows
EXAMPLES = 3
_LONGEST_EXAMPLE = 40


@dataclass(slots=True)
class Tally:
    """Counts of a column's values inside and outside 0..1, not counting blanks.

    Attributes
    ----------
    fitting : int
        Numbers in 0..1.
    missing : int
        Words that stand for a missing value, such as ``NaN``, instead of a blank.
    misfits : int
        All other values.
    """

    fitting: int = 0
    missing: int = 0
    misfits: int = 0

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Tally":
        """Return the tally of a column's texts."""
        tally = cls()
        for text in texts:
            tally.add(text, number_of(text))
        return tally

    def add(self, text: str, value: float | None) -> None:
        """Count a text, given its parsed value: NaN for a blank, or None if it is not a number."""
        if value is not None and 0 <= value <= 1:
            self.fitting += 1
        elif value is not None and math.isnan(value):
            return
        elif text.strip(BLANKS).casefold() in MISSING_WORDS:
            self.missing += 1
        else:
            self.misfits += 1

    def add_numbers(self, values: NDArray[np.float64]) -> None:
        """Count numbers; NaN stands for a blank."""
        inside = int(np.count_nonzero((values >= 0) & (values <= 1)))
        self.fitting += inside
        self.misfits += int(np.count_nonzero(~np.isnan(values))) - inside

    @property
    def is_whole(self) -> bool:
        """Whether every value is a blank or in 0..1."""
        return not self.missing and not self.misfits

    @property
    def is_near(self) -> bool:
        """Whether nearly all values are in 0..1; the others may be mistakes."""
        few = self.misfits <= MOST_MISFITS * (self.fitting + self.misfits)
        return not self.is_whole and self.fitting > 0 and few

    @property
    def may_be_near(self) -> bool:
        """Whether all or nearly all values of a column that starts with these rows may be in 0..1."""
        return self.is_whole or (self.fitting > 0 and self.fitting >= self.misfits)


class ColumnRole(enum.StrEnum):
    """The role of a column in a solution.

    A slice divides the rows into groups, an "other label" is an additional label, and rows with the same pair
    value are variants of one text. All three are for diagnosis and do not affect the score.
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
        Trimmed values, including blanks.
    tally : Tally
        Counts of the values inside and outside 0..1.
    """

    name: str
    texts: tuple[str, ...]
    tally: Tally

    @property
    def examples(self) -> tuple[str, ...]:
        """The first distinct values, shortened, to help the organizer choose the role."""
        distinct = list(dict.fromkeys(text for text in self.texts if text))[:EXAMPLES]
        return tuple(t if len(t) <= _LONGEST_EXAMPLE else f"{t[:_LONGEST_EXAMPLE]}…" for t in distinct)


@dataclass(frozen=True, slots=True)
class ColumnGuess:
    """A column with its guessed role and some of its values."""

    name: str
    role: ColumnRole
    examples: tuple[str, ...]


def guess_roles(columns: Sequence[ColumnSample]) -> tuple[ColumnGuess, ...]:
    """Guess the role of every column from its name and first rows; columns without a name are unused.

    A column is also guessed to be an identity if nearly all values are in 0..1; its other values are reported
    when the file is read.

    Returns
    -------
    tuple of ColumnGuess
        In the order of the columns. If several columns may be the id, label, Usage or pair, only the
        likeliest one gets the role.
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
    """Return the role of a column with values in 0..1: other label (by its name), or else identity."""
    is_known = name.casefold() in OTHER_LABEL_COLUMNS | set(LABEL_COLUMNS)
    return ColumnRole.OTHER_LABEL if is_known else ColumnRole.IDENTITY


def with_named(guessed: Mapping[str, ColumnRole], named: Mapping[str, ColumnRole]) -> dict[str, ColumnRole]:
    """Return the role of each column: the named role if there is one, or else the guessed role.

    If a unique role is named for one column, another column for which it was guessed loses it.

    Returns
    -------
    dict of str to ColumnRole
        The guessed columns in their order, then the other named columns.
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
    """Return the problems of a choice of roles: unique roles that no column or several columns have."""
    problems = []
    for role in ONCE:
        columns = [name for name in names if roles.get(name) is role]
        if len(columns) > 1:
            shown = listed([quoted(name) for name in columns], most=20)
            message = f"Several columns have the role {role}: {shown}. Expected one."
            problems.append(Problem(f"several_{role}s", message, 1, (1,), len(columns), "one", shown))
        if not columns and role in NEEDED:
            shown = listed([quoted(name) for name in names], most=20)
            message = f"No column has the role {role}. Choose it from {shown}."
            problems.append(Problem(f"missing_{role}", message, 1, (1,), 1, f"one {role}", shown))
    return problems


def _named(names: Sequence[str], wanted: Sequence[str]) -> str | None:
    """Return the first wanted name that exists, compared exactly or, failing that, ignoring case."""
    alike = {name.casefold(): name for name in reversed(names)}
    exact = next((name for name in wanted if name in names), None)
    return exact or next((alike[name.casefold()] for name in wanted if name.casefold() in alike), None)


def _with_usages(columns: Sequence[ColumnSample]) -> str | None:
    """Return the first column, whatever its name, that contains both splits and hardly anything else."""
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


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A column that would have a role if it did not have a few unsuitable values.

    Attributes
    ----------
    name : str
    role : ColumnRole
        An identity or another label.
    fitting : int
        Number of values in 0..1, not counting blanks.
    problems : tuple of Problem
        Problems of the other values, with their lines.
    """

    name: str
    role: ColumnRole
    fitting: int
    problems: tuple[Problem, ...]

    @property
    def sentence(self) -> str:
        """Return a message that the column is not used, with the reason."""
        faults = " ".join(problem.message for problem in self.problems)
        article = "an" if self.role is ColumnRole.IDENTITY else "another"
        role = "identity" if self.role is ColumnRole.IDENTITY else "label"
        return f"The column {quoted(self.name)} was not used as {article} {role}. {faults}"

    @property
    def note(self) -> Note:
        """The same message as a note on the file."""
        count = sum(problem.count for problem in self.problems)
        return Note("left_out_column", self.sentence, self.problems[0].line, count)
