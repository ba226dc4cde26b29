"""View of two submissions compared: one sentence, a dumbbell for each term and identity, the tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.charts.dumbbells import dumbbell, scale, shared_axis
from grader.models import Split
from grader.ranking.order import score_text
from grader.reports.blocks import Cell, Table, table
from grader.services.leaderboards.submission_results import IdentityRow, SplitResult
from grader.services.submissions.comparison import Choice, Side
from webapp.presentation import formats
from webapp.presentation.terms import IDENTITY_TERMS, NAMES, TERMS
from webapp.submissions.figures import signed_units

SHOWN = 10
NONE = "-"
_SPLITS = ((Split.PRIVATE, "Private rows"), (Split.PUBLIC, "Public rows"))  # first those that decide


@dataclass(frozen=True, slots=True)
class Change:
    """One AUC of both submissions as displayed; `name` is empty for a term of the score."""

    name: str
    term: str
    before: float
    after: float
    digits: int

    @property
    def value(self) -> float:
        """The difference of the displayed values."""
        return round(self.after - self.before, self.digits)

    @property
    def text(self) -> str:
        """The difference with its sign."""
        return _signed(self.after - self.before, self.digits)

    @property
    def said(self) -> str:
        """How a sentence names it."""
        return f"{self.term} of {self.name}" if self.name else self.term

    @property
    def values(self) -> str:
        """Both values, the baseline's first."""
        return f"{self.before:.{self.digits}f} to {self.after:.{self.digits}f}"


@dataclass(frozen=True, slots=True)
class Dumbbells:
    """Lines of a chart with a shared axis, the largest change first."""

    title: str
    scale: str
    lines: tuple[tuple[Change, str], ...]

    @classmethod
    def of(cls, title: str, changes: Sequence[Change]) -> "Dumbbells | None":
        """Return the chart of some changes, None without any."""
        if not changes:
            return None
        axis = shared_axis(value for each in changes for value in (each.before, each.after))
        drawn = tuple((each, dumbbell(each.before, each.after, axis)) for each in changes)
        return cls(title, scale(axis), drawn)


@dataclass(frozen=True, slots=True)
class ComparedSplit:
    """Two submissions on one split, as far as both may be seen there."""

    key: str
    name: str
    difference: str
    sentence: str
    charts: tuple[Dumbbells, ...]
    tables: tuple[Table, ...]


def label(choice: Choice) -> str:
    """Return how a sentence names a submission: `#12`, `#31 of Team 4`, `the benchmark n-grams`."""
    if choice.is_benchmark:
        return f"the benchmark {choice.name}"
    return f"#{choice.id} of {choice.team}" if choice.team else f"#{choice.id}"


def option(choice: Choice) -> str:
    """Return how the pickers name a submission: number, name, score and date."""
    score = score_text(choice.score_units) if choice.score_units is not None else "no score shown"
    return f"#{choice.id} · {choice.name} · {score} · {formats.short_moment(choice.submitted_at)}"


def compared(candidate: Side, baseline: Side) -> list[ComparedSplit]:
    """Return both on each split on which both may be seen."""
    return [
        _split(split.value, name, (candidate.choice, baseline.choice), one, other)
        for split, name in _SPLITS
        if (one := candidate.results.get(split)) and (other := baseline.results.get(split))
    ]


def _split(
    key: str, name: str, pair: tuple[Choice, Choice], one: SplitResult, other: SplitResult
) -> ComparedSplit:
    terms, identities = _term_changes(one, other), _identity_changes(one, other)
    charts = (Dumbbells.of("Terms of the score", terms), Dumbbells.of("Identities", identities))
    names = tuple(f"#{each.id}" for each in pair)
    tables = (_scores(name, names, one, other), _identities(name, names, one, other))
    return ComparedSplit(
        key=key,
        name=name,
        difference=signed_units(one.score_units - other.score_units),
        sentence=_sentence(pair, one.score_units - other.score_units, identities or terms),
        charts=tuple(filter(None, charts)),
        tables=tuple(filter(None, tables)),
    )


def _term_changes(one: SplitResult, other: SplitResult) -> list[Change]:
    return [
        Change("", term.name, other.terms[term.key], one.terms[term.key], 4)
        for term in TERMS
        if term.key in one.terms and term.key in other.terms
    ]


def _identity_changes(one: SplitResult, other: SplitResult) -> list[Change]:
    """Return the change of each AUC that both have, the largest first, rises before falls."""
    by_name = {row.name: row for row in other.identities}
    found = [
        Change(row.name, NAMES[term.key], before, after, 2)
        for row in one.identities
        if row.name in by_name
        for term in IDENTITY_TERMS
        if (after := row.cells[term.key]) is not None
        and (before := by_name[row.name].cells[term.key]) is not None
    ]
    return sorted(found, key=lambda each: (-abs(each.value), -each.value))


def _sentence(pair: tuple[Choice, Choice], units: int, changes: Sequence[Change]) -> str:
    """Return what differs most: `#12 is 0.00312 better than #10: BPSN of gay rose most (+0.02), ….`"""
    one, other = (label(each) for each in pair)
    if units:
        said = f"{one} is {score_text(abs(units))} {'better' if units > 0 else 'worse'} than {other}"
    else:
        said = f"{one} and {other} have the same score"
    said = said[:1].upper() + said[1:]
    if not changes:
        return f"{said}."
    rise, fall = max(changes, key=lambda each: each.value), min(changes, key=lambda each: each.value)
    parts = [
        f"{rise.said} rose most ({rise.text})" if rise.value > 0 else "nothing rose",
        f"{fall.said} fell most ({fall.text})" if fall.value < 0 else "nothing fell",
    ]
    return f"{said}: {', '.join(parts if units >= 0 else reversed(parts))}."


def _scores(caption: str, names: tuple[str, ...], one: SplitResult, other: SplitResult) -> Table:
    lines: list[Sequence[Cell | str]] = [
        ("Score", one.score, other.score, signed_units(one.score_units - other.score_units))
    ]
    for each in _term_changes(one, other):
        lines.append((each.term, f"{each.after:.4f}", f"{each.before:.4f}", each.text))
    return table(f"{caption}: score and terms", ("", *names, "difference"), lines)


def _identities(caption: str, names: tuple[str, ...], one: SplitResult, other: SplitResult) -> Table | None:
    by_name = {row.name: row for row in other.identities}
    lines = [_line(row, by_name[row.name]) for row in one.identities if row.name in by_name]
    if not lines:
        return None
    head = ("identity", *(len(IDENTITY_TERMS) * (*names, "difference")))
    groups = [(term.name, 3) for term in IDENTITY_TERMS]
    return table(f"{caption}: identities", head, lines, groups=groups)


def _line(one: IdentityRow, other: IdentityRow) -> list[Cell | str]:
    return [one.name, *(cell for term in IDENTITY_TERMS for cell in _cells(one, other, term.key))]


def _cells(one: IdentityRow, other: IdentityRow, key: str) -> Iterator[Cell | str]:
    mine, theirs = one.cells[key], other.cells[key]
    yield NONE if mine is None else f"{mine:.2f}"
    yield NONE if theirs is None else f"{theirs:.2f}"
    yield NONE if mine is None or theirs is None else _signed(mine - theirs, 2)


def _signed(value: float, digits: int) -> str:
    text = f"{value:+.{digits}f}"
    return f"{0:.{digits}f}" if float(text) == 0 else text
