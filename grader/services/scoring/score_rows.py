"""Stored scores of a submission on both splits, and its entry in the standings."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from grader.metrics.interface import MetricResult
from grader.models import Competition, Score, ScoringJob, ScoringVersion, Split, SubmissionKind
from grader.ranking.order import Scale, TeamEntry
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
    version_id = ranked[0][0].scoring_version_id
    scale = session.get_one(ScoringVersion, version_id).scale
    if entries := [entry for job, results in ranked if (entry := _entry(competition, scale, job, results))]:
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
        errors=dict(result.errors),
        created_at=now,
    )


def _entry(competition: Competition, scale: Scale, job: ScoringJob, results: Results) -> TeamEntry | None:
    submission = job.submission
    units = shown_scores.units(competition, results[Split.PUBLIC].score, scale)
    return (
        None
        if units is None
        else TeamEntry(submission.team_id, submission.id, units, submission.submitted_at)
    )
