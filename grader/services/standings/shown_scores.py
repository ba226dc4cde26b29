"""Ranked submissions and their displayed public scores.

Exact modes display the score itself and store nothing. The displayed score of a coarse mode is stored next to
the score. In ladder mode, it depends on all files of a team in the order of their acceptance. It is therefore
updated for the whole team after each score, merger and rescoring. This uses stored values and reads no files.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from itertools import groupby, takewhile, zip_longest
from operator import attrgetter
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, select, update
from sqlalchemy.orm import Session, aliased

from grader import feedback
from grader.feedback import Basis, Rule, ScoredFile
from grader.models import (
    Competition,
    JobState,
    Score,
    ScoreBasis,
    ScoringJob,
    ScoringVersion,
    Split,
    Submission,
    SubmissionKind,
    SubmissionStatus,
    Team,
)
from grader.ranking import order
from grader.ranking.selection import Scored
from grader.visibility import Feedback

# The kinds of files that a team submits as a participant; they share one ladder.
KINDS = (SubmissionKind.NORMAL, SubmissionKind.LATE)
CHUNK = 1000
_OPEN = (JobState.WAITING, JobState.CLAIMED)


def units(competition: Competition, score: float, stored: int | None) -> int | None:
    """Return the displayed public score in units of 0.00001, or None if hidden."""
    return stored if competition.feedback.is_coarse else order.score_units(score)


def decimals(competition: Competition, split: Split = Split.PUBLIC) -> int:
    """Return the number of decimals of public scores: that of the step, if there is one."""
    has_step = split is Split.PUBLIC and competition.feedback.has_step
    return competition.feedback_step.decimals if has_step else order.SCORE_DECIMALS


def benchmark_units(competition: Competition, score: float) -> int | None:
    """Return the displayed public score of a benchmark, rounded in a coarse mode."""
    if competition.feedback is Feedback.BLIND:
        return None
    if not competition.feedback.is_coarse:
        return order.score_units(score)
    (shown,) = feedback.show([ScoredFile(score)], Rule(Feedback.TIERED, competition.feedback_step.units))
    return shown


def work_out(
    session: Session,
    *,
    competition: Competition,
    scoring_version_id: int,
    team_ids: Collection[int] | None = None,
) -> None:
    """Lock these teams (by default, all) and store their displayed scores in a coarse feedback mode.

    A file that follows a pending one has no displayed score yet.
    """
    rule = Rule(competition.feedback, competition.feedback_step.units)
    everybody = Team.competition_id == competition.id
    teams = _lock(session, everybody if team_ids is None else Team.id.in_(team_ids))
    changed: list[dict[str, int | None]] = []
    for start in range(0, len(teams), CHUNK):
        rows = session.execute(_files(scoring_version_id, teams[start : start + CHUNK]))
        for _, files in groupby(rows, attrgetter("team_id")):
            changed += _changed(list(files), rule)
    if changed:
        session.execute(update(Score), changed)


def unfinished(session: Session, *, scoring_version_id: int, team_ids: Collection[int]) -> set[int]:
    """Lock these teams, and return those with files that have no result under a version yet."""
    _lock(session, Team.id.in_(team_ids))
    query = (
        select(Submission.team_id)
        .join(ScoringJob, ScoringJob.submission_id == Submission.id)
        .where(
            Submission.team_id.in_(team_ids),
            Submission.kind.in_(KINDS),
            Submission.status != SubmissionStatus.PENDING,
            ScoringJob.scoring_version_id == scoring_version_id,
            ScoringJob.state.in_(_OPEN),
        )
    )
    return set(session.scalars(query))


def out_of_turn(job: ScoringJob) -> ColumnElement[bool]:
    """Return the condition that an earlier file of the same team is pending.

    In ladder mode, the files of a team are scored in order, so that no score is displayed out of order.
    """
    earlier, waiting = aliased(ScoringJob), aliased(Submission)
    own = job.submission
    return (
        select(earlier.id)
        .join(waiting, waiting.id == earlier.submission_id)
        .where(
            earlier.scoring_version_id == job.scoring_version_id,
            earlier.state.in_(_OPEN),
            waiting.team_id == own.team_id,
            waiting.kind.in_(KINDS),
            waiting.status == SubmissionStatus.PENDING,
            (waiting.submitted_at < own.submitted_at)
            | and_(waiting.submitted_at == own.submitted_at, waiting.id < own.id),
        )
        .exists()
    )


def _lock(session: Session, which: ColumnElement[bool]) -> Sequence[int]:
    query = select(Team.id).where(which).order_by(Team.id)
    return session.scalars(query.with_for_update(key_share=True)).all()


def _files(scoring_version_id: int, team_ids: Sequence[int]) -> Select[*tuple[Any, ...]]:
    """Return the query for the teams' files, in the order of acceptance for each team."""
    return (
        select(
            Submission.team_id,
            Submission.status,
            ScoringJob.state,
            Score.id,
            Score.score,
            Score.shown_units,
            ScoreBasis.noise,
            ScoreBasis.sketch,
        )
        .join(
            ScoringJob,
            and_(
                ScoringJob.submission_id == Submission.id,
                ScoringJob.scoring_version_id == scoring_version_id,
            ),
        )
        .outerjoin(
            Score,
            and_(
                Score.submission_id == Submission.id,
                Score.scoring_version_id == scoring_version_id,
                Score.split == Split.PUBLIC,
            ),
        )
        .outerjoin(ScoreBasis, ScoreBasis.score_id == Score.id)
        .where(Submission.team_id.in_(team_ids), Submission.kind.in_(KINDS))
        .order_by(Submission.team_id, Submission.submitted_at, Submission.id)
    )


def _changed(files: Sequence[Row[Any]], rule: Rule) -> Iterator[dict[str, int | None]]:
    """Yield a team's scores whose displayed units differ from the stored ones."""
    scored = [file for file in files if file.id is not None]
    in_turn = scored
    if rule.feedback is Feedback.LADDER:
        in_turn = [file for file in takewhile(_has_ended, files) if file.id is not None]
    shown = feedback.show([_file(file) for file in in_turn], rule)
    for file, now in zip_longest(scored, shown):
        if file.shown_units != now:
            yield {"id": file.id, "shown_units": now}


def _has_ended(file: Row[Any]) -> bool:
    """Return whether a file no longer delays later ones; failed files are retried out of order."""
    return file.state not in _OPEN or file.status is not SubmissionStatus.PENDING


def _file(file: Row[Any]) -> ScoredFile:
    # A file that was scored before the mode was chosen has no basis, so it cannot be compared in ladder mode.
    return ScoredFile(file.score, Basis.of(file.noise or 0.0, file.sketch))


def scored(
    session: Session,
    *,
    scoring_version_id: int,
    team_ids: Collection[int] | None = None,
    kinds: Collection[SubmissionKind] = (SubmissionKind.NORMAL,),
    before: datetime | None = None,
) -> list[Scored]:
    """Return the scored submissions of a scoring version with their scores on both splits."""
    public, private = aliased(Score), aliased(Score)
    competition = _competition(session, scoring_version_id)
    query = (
        select(
            Submission.id,
            Submission.team_id,
            Submission.submitted_at,
            public.score,
            public.shown_units,
            private.score,
            Submission.kind,
            Submission.is_selected,
        )
        .join(public, public.submission_id == Submission.id)
        .join(private, private.submission_id == Submission.id)
        .where(
            Submission.competition_id == competition.id,
            public.scoring_version_id == scoring_version_id,
            public.split == Split.PUBLIC,
            private.scoring_version_id == scoring_version_id,
            private.split == Split.PRIVATE,
            Submission.kind.in_(kinds),
        )
    )
    if team_ids is not None:
        query = query.where(Submission.team_id.in_(team_ids))
    if before is not None:
        query = query.where(Submission.submitted_at < before)
    return [
        Scored(
            submission_id,
            team_id,
            submitted_at,
            order.score_units(public),
            order.score_units(private),
            kind,
            is_selected,
            shown_units=units(competition, public, shown),
        )
        for submission_id, team_id, submitted_at, public, shown, private, kind, is_selected in (
            session.execute(query)
        )
    ]


def _competition(session: Session, scoring_version_id: int) -> Competition:
    version = session.get_one(ScoringVersion, scoring_version_id)
    return session.get_one(Competition, version.competition_id)


def disqualified(session: Session, *, competition_id: int) -> set[int]:
    """Return the ids of the disqualified teams of a competition."""
    query = select(Team.id).where(Team.competition_id == competition_id, Team.disqualified_at.is_not(None))
    return set(session.scalars(query))


def selected(session: Session, *, team: Team) -> tuple[Submission, ...]:
    """Return the selected submissions of a team that can still compete, earliest first."""
    return tuple(
        session.scalars(
            select(Submission)
            .where(
                Submission.team_id == team.id,
                Submission.is_selected,
                Submission.kind == SubmissionKind.NORMAL,
                Submission.status != SubmissionStatus.REJECTED,
            )
            .order_by(Submission.submitted_at, Submission.id)
        )
    )
