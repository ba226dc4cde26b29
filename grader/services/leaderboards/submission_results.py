"""Results of one submission as shown: rounded scores, AUC terms and the per-identity table."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.metrics import PairCounts, report
from grader.models import Score, ScoringVersion, Split, Submission, SubmissionKind
from grader.ranking import order
from grader.ranking.order import Entry
from grader.services.competitions import lookup
from grader.services.competitions.metric import Rules
from grader.services.leaderboards import lines
from grader.services.standings import places
from grader.visibility import Field, Phase, Viewer, visible_fields

CHUNK = 1000

_AUCS = ("subgroup_auc", "bpsn_auc", "bnsp_auc")
_GAPS = ("positive_aeg", "negative_aeg")
_TERMS = {Split.PUBLIC: Field.PUBLIC_TERMS, Split.PRIVATE: Field.PRIVATE_TERMS}
_SCORES = {Split.PUBLIC: Field.PUBLIC_SCORE, Split.PRIVATE: Field.PRIVATE_SCORE}
_CELLS = {
    Split.PUBLIC: {Field.PUBLIC_IDENTITIES: _AUCS, Field.PUBLIC_GAPS: _GAPS},
    Split.PRIVATE: {Field.PRIVATE_IDENTITIES: _AUCS, Field.PRIVATE_GAPS: _GAPS},
}


@dataclass(frozen=True, slots=True)
class IdentityRow:
    """One identity's line of the table: the cells that the viewer may see by name, 2 decimals."""

    name: str
    cells: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class SplitResult:
    """What a submission got on one split.

    `score` is the text with 5 decimals, `score_units` the same in units of 0.00001, `weakest_term` the name
    of the lowest of the four terms, None where all are the same. Where the viewer may not see the terms they
    are empty and it is None;
    `identities` is empty where the viewer may not see the table.
    """

    score: str
    score_units: int
    terms: Mapping[str, float]
    weakest_term: str | None
    identities: tuple[IdentityRow, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """A submission's result and its place.

    `best_before_units` is the team's best displayed public score among its earlier submissions, and
    `gain_units` by how much this one beats it (negative: falls short). `rank` is the team's on the public
    leaderboard if this submission stands for it, and `previous_rank` the one its best earlier submission
    would have there now. `would_rank` is, for a late submission, where it would have stood among the other
    teams: on the private leaderboard as far as the viewer may see it, else on the public one.
    """

    public: SplitResult | None = None
    private: SplitResult | None = None
    best_before_units: int | None = None
    gain_units: int | None = None
    rank: int | None = None
    previous_rank: int | None = None
    team_count: int | None = None
    would_rank: int | None = None


def summary(session: Session, *, submission: Submission, viewer: Viewer, phase: Phase) -> Summary:
    """Return what `viewer` may see of a submission's scores under the live scoring version."""
    version = lookup.live(submission.competition)
    allowed = visible_fields(viewer, phase, submission.competition.feedback)
    results = split_results(session, submission=submission, version=version, allowed=allowed)
    public = results.get(Split.PUBLIC)
    if public is None:
        return Summary(private=results.get(Split.PRIVATE))
    entry = Entry(submission.team_id, submission.id, public.score_units, submission.submitted_at)
    earlier = [
        each for each in _public_entries(session, version, submission.team_id) if _is_earlier(each, entry)
    ]
    before = order.best(earlier)
    standing = places.standing_of(
        session, scoring_version_id=version.id, split=Split.PUBLIC, team_id=submission.team_id
    )
    stands = standing is not None and standing.submission_id == submission.id
    return Summary(
        public=public,
        private=results.get(Split.PRIVATE),
        best_before_units=before.score_units if before else None,
        gain_units=entry.score_units - before.score_units if before else None,
        rank=_rank(session, version, entry) if stands else None,
        previous_rank=_rank(session, version, before) if stands and before else None,
        team_count=places.count_teams(session, scoring_version_id=version.id, split=Split.PUBLIC),
        would_rank=_late_rank(session, submission, version, results),
    )


def split_results(
    session: Session, *, submission: Submission, version: ScoringVersion, allowed: Collection[Field]
) -> dict[Split, SplitResult]:
    """Return a submission's result on each split whose score is allowed; others are not even read."""
    found = split_results_of(session, submission_ids=[submission.id], version=version, allowed=allowed)
    return found[submission.id]


def split_results_of(
    session: Session, *, submission_ids: Sequence[int], version: ScoringVersion, allowed: Collection[Field]
) -> dict[int, dict[Split, SplitResult]]:
    """Return as `split_results` does the results of any number of submissions, by their id."""
    splits = [split for split, score in _SCORES.items() if score in allowed]
    rules = Rules.from_dict(version.metric_settings)
    found: dict[int, dict[Split, SplitResult]] = {submission_id: {} for submission_id in submission_ids}
    for start in range(0, len(submission_ids), CHUNK):
        rows = session.scalars(
            select(Score).where(
                Score.submission_id.in_(submission_ids[start : start + CHUNK]),
                Score.scoring_version_id == version.id,
                Score.split.in_(splits),
            )
        )
        for row in rows:
            found[row.submission_id][row.split] = _split_result(
                row, rules, has_terms=_TERMS[row.split] in allowed, cells=_cells(row.split, allowed)
            )
    return found


def public_scores(
    session: Session, *, submissions: Iterable[Submission], version: ScoringVersion
) -> dict[int, SplitResult]:
    """Return the public scores of several submissions by their id, without terms and tables."""
    rows = session.scalars(
        select(Score).where(
            Score.submission_id.in_([submission.id for submission in submissions]),
            Score.scoring_version_id == version.id,
            Score.split == Split.PUBLIC,
        )
    )
    rules = Rules.from_dict(version.metric_settings)
    return {row.submission_id: _split_result(row, rules) for row in rows}


def _cells(split: Split, allowed: Collection[Field]) -> tuple[str, ...]:
    return tuple(name for field, names in _CELLS[split].items() if field in allowed for name in names)


def _split_result(
    score: Score, rules: Rules, *, has_terms: bool = False, cells: Sequence[str] = ()
) -> SplitResult:
    units = order.score_units(score.score)
    terms = lines.rounded_terms(score) if has_terms else {}
    return SplitResult(
        score=order.score_text(units),
        score_units=units,
        terms=terms,
        weakest_term=min(terms, key=terms.__getitem__) if len(set(terms.values())) > 1 else None,
        identities=_table(score.counts, rules, cells) if cells else (),
    )


def _table(counts: Mapping[str, Any], rules: Rules, cells: Sequence[str]) -> tuple[IdentityRow, ...]:
    return tuple(
        IdentityRow(line.name, {cell: order.rounded_cell(getattr(line, cell)) for cell in cells})
        for line in report(PairCounts.from_dict(counts), rules.metric).subgroups
    )


def _public_entries(session: Session, version: ScoringVersion, team_id: int) -> Iterable[Entry]:
    rows = session.execute(
        select(Submission.id, Score.score, Submission.submitted_at)
        .join(Score, Score.submission_id == Submission.id)
        .where(
            Submission.team_id == team_id,
            Submission.kind.in_((SubmissionKind.NORMAL, SubmissionKind.LATE)),
            Score.scoring_version_id == version.id,
            Score.split == Split.PUBLIC,
        )
    )
    for submission_id, score, submitted_at in rows:
        yield Entry(team_id, submission_id, order.score_units(score), submitted_at)


def _late_rank(
    session: Session, submission: Submission, version: ScoringVersion, results: Mapping[Split, SplitResult]
) -> int | None:
    if submission.kind is not SubmissionKind.LATE:
        return None
    split = Split.PRIVATE if Split.PRIVATE in results else Split.PUBLIC
    units = results[split].score_units
    entry = Entry(submission.team_id, submission.id, units, submission.submitted_at)
    return places.rank_of(session, scoring_version_id=version.id, split=split, entry=entry)


def _is_earlier(one: Entry, other: Entry) -> bool:
    return (one.submitted_at, one.submission_id) < (other.submitted_at, other.submission_id)


def _rank(session: Session, version: ScoringVersion, entry: Entry) -> int:
    return places.rank_of(session, scoring_version_id=version.id, split=Split.PUBLIC, entry=entry)
