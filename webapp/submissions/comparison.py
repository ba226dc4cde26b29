"""SubmissionComparison page for two submissions that the user may view."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from flask import flash, redirect, request, url_for
from flask.typing import ResponseReturnValue

from grader.models import Competition, OrganizerJob, Split
from grader.ranking.order import term_text
from grader.services.competitions import lookup
from grader.services.competitions.acting import Act
from grader.services.leaderboards import group_tables
from grader.services.leaderboards.submission_results import SplitResult
from grader.services.site import organizer_jobs
from grader.services.submissions import comparison as contenders
from grader.services.submissions import differences
from grader.services.submissions.comparison import ComparedSide, Contender
from grader.services.submissions.differences import Difference
from webapp.http import auth, lookups
from webapp.http.fields import Number, Sent
from webapp.presentation import formats
from webapp.presentation.terms import IDENTITY_TERMS, NAMES, terms_of
from webapp.submissions.answers import ComparisonRequest, SplitDifference, SubmissionComparison
from webapp.submissions.own_page import OWN
from webapp.submissions.pages import blueprint
from webapp.submissions.views import signed_units
from webapp.surface import Ask

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


@blueprint.get("/submissions/ticked")
@auth.login_required
def ticked(slug: str) -> ResponseReturnValue:
    """Compare the two files that were ticked in the list."""
    ids = sorted(set(request.args.getlist("tick", type=int)))
    if len(ids) == 2:
        return redirect(url_for("submissions.compare", slug=slug, candidate=ids[1], baseline=ids[0]))
    flash(f"Select two files to compare them. You selected {len(ids) or 'none'}.")
    return redirect(url_for("submissions.index", slug=slug))


class Pair(Sent):
    """The submissions to compare; by default, the newest scored one with the best of the others."""

    candidate: Number | None = None
    baseline: Number | None = None


@OWN.read("/submissions/compare", None, endpoint="compare", page="submissions/compare.html")
def compare(ask: Ask, query: Pair) -> dict[str, Any]:
    """Compare two submissions."""
    session, competition, view = ask.session, ask.competition, ask.competition_view
    viewer, now = lookups.viewer(), ask.now
    team = lookups.own_team(session, competition)
    known = contenders.choices(session, competition=competition, team=team, viewer=viewer, phase=view.phase)
    sides = [
        contenders.side(
            session,
            competition=competition,
            user=ask.user,
            submission_id=each,
            known=known,
            viewer=viewer,
            phase=view.phase,
        )
        if each is not None
        else None
        for each in _pair((query.candidate, query.baseline), known)
    ]
    candidate, baseline = sides
    job, found, can_compute = None, [], False
    if candidate and baseline and candidate.is_own and baseline.is_own:
        splits = differences.shown_splits(competition, viewer, now)
        pair = {"submission_id": candidate.choice.id, "baseline_id": baseline.choice.id}
        job = differences.find(session, competition=competition, **pair) if splits else None
        found = differences.shown(job, splits, lookup.live(competition).scale) if job else []
        can_compute = bool(splits) and job is None and candidate.choice.id != baseline.choice.id
    both = (candidate, baseline) if candidate and baseline else None
    return {
        "groups": _groups(known, [each.choice for each in sides if each]),
        "candidate": candidate,
        "baseline": baseline,
        "option": option,
        "label": label,
        "can_compute": can_compute,
        "job": job if job and organizer_jobs.is_open(job) else None,
        "splits": compared(*both, {each.split: each for each in found}) if both else [],
    }


@OWN.read("/comparisons/<int:comparison_id>", SubmissionComparison, endpoint="comparison_status")
def comparison(ask: Ask, comparison_id: int) -> SubmissionComparison:
    """Return a comparison of two submissions of the team under the live scoring version."""
    job = differences.get(ask.session, competition=ask.competition, user=ask.user, job_id=comparison_id)
    return _answer(job, ask.competition, ask.now)


@OWN.act(
    "/comparisons",
    form="compute",
    back=compare,
    done=lambda told, slug: (
        "",
        url_for("submissions.compare", slug=slug, candidate=told.submission, baseline=told.baseline),
    ),
    answers=SubmissionComparison,
)
def compare_submissions(act: Act, sent: ComparisonRequest) -> SubmissionComparison:
    """Compare two scored submissions of the team: return their comparison, or start one.

    A team can start 20 comparisons a day.
    """
    job = differences.request(
        act.session,
        competition=act.competition,
        user=act.user,
        viewer=lookups.viewer(),
        submission_id=sent.submission,
        baseline_id=sent.baseline,
        now=act.now,
    )
    return _answer(job, act.competition, act.now)


def _answer(job: OrganizerJob, competition: Competition, now: datetime) -> SubmissionComparison:
    splits = differences.shown_splits(competition, lookups.viewer(), now)
    found = differences.shown(job, splits, lookup.live(competition).scale)
    return SubmissionComparison.of(
        job,
        is_final=not organizer_jobs.is_open(job),
        submission=job.parameters["submission_id"],
        baseline=job.parameters["baseline_id"],
        differences=[SplitDifference.model_validate(each) for each in found],
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
