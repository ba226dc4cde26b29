"""Comparison of two submissions that the user may view (page and API)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from flask import url_for

from grader.models import Competition, OrganizerJob, Split, Submission
from grader.ranking.order import term_text
from grader.services.competitions import lookup
from grader.services.competitions.acting import Act
from grader.services.leaderboards import group_tables
from grader.services.leaderboards.submission_results import SplitResult
from grader.services.submissions import comparison as comparisons
from grader.services.submissions.comparison import Contender, Difference
from webapp.http import lookups
from webapp.http.fields import Number, Sent
from webapp.presentation.formats import column_name, number
from webapp.presentation.terms import IDENTITY_TERMS
from webapp.submissions.api_models import ComparisonRequest, SplitDifference, SubmissionComparison
from webapp.submissions.submission_list import OWN
from webapp.submissions.terms_and_waterfall import SHORT
from webapp.surface import Ask


class Pair(Sent):
    """The submissions to compare; by default, the two newest scored ones."""

    candidate: Number | None = None
    baseline: Number | None = None


def compared(
    candidate: Contender, baseline: Contender, differences: Mapping[Split, Difference]
) -> list[dict[str, Any]]:
    """Return the differences on each split where both are visible, with the computed standard errors."""
    shown = []
    for split in (Split.PRIVATE, Split.PUBLIC):  # the split that decides the final ranks comes first
        one, other = candidate.results.get(split), baseline.results.get(split)
        if one is None or other is None:
            continue
        difference = one.scale.signed_text(one.scale.difference(one.score_units, other.score_units))
        lines = [("Score", number(one.score), number(other.score), number(difference)), *_lines(one, other)]
        shown.append(
            {"split": split, "difference": difference, "error": differences.get(split), "lines": lines}
        )
    return shown


def _lines(one: SplitResult, other: SplitResult) -> list[tuple[str, ...]]:
    """Return the terms, then the values of identities or groups, the largest differences first."""
    digits = one.about.decimals_of_terms
    terms = [
        (term.short_title, one.terms[term.name], other.terms[term.name], digits)
        for term in one.about.terms
        if term.name in one.terms and term.name in other.terms
    ]
    before = _values(other)
    values = [
        (name, value, before[name][0], max(decimals, before[name][1]))
        for name, (value, decimals) in _values(one).items()
        if name in before
    ]
    values.sort(key=lambda each: -abs(round(each[1] - each[2], each[3])))
    return [
        (
            name,
            number(term_text(after, digits), SHORT),
            number(term_text(before, digits), SHORT),
            number(_signed(after - before, digits), SHORT),
        )
        for name, after, before, digits in (*terms, *values)
    ]


def _values(result: SplitResult) -> dict[str, tuple[float, int]]:
    """Return the displayed values of identities or groups, with their decimals."""
    of_identities = {
        f"{column_name(row.name)} {term.short_title}": (value, 2)
        for row in result.identities
        for term in IDENTITY_TERMS
        if (value := row.cells[term.name]) is not None
    }
    return of_identities | {
        f"{each.name} {column_name(table.column)}": (each.score, group_tables.decimals(each.score))
        for table in result.groups
        for each in table.groups
    }


def _signed(value: float, digits: int) -> str:
    text = term_text(value, digits)
    return f"{0:.{digits}f}" if float(text) == 0 else f"{'+' if value > 0 else ''}{text}"


@OWN.read("/submissions/compare", None, endpoint="compare", page="submissions/compare.html")
def compare(ask: Ask, query: Pair) -> dict[str, Any]:
    """Compare two submissions."""
    session, competition, phase = ask.session, ask.competition, ask.competition_view.phase
    viewer, team = lookups.viewer(), lookups.own_team(session, competition)
    own, benchmarks = comparisons.choices(
        session, competition=competition, team=team, viewer=viewer, phase=phase
    )
    candidate, baseline = chosen = [
        each
        and comparisons.find(
            session, competition=competition, user=ask.user, submission_id=each, viewer=viewer, phase=phase
        )
        for each in _pair(query, [*own, *benchmarks])
    ]
    job, differences, can_compute = None, [], False
    if candidate and baseline and candidate.is_own and baseline.is_own:
        splits = comparisons.shown_splits(competition, viewer, ask.now)
        pair = {"submission_id": candidate.submission.id, "baseline_id": baseline.submission.id}
        job = comparisons.find_job(session, competition=competition, **pair) if splits else None
        differences = comparisons.differences(job, splits, lookup.live(competition).scale) if job else []
        can_compute = bool(splits) and job is None and candidate.submission.id != baseline.submission.id
    return {
        "groups": {
            "Your submissions": own,
            "Benchmarks": benchmarks,
            "Other teams": [
                each.submission for each in chosen if each and each.submission not in (*own, *benchmarks)
            ],
        },
        "candidate": candidate,
        "baseline": baseline,
        "can_compute": can_compute,
        "job": job if job and not job.is_final else None,
        "splits": compared(candidate, baseline, {each.split: each for each in differences})
        if candidate and baseline
        else [],
    }


@OWN.read("/comparisons/<int:comparison_id>", SubmissionComparison, endpoint="comparison_status")
def comparison(ask: Ask, comparison_id: int) -> SubmissionComparison:
    """Return a comparison of two submissions of the team under the live scoring version."""
    job = comparisons.get_job(ask.session, competition=ask.competition, user=ask.user, job_id=comparison_id)
    return _answer(job, ask.competition, ask.now)


@OWN.act(
    "/comparisons",
    form="compute",
    back=compare,
    done=lambda answer, slug: (
        "",
        url_for("submissions.compare", slug=slug, candidate=answer.submission, baseline=answer.baseline),
    ),
    answers=SubmissionComparison,
)
def compare_submissions(act: Act, sent: ComparisonRequest) -> SubmissionComparison:
    """Compare two scored submissions of the team: return their comparison, or start one.

    A team can start 20 comparisons a day.
    """
    job = comparisons.request(
        act, viewer=lookups.viewer(), submission_id=sent.submission, baseline_id=sent.baseline
    )
    return _answer(job, act.competition, act.now)


def _answer(job: OrganizerJob, competition: Competition, now: datetime) -> SubmissionComparison:
    splits = comparisons.shown_splits(competition, lookups.viewer(), now)
    differences = comparisons.differences(job, splits, lookup.live(competition).scale)
    return SubmissionComparison.of(
        job,
        submission=job.parameters["submission_id"],
        baseline=job.parameters["baseline_id"],
        differences=[SplitDifference.model_validate(each) for each in differences],
    )


def _pair(query: Pair, known: Sequence[Submission]) -> tuple[int | None, int | None]:
    """Return the ids to compare; by default, the first choices."""
    asked = (query.candidate, query.baseline)
    others = iter(each.id for each in known if each.id not in asked)
    candidate, baseline = (each or next(others, None) for each in asked)
    return candidate, baseline
