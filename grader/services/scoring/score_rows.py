"""Store the scores of a submission on both splits and enter it among the standings."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from grader.metrics import BiasReport, PairCounts
from grader.models import Competition, Score, ScoringJob, Split, SubmissionKind
from grader.ranking import order
from grader.ranking.order import Entry
from grader.services.standings import rows

Results = Mapping[Split, tuple[PairCounts, BiasReport]]


def add(session: Session, *, job: ScoringJob, results: Results, now: datetime) -> None:
    """Add the scores of a job on both splits."""
    session.add_all(_score(job, split, *results[split], now=now) for split in Split)


def enter_standings(
    session: Session, *, competition: Competition, scored: Sequence[tuple[ScoringJob, Results]]
) -> None:
    """Update the standings with scored files of one scoring version where they are their team's best."""
    entries = [
        _entry(job, results) for job, results in scored if job.submission.kind is SubmissionKind.NORMAL
    ]
    if not entries:
        return
    version_id = scored[0][0].scoring_version_id
    rows.enter(session, entries=entries, scoring_version_id=version_id)
    # The private standings of a version that is being prepared are written with its publication.
    if competition.settled_at is not None and version_id == competition.live_scoring_version_id:
        teams = {entry.team_id for entry in entries}
        rows.rebuild(session, competition=competition, team_ids=teams)


def _score(job: ScoringJob, split: Split, counts: PairCounts, report: BiasReport, *, now: datetime) -> Score:
    return Score(
        submission_id=job.submission_id,
        scoring_version_id=job.scoring_version_id,
        split=split,
        score=report.score,
        **report.terms,
        counts=counts.as_dict(),
        created_at=now,
    )


def _entry(job: ScoringJob, results: Results) -> Entry:
    submission = job.submission
    score = results[Split.PUBLIC][1].score
    if score is None:
        raise ValueError("A scoring version without undefined cells gave no score.")
    units = order.score_units(score)
    return Entry(submission.team_id, submission.id, units, submission.submitted_at)
