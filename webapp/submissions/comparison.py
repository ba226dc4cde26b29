"""Comparison page for two submissions that the user may view."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import g, render_template
from flask.typing import ResponseReturnValue

from grader import db
from grader.charts.pictures import dumbbell, scale, shared_axis
from grader.metrics.interface import Direction
from grader.models import Competition, Split
from grader.ranking.order import TERM_DECIMALS, error_text, term_text
from grader.reports.blocks import Cell, Table, table
from grader.services.competitions import lookup
from grader.services.leaderboards import group_tables, paired_differences
from grader.services.leaderboards.paired_differences import ChangeResult
from grader.services.leaderboards.submission_results import IdentityRow, SplitResult
from grader.services.submissions import comparison
from grader.services.submissions.comparison import ComparedSide, Contender
from grader.visibility import Phase, visible_fields
from webapp.competitions.views import CompetitionView
from webapp.http import auth, lookups
from webapp.http.context import competition_of, reading
from webapp.http.parameters import asked_number
from webapp.presentation import formats
from webapp.presentation.terms import IDENTITY_TERMS, NAMES, terms_of
from webapp.submissions.pages import blueprint
from webapp.submissions.views import signed_units

SHOWN = 10
NONE = "-"
# The split that decides the final ranks comes first.
_SPLITS = ((Split.PRIVATE, "Private rows"), (Split.PUBLIC, "Public rows"))


@dataclass(frozen=True, slots=True)
class AucChange:
    """A term, or a value of an identity or group, as displayed; `name` is empty for a term of the score.

    `contribution` is the term's part of the score difference, if the score is their sum.
    """

    name: str
    term: str
    before: float
    after: float
    digits: int
    contribution: float | None = None
    direction: Direction = Direction.HIGHEST

    @property
    def value(self) -> float:
        """The difference between the displayed values."""
        return round(self.after - self.before, self.digits)

    @property
    def text(self) -> str:
        """The difference with its sign."""
        return _signed(self.after - self.before, self.digits)

    @property
    def share(self) -> str:
        """The term's part of the score difference."""
        return "" if self.contribution is None else f"{_signed(self.contribution, 5)} of the score"

    @property
    def css(self) -> str:
        """The CSS class of an improvement, a deterioration or neither."""
        gain = -self.value if self.direction is Direction.LOWEST else self.value
        return "up" if gain > 0 else "down" if gain < 0 else "quiet"

    @property
    def values(self) -> str:
        """Both values, the baseline's first."""
        return f"{term_text(self.before, self.digits)} to {term_text(self.after, self.digits)}"


@dataclass(frozen=True, slots=True)
class Dumbbells:
    """A dumbbell chart with a shared axis, largest change first."""

    title: str
    scale: str
    lines: tuple[tuple[AucChange, str], ...]

    @classmethod
    def of(cls, title: str, changes: Sequence[AucChange]) -> "Dumbbells | None":
        """Return the chart of the changes, or None if there are none."""
        if not changes:
            return None
        axis = shared_axis(value for each in changes for value in (each.before, each.after))
        drawn = tuple(
            (each, dumbbell(each.before, each.after, axis, is_lowest_best=each.direction is Direction.LOWEST))
            for each in changes
        )
        return cls(title, scale(axis), drawn)


@dataclass(frozen=True, slots=True)
class ComparedSplit:
    """Two submissions on a split where both are visible."""

    key: str
    name: str
    difference: str
    sentence: str
    charts: tuple[Dumbbells, ...]
    tables: tuple[Table, ...]


def label(choice: Contender) -> str:
    """Return a submission's name in a sentence: `#12`, `#31 of Team 4`, `the benchmark n-grams`."""
    if choice.is_benchmark:
        return f"the benchmark {choice.name}"
    return f"#{choice.id} of {choice.team}" if choice.team else f"#{choice.id}"


def option(choice: Contender) -> str:
    """Return the name of a submission in a select menu: number, name, score and date."""
    score = choice.score or "no score shown"
    return f"#{choice.id} · {choice.name} · {score} · {formats.short_moment(choice.submitted_at)}"


def compared(
    candidate: ComparedSide, baseline: ComparedSide, stored: Mapping[Split, ChangeResult | None]
) -> list[ComparedSplit]:
    """Compare two submissions on each split where both are visible, with the stored paired differences."""
    return [
        _split(split, name, (candidate.choice, baseline.choice), one, other, stored.get(split))
        for split, name in _SPLITS
        if (one := candidate.results.get(split)) and (other := baseline.results.get(split))
    ]


def _split(
    split: Split,
    name: str,
    pair: tuple[Contender, Contender],
    one: SplitResult,
    other: SplitResult,
    stored: ChangeResult | None,
) -> ComparedSplit:
    terms, identities = _term_changes(one, other), _identity_changes(one, other)
    parts = "Groups" if one.groups else "Identities"
    difference = signed_units(one.score_units - other.score_units, one.scale)
    # Reported terms have other units, so they are only in the table.
    reported = {each.heading for each in one.about.terms if each.is_reported}
    own = [each for each in terms if each.term not in reported]
    charts = (Dumbbells.of("Terms of the score", own), Dumbbells.of(parts, identities))
    names = tuple(f"#{each.id}" for each in pair)
    tables = (
        _scores(name, names, (one.score, other.score, difference), terms),
        _identities(name, names, one, other),
    )
    return ComparedSplit(
        key=split.value,
        name=name,
        difference=difference,
        sentence=_sentence(pair, one, other, terms, stored),
        charts=tuple(filter(None, charts)),
        tables=tuple(filter(None, tables)),
    )


def _term_changes(one: SplitResult, other: SplitResult) -> list[AucChange]:
    """Return the change in each term, ordered by contribution to the score difference."""
    cost, before = ({each.term: each.cost for each in side.costs} for side in (one, other))
    terms = {term.key: term for term in terms_of(one.about)}
    changes = [
        AucChange(
            name="",
            term=terms[key].name,
            before=other.terms[key],
            after=one.terms[key],
            digits=TERM_DECIMALS if one.metric else one.about.decimals,
            contribution=before[key] - cost[key] if cost else None,
            direction=terms[key].direction,
        )
        for key in cost or one.terms
        if key in other.terms
    ]
    return sorted(changes, key=lambda each: -abs(each.contribution or 0.0))


def _identity_changes(one: SplitResult, other: SplitResult) -> list[AucChange]:
    """Return the change in each AUC that both have: increases before decreases, each largest first.

    For other metrics, return the change in each group, in the order of the tables.
    """
    groups = {(table.column, each.name): each.score for table in other.groups for each in table.groups}
    by_name = {row.name: row for row in other.identities}
    changes = [
        AucChange(row.name, NAMES[term.key], before, after, 2)
        for row in one.identities
        if row.name in by_name
        for term in IDENTITY_TERMS
        if (after := row.cells[term.key]) is not None
        and (before := by_name[row.name].cells[term.key]) is not None
    ] + [
        AucChange(each.name, table.column, before, each.score, digits, direction=one.about.direction)
        for table in one.groups
        for each in table.groups
        if (before := groups.get((table.column, each.name))) is not None
        for digits in [max(map(group_tables.decimals, (before, each.score)))]
    ]
    return sorted(changes, key=lambda each: (-abs(each.value), -each.value))


def _sentence(
    pair: tuple[Contender, Contender],
    one: SplitResult,
    other: SplitResult,
    terms: Sequence[AucChange],
    stored: ChangeResult | None,
) -> str:
    """Describe the difference, with its standard error and the term that contributes most."""
    names, units = [label(each) for each in pair], one.score_units - other.score_units
    if not units:
        return f"{formats.capitalized(names[0])} and {names[1]} have the same score."
    difference = one.scale.size_text(units)
    if one.scale.shown_decimals is not None:
        relation = f"{difference} {'higher' if one.scale.value(units) > 0 else 'lower'}"
        return f"The displayed score of {names[0]} is {relation} than that of {names[1]}."
    said = f"{names[0]} is {difference} {'better' if units > 0 else 'worse'} than {names[1]}"
    errors = [each.errors["score"] for each in (one, other) if "score" in each.errors]
    if stored is not None:
        said += f", ± {stored.standard_error} in a paired test: {stored.verdict}"
        if stored.is_clear and terms and terms[0].contribution:
            said += f". Largest contribution: {terms[0].term} {terms[0].text} ({terms[0].share})"
    elif len(errors) == 2:
        said += ". The standard errors of the two scores are " + " and ".join(map(error_text, errors))
    return f"{formats.capitalized(said)}."


def _scores(caption: str, names: tuple[str, ...], scores: Sequence[str], terms: Sequence[AucChange]) -> Table:
    is_sum = all(each.contribution is not None for each in terms)
    lines: list[Sequence[Cell | str]] = [("Score", *scores, *([scores[2]] if is_sum else []))]
    for each in terms:
        values = term_text(each.after, each.digits), term_text(each.before, each.digits), each.text
        share = [_signed(each.contribution, 5)] if each.contribution is not None else []
        lines.append((each.term, *values, *share))
    head = ("", *names, "difference", *(["of the score"] if is_sum else []))
    return table(f"{caption}: score and terms", head, lines)


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
    text = term_text(value, digits)
    return f"{0:.{digits}f}" if float(text) == 0 else f"{'+' if value > 0 else ''}{text}"


@blueprint.get("/submissions/compare")
@auth.login_required
def compare(slug: str) -> ResponseReturnValue:
    """Compare two submissions; by default, the newest scored one with the best of the others."""
    ids = [asked_number(name) for name in ("candidate", "baseline")]
    with reading() as session:
        competition = competition_of(session, slug)
        view = CompetitionView(competition, db.now(session))
        known = comparison.choices(
            session,
            competition=competition,
            team=lookups.own_team(session, competition),
            viewer=lookups.viewer(),
            phase=view.phase,
        )
        sides = [
            _side(session, competition, view.phase, known, each) if each is not None else None
            for each in _pair(ids, known)
        ]
        candidate, baseline = sides
        stored = {
            split: paired_differences.of_pair(
                session,
                [candidate.choice.id, baseline.choice.id],
                version=lookup.live(competition),
                allowed=visible_fields(lookups.viewer(), view.phase, competition.feedback),
                split=split,
            )
            for split in Split
            if candidate and baseline
        }
    return render_template(
        "submissions/compare.html",
        competition=view,
        groups=_groups(known, [each.choice for each in sides if each]),
        candidate=candidate,
        baseline=baseline,
        option=option,
        label=label,
        splits=compared(candidate, baseline, stored) if candidate and baseline else [],
    )


def _side(
    session: Any, competition: Competition, phase: Phase, known: Sequence[Contender], submission_id: int
) -> ComparedSide:
    return comparison.side(
        session,
        competition=competition,
        user=g.user,
        submission_id=submission_id,
        known=known,
        viewer=lookups.viewer(),
        phase=phase,
    )


def _pair(ids: Sequence[int | None], known: Sequence[Contender]) -> list[int | None]:
    """Return the ids to compare; by default, those of the user's newest file and best other file."""
    candidate, baseline = ids
    own = [each for each in known if not each.team]
    if candidate is None:
        candidate = next((each.id for each in own if each.id != baseline), None)
    if baseline is None:
        others = [each for each in own if each.id != candidate] or [
            each for each in known if each.id != candidate
        ]
        baseline = max(others, key=_merit).id if others else None
    return [candidate, baseline]


def _merit(choice: Contender) -> tuple[int, int]:
    """Return a sort key, greater for better scores and, among equal scores, for earlier submissions."""
    return (-1 if choice.score_units is None else choice.score_units), -choice.id


def _groups(known: Sequence[Contender], picked: Sequence[Contender]) -> list[tuple[str, list[Contender]]]:
    """Return the options of the select menus, in groups; they include the selected submissions."""
    ids = {each.id for each in known}
    everything = [*known, *{each.id: each for each in picked if each.id not in ids}.values()]
    groups = (
        ("Your submissions", [each for each in everything if not each.team]),
        ("Benchmarks", [each for each in everything if each.is_benchmark]),
        ("Other teams", [each for each in everything if each.team and not each.is_benchmark]),
    )
    return [(name, members) for name, members in groups if members]
