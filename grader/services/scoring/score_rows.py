"""Stored scores of a submission on both splits, and its entry in the standings."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from grader.metrics.boards import BoardRule
from grader.metrics.interface import MetricResult
from grader.models import MAIN_BOARD, Competition, Score, ScoringJob, ScoringVersion, Split, SubmissionKind
from grader.ranking.order import Scale, TeamEntry
from grader.services.competitions import boards
from grader.services.standings import rows, shown_scores

Results = Mapping[Split, MetricResult]


def add(session: Session, *, job: ScoringJob, results: Results, now: datetime) -> None:
    """Add a job's scores on both splits."""
    session.add_all(_score(job, split, results[split], now=now) for split in Split)


def enter_standings(
    session: Session, *, competition: Competition, scored: Sequence[tuple[ScoringJob, Results]]
) -> None:
    """Enter files scored under one version into the standings if they are their teams' best."""
    ranked = [(job, results) for job, results in scored if job.submission.kind is SubmissionKind.NORMAL]
    if not ranked:
        return
    version = session.get_one(ScoringVersion, ranked[0][0].scoring_version_id)
    version_id, scale, rules = version.id, version.scale, boards.of(competition, version)
    entries = defaultdict[str, list[TeamEntry]](list)
    for job, results in ranked:
        for board, entry in _entries(competition, scale, rules, job, results):
            entries[board].append(entry)
    if entries:
        rows.enter(session, entries=entries, scoring_version_id=version_id)
    # The private standings of a version in preparation are written when it is published.
    if competition.settled_at is not None and version_id == competition.live_scoring_version_id:
        teams = {job.submission.team_id for job, _ in ranked}
        rows.rebuild(session, competition=competition, team_ids=teams)


def _score(job: ScoringJob, split: Split, result: MetricResult, *, now: datetime) -> Score:
    return Score(
        submission_id=job.submission_id,
        scoring_version_id=job.scoring_version_id,
        split=split,
        score=result.score,
        terms=dict(result.terms),
        groups=dict(result.groups),
        evidence=dict(result.evidence),
        created_at=now,
    )


def _entries(
    competition: Competition, scale: Scale, rules: Sequence[BoardRule], job: ScoringJob, results: Results
) -> Iterator[tuple[str, TeamEntry]]:
    """Yield a file's public entry for each leaderboard on which it has a displayed value."""
    submission, (public, private) = job.submission, (_values(results[split]) for split in Split)
    named = shown_scores.named(competition, rules, public, private)
    shown = {MAIN_BOARD: shown_scores.units(competition, results[Split.PUBLIC].score, scale)}
    shown |= {board: units for board, (units, _) in named.items()}
    for board, units in shown.items():
        if units is not None:
            yield board, TeamEntry(submission.team_id, submission.id, units, submission.submitted_at)


def _values(result: MetricResult) -> shown_scores.Values:
    return result.score, result.terms, result.groups
