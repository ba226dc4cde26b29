"""SubmissionComparison page for two submissions that the user may view."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from flask import Response, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Competition, OrganizerJob, Split
from grader.ranking.order import term_text
from grader.services.competitions import lookup
from grader.services.leaderboards import group_tables
from grader.services.leaderboards.submission_results import SplitResult
from grader.services.site import organizer_jobs
from grader.services.submissions import comparison, differences
from grader.services.submissions.comparison import ComparedSide, Contender
from grader.services.submissions.differences import Difference
from grader.visibility import Phase
from webapp.competitions.views import CompetitionView
from webapp.http import auth, lookups
from webapp.http.context import competition_of, reading, writing
from webapp.http.parameters import asked_number, whole_number
from webapp.http.responses import polled
from webapp.presentation import formats
from webapp.presentation.terms import IDENTITY_TERMS, NAMES, terms_of
from webapp.submissions.pages import blueprint
from webapp.submissions.views import signed_units

# The split that decides the final ranks comes first.
_SPLITS = ((Split.PRIVATE, "Private rows"), (Split.PUBLIC, "Public rows"))


class ComparisonTable(NamedTuple):
    """A table of texts."""

    caption: str
    head: Sequence[str]
    lines: Sequence[Sequence[str]]


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

    @property
    def value(self) -> float:
        """The difference between the displayed values."""
        return round(self.after - self.before, self.digits)

    @property
    def text(self) -> str:
        """The difference with its sign."""
        return _signed(self.after - self.before, self.digits)


@dataclass(frozen=True, slots=True)
class ComparedSplit:
    """Two submissions on a split where both are visible."""

    key: str
    name: str
    difference: str
    sentence: str
    table: ComparisonTable


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
    candidate: ComparedSide, baseline: ComparedSide, found: Mapping[Split, Difference]
) -> list[ComparedSplit]:
    """Compare two submissions on each split where both are visible, with the computed differences."""
    return [
        _split(split, name, (candidate.choice, baseline.choice), one, other, found.get(split))
        for split, name in _SPLITS
        if (one := candidate.results.get(split)) and (other := baseline.results.get(split))
    ]


def _split(
    split: Split,
    name: str,
    pair: tuple[Contender, Contender],
    one: SplitResult,
    other: SplitResult,
    found: Difference | None,
) -> ComparedSplit:
    terms, identities = _term_changes(one, other), _identity_changes(one, other)
    difference = signed_units(one.score_units - other.score_units, one.scale)
    names = tuple(f"#{each.id}" for each in pair)
    return ComparedSplit(
        key=split.value,
        name=name,
        difference=difference,
        sentence=_sentence(pair, one, other, found),
        table=_table(name, names, (one.score, other.score, difference), terms, identities),
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
            digits=one.about.decimals_of_terms,
            contribution=before[key] - cost[key] if cost else None,
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
        AucChange(each.name, table.column, before, each.score, digits)
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
    found: Difference | None,
) -> str:
    """Describe the difference of the scores, with its standard error if it has been computed."""
    names, units = [label(each) for each in pair], one.score_units - other.score_units
    if not units:
        return f"{formats.capitalized(names[0])} and {names[1]} have the same score."
    difference = one.scale.size_text(units)
    if one.scale.shown_decimals is not None:
        relation = f"{difference} {'higher' if one.scale.value(units) > 0 else 'lower'}"
        return f"The displayed score of {names[0]} is {relation} than that of {names[1]}."
    said = f"{names[0]} is {difference} {'better' if units > 0 else 'worse'} than {names[1]}"
    if found is not None:
        verdict = "more than chance explains" if found.is_clear else "within chance"
        said += f", ± {found.standard_error} on the same rows: {verdict} (95 % margin: {found.margin})"
    return f"{formats.capitalized(said)}."


def _table(
    caption: str,
    names: tuple[str, ...],
    scores: Sequence[str],
    terms: Sequence[AucChange],
    identities: Sequence[AucChange],
) -> ComparisonTable:
    """Return the scores, the terms and the values of identities or groups, with their differences."""
    is_sum = all(each.contribution is not None for each in terms)
    lines: list[Sequence[str]] = [("Score", *scores, *([scores[2]] if is_sum else []))]
    for each in (*terms, *identities):
        values = term_text(each.after, each.digits), term_text(each.before, each.digits), each.text
        share = "" if each.contribution is None else _signed(each.contribution, 5)
        lines.append((f"{each.name} {each.term}".strip(), *values, *([share] if is_sum else [])))
    head = ("", *names, "difference", *(["of the score"] if is_sum else []))
    return ComparisonTable(caption, head, lines)


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
        job, found, can_compute = None, [], False
        if candidate and baseline and candidate.is_own and baseline.is_own:
            splits = differences.shown_splits(competition, lookups.viewer(), db.now(session))
            pair = {"submission_id": candidate.choice.id, "baseline_id": baseline.choice.id}
            job = differences.find(session, competition=competition, **pair) if splits else None
            found = differences.shown(job, splits, lookup.live(competition).scale) if job else []
            can_compute = bool(splits) and job is None and candidate.choice.id != baseline.choice.id
    return render_template(
        "submissions/compare.html",
        competition=view,
        groups=_groups(known, [each.choice for each in sides if each]),
        candidate=candidate,
        baseline=baseline,
        option=option,
        label=label,
        can_compute=can_compute,
        job=job if job and organizer_jobs.is_open(job) else None,
        etag=_status(job).headers["ETag"] if job else "",
        splits=compared(candidate, baseline, {each.split: each for each in found})
        if candidate and baseline
        else [],
    )


@blueprint.post("/submissions/compare")
@auth.login_required
def compute(slug: str) -> ResponseReturnValue:
    """Start to compute the difference between two submissions of the user's team."""
    asked = (whole_number(request.form.get(name, "")) for name in ("candidate", "baseline"))
    candidate, baseline = (each or 0 for each in asked)
    with writing() as session:
        differences.request(
            session,
            competition=competition_of(session, slug),
            user=g.user,
            viewer=lookups.viewer(),
            submission_id=candidate,
            baseline_id=baseline,
        )
    address = url_for("submissions.compare", slug=slug, candidate=candidate, baseline=baseline)
    return redirect(address, 303)


@blueprint.get("/submissions/comparisons/<int:job_id>/status")
@auth.login_required
def comparison_status(slug: str, job_id: int) -> ResponseReturnValue:
    """Return the state of a comparison as JSON, for the page that polls it."""
    with reading() as session:
        competition = competition_of(session, slug)
        job = differences.get(session, competition=competition, user=g.user, job_id=job_id)
        return _status(job).make_conditional(request)


def _status(job: OrganizerJob) -> Response:
    return polled({"is_final": not organizer_jobs.is_open(job), "state": job.state.value})


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
