"""Roles of solution columns (id, label, identity, slice, unused): proposals and checks."""

import enum
import math
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.numbers import number_of
from grader.files.reading.problems import FileProblem, Note
from grader.text import counted, listed, quoted

MOST_MISFITS = 0.1
_WORDS = {
    name: frozenset(" ".join(lines).split())
    for name, lines in tomllib.loads(files(__package__).joinpath("names.toml").read_text("utf-8")).items()
}
MISSING_WORDS, YES_NO = _WORDS["missing"], _WORDS["yes_no"]
OTHER_LABEL_COLUMNS, KNOWN_IDENTITIES, KNOWN_UNUSED = (
    _WORDS[name] for name in ("other_labels", "identities", "unused")
)
_CODED = re.compile(r"[0-9]+(?:[.,][0-9]+)?\s*%|[0-9]*,[0-9]+")
LARGEST_CODE = 100  # of counts, percentages and codes such as 1 and 2
LEAST_ZEROS = 0.05
_MOST_CODES = 3
ID_COLUMN = "id"
USAGE_COLUMN = "Usage"
LABEL_COLUMNS = ("target", "label", "toxicity")
_PREDICTIONS = re.compile(
    r"(?:models?|preds?|predictions?|predicted|prob|probs|proba|scores?|logits?|y_?hat)(?:_|\b)"
)
PAIR_COLUMNS = frozenset({"pair", "pair_id", "template", "template_id", "counterfactual_id"})
USAGES = frozenset({"public", "private", "ignored"})
MOST_SLICE_VALUES = 20
LEAST_ROWS_OF_A_SLICE = 5  # minimum average number of rows per value among the sampled rows
SAMPLE_ROWS = 1000
EXAMPLES = 3
_LONGEST_EXAMPLE = 40


@dataclass(slots=True)
class ColumnTally:
    """Counts of a column's values, not counting blanks.

    `fitting` are numbers in 0..1, of which some are `zeros`; `missing` are words such as ``NaN``; `coded` are
    percentages and words for yes and no; `outside` are numbers from `low` to `high`, with the first `codes`;
    `misfits` are all others. `is_known` is set for names of identities.
    """

    is_known: bool = False
    fitting: int = 0
    zeros: int = 0
    missing: int = 0
    coded: int = 0
    outside: int = 0
    codes: set[float] = field(default_factory=set)
    low: float = math.inf
    high: float = -math.inf
    misfits: int = 0

    @classmethod
    def of(cls, texts: Iterable[str], *, is_known: bool = False) -> "ColumnTally":
        """Return the tally of a column's texts."""
        tally = cls(is_known)
        for text in texts:
            tally.add(text, number_of(text))
        return tally

    def add(self, text: str, value: float | None) -> None:
        """Count a text, given its parsed value: NaN for a blank, or None if it is not a number."""
        if value is not None and 0 <= value <= 1:
            self.fitting += 1
            self.zeros += value == 0
        elif value is not None and math.isnan(value):
            return
        elif value is not None:
            self.outside += 1
            self.low, self.high = min(self.low, value), max(self.high, value)
            if len(self.codes) < _MOST_CODES:
                self.codes.add(value)
        elif (word := text.strip().casefold()) in MISSING_WORDS:
            self.missing += 1
        elif is_coded(word):
            self.coded += 1
        else:
            self.misfits += 1

    def add_numbers(self, values: NDArray[np.float64]) -> None:
        """Count numbers; NaN stands for a blank."""
        is_inside = (values >= 0) & (values <= 1)
        self.fitting += int(np.count_nonzero(is_inside))
        self.zeros += int(np.count_nonzero(values == 0))
        outside = values[~is_inside & ~np.isnan(values)]
        if outside.size:
            self.outside += outside.size
            self.low, self.high = min(self.low, outside.min()), max(self.high, outside.max())
            self.codes.update(np.unique(outside)[:_MOST_CODES].tolist())

    @property
    def is_empty(self) -> bool:
        """Whether every value is a blank."""
        return self.is_whole and not self.fitting

    @property
    def is_whole(self) -> bool:
        """Whether every value is a blank or in 0..1."""
        return not (self.missing or self.coded or self.outside or self.misfits)

    @property
    def is_near(self) -> bool:
        """Whether nearly all values are in 0..1 or code such values; the column may be an identity."""
        few = MOST_MISFITS * (self.fitting + self.coded + self.outside + self.misfits)
        is_like = self.misfits + self.outside <= few or (self.misfits <= few and self._are_codes)
        is_like = is_like and self.fitting + self.coded + self.outside > 0
        return not self.is_whole and (self.is_known or is_like)

    @property
    def may_be_near(self) -> bool:
        """Whether all or nearly all values of a column that starts with these rows may be in 0..1."""
        strange = self.misfits + self.outside
        return self.is_whole or self.is_near or not strange or 0 < strange <= self.fitting + self.coded

    @property
    def _are_codes(self) -> bool:
        """Whether the numbers outside 0..1 are counts, percentages, or codes such as -1, 1 and 2."""
        if not self.outside or self.low < -LARGEST_CODE or self.high > LARGEST_CODE:
            return False
        are_few = len(self.codes) == 2 or (len(self.codes) == 1 and self.fitting > 0)
        return are_few or (self.low > 0 and self.zeros >= LEAST_ZEROS * (self.fitting + self.outside))


def is_coded(word: str) -> bool:
    """Return whether a trimmed word in lower case means yes or no, or is a percentage or has a comma."""
    return word in YES_NO or _CODED.fullmatch(word) is not None


def is_continuous(values: NDArray[np.float64]) -> bool:
    """Return whether a column in 0..1 is continuous, such as predictions, judged by its first values.

    Most of its values are neither 0 nor 1, and most or very many of these are distinct.
    """
    known = values[~np.isnan(values)][:SAMPLE_ROWS]
    between = known[(known > 0) & (known < 1)]
    distinct = np.unique(between).size
    are_many = distinct > MOST_SLICE_VALUES or 2 * distinct > max(between.size, 2 * EXAMPLES)
    return 2 * between.size > known.size and are_many


class ColumnRole(enum.StrEnum):
    """The role of a column in a solution.

    A slice divides the rows into groups, an "other label" is an additional label, and rows with the same pair
    value are variants of one text. All three are for analyses and do not affect the score.
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
    tally: ColumnTally

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

    A column is also guessed to be an identity if nearly all values are in 0..1 or code such values, such as
    yes and no. These values are reported when the file is read. Empty and continuous columns are unused.

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


def is_known_unused(name: str) -> bool:
    """Return whether a name excludes a label or an identity: Jigsaw's other columns, and predictions."""
    return name.casefold() in KNOWN_UNUSED or _PREDICTIONS.match(name.casefold()) is not None


def may_be_guessed(name: str, values: NDArray[np.float64]) -> bool:
    """Return whether a column with numbers in 0..1 may be guessed to be an identity or another label."""
    return role_of_fractions(name) is ColumnRole.OTHER_LABEL or (
        name.casefold() in KNOWN_IDENTITIES or not is_continuous(values)
    )


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


def faults_of_roles(
    names: Sequence[str], roles: Mapping[str, ColumnRole], guessed: Collection[str] = ()
) -> list[FileProblem]:
    """Return the problems of a choice of roles: unique roles that no column or several columns have.

    If the label or Usage was only guessed, no other column may have a name for it.
    """
    problems = []
    called = {ColumnRole.LABEL: LABEL_COLUMNS, ColumnRole.USAGE: (USAGE_COLUMN.casefold(),)}
    for role in ONCE:
        columns = [name for name in names if roles.get(name) is role]
        alike = [name for name in names if name in guessed and name.casefold() in called.get(role, ())]
        columns = columns if set(columns).isdisjoint(alike) else alike
        if len(columns) > 1:
            shown = listed([quoted(name) for name in columns], most=20)
            message = f"Several columns may have the role {role}: {shown}. Choose one."
            problems.append(FileProblem(f"several_{role}s", message, 1, (1,), len(columns), "one", shown))
        if not columns and role in NEEDED:
            shown = listed([quoted(name) for name in names], most=20)
            message = f"No column has the role {role}. Choose it from {shown}."
            problems.append(FileProblem(f"missing_{role}", message, 1, (1,), 1, f"one {role}", shown))
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
    if not column.name or is_known_unused(column.name):
        return ColumnRole.UNUSED
    if column.tally.is_empty and len(column.texts) < SAMPLE_ROWS:  # otherwise, values may follow
        return ColumnRole.UNUSED
    if column.tally.is_whole or column.tally.is_near:
        numbers = [number for number in map(number_of, column.texts) if number is not None]
        is_guessed = may_be_guessed(column.name, np.array(numbers, np.float64))
        return role_of_fractions(column.name) if is_guessed else ColumnRole.UNUSED
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
    problems : tuple of FileProblem
        Problems of the other values, with their lines.
    """

    name: str
    role: ColumnRole
    fitting: int
    problems: tuple[FileProblem, ...]

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


def unused_note(names: Sequence[str]) -> Note:
    """Return the note that columns are not in the score although no one gave them such a role."""
    shown = listed([quoted(name) for name in names], most=20)
    advice = "Give identities and the label their role, and the other columns the role unused or slice."
    return Note(
        "unused_columns",
        f"{counted(len(names), 'column')} not in the score: {shown}. {advice}",
        1,
        len(names),
    )
