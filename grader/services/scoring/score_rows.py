"""Stored scores of a submission on both splits, and its entry in the standings."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from grader.feedback import Basis
from grader.metrics import BiasReport, PairCounts
from grader.models import Competition, Score, ScoreBasis, ScoringJob, Split, SubmissionKind
from grader.ranking import order
from grader.ranking.order import Entry
from grader.services.standings import rows, shown_scores

Results = Mapping[Split, tuple[PairCounts, BiasReport, dict[str, float]]]


def add(
    session: Session, *, job: ScoringJob, results: Results, basis: Basis | None = None, now: datetime
) -> None:
    """Add a job's scores on both splits, and the basis of coarse feedback."""
    scores = {split: _score(job, split, *results[split], now=now) for split in Split}
    session.add_all(scores.values())
    if basis is not None:
        session.flush()
        public = scores[Split.PUBLIC].id
        session.add(ScoreBasis(score_id=public, noise=basis.noise, sketch=basis.to_bytes()))


def enter_standings(
    session: Session,
    *,
    competition: Competition,
    scored: Sequence[tuple[ScoringJob, Results]],
    ended: Sequence[ScoringJob],
) -> None:
    """Enter files scored under one version into the standings if they are their teams' best.

    In a coarse feedback mode, the standings of the teams with `ended` files are recomputed, because other
    files may have waited for a file that has no score.
    """
    if competition.feedback.is_coarse:
        _work_out(session, competition, ended)
        return
    entries = [_entry(job, results) for job, results in scored if _ranks(job)]
    if not entries:
        return
    version_id = scored[0][0].scoring_version_id
    rows.enter(session, entries=entries, scoring_version_id=version_id)
    # The private standings of a version in preparation are written when it is published.
    if competition.settled_at is not None and version_id == competition.live_scoring_version_id:
        teams = {entry.team_id for entry in entries}
        rows.rebuild(session, competition=competition, team_ids=teams)


def _work_out(session: Session, competition: Competition, jobs: Sequence[ScoringJob]) -> None:
    """Write standings; for a version in preparation, only for teams whose files are all finished."""
    teams = {job.submission.team_id for job in jobs if job.submission.kind in shown_scores.KINDS}
    if not teams:
        return
    version_id, splits = jobs[0].scoring_version_id, [Split.PUBLIC]
    if version_id != competition.live_scoring_version_id:
        teams -= shown_scores.unfinished(session, scoring_version_id=version_id, team_ids=teams)
    elif competition.settled_at is not None and any(_ranks(job) for job in jobs):
        splits.append(Split.PRIVATE)
        rows.forget_daily_ranks(session, competition=competition)
    rows.write(session, competition=competition, scoring_version_id=version_id, splits=splits, team_ids=teams)


def _ranks(job: ScoringJob) -> bool:
    return job.submission.kind is SubmissionKind.NORMAL


def _score(
    job: ScoringJob,
    split: Split,
    counts: PairCounts,
    report: BiasReport,
    errors: dict[str, float],
    *,
    now: datetime,
) -> Score:
    return Score(
        submission_id=job.submission_id,
        scoring_version_id=job.scoring_version_id,
        split=split,
        score=report.score,
        **report.terms,
        counts=counts.as_dict(),
        errors=errors,
        created_at=now,
    )


def _entry(job: ScoringJob, results: Results) -> Entry:
    submission = job.submission
    score = results[Split.PUBLIC][1].score
    if score is None:
        raise ValueError("A scoring version without undefined cells returned no score.")
    units = order.score_units(score)
    return Entry(submission.team_id, submission.id, units, submission.submitted_at)
