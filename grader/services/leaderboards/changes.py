"""Data for polling: leaderboard version, number of entries."""

import hashlib

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from grader.models import (
    Competition,
    Split,
    Standing,
    Submission,
    SubmissionKind,
    SubmissionStatus,
    on_board,
)


def board_version(session: Session, *, competition_id: int) -> str:
    """Return a hash of a leaderboard's public content: scores, ranks and the reveal."""
    state = session.execute(
        select(Competition.live_scoring_version_id, Competition.revealed_at).where(
            Competition.id == competition_id
        )
    ).one()
    splits = [Split.PUBLIC] if state.revealed_at is None else list(Split)
    sums = session.execute(
        select(
            func.count(),
            func.sum(Standing.submission_id),
            func.max(Standing.submission_id),
            func.sum(Standing.score_units),
        ).where(*on_board(state.live_scoring_version_id, *splits))
    ).one()
    return hashlib.sha256(repr((*state, *sums)).encode()).hexdigest()[:16]


def count_entries(session: Session, *, competition: Competition) -> int:
    """Return the number of scored submissions of all teams.

    Two index-only counts take a tenth of the time that one count over both columns takes.
    """
    scored = (
        Submission.competition_id == competition.id,
        Submission.status == SubmissionStatus.SCORED,
    )
    others = Submission.kind.in_([kind for kind in SubmissionKind if kind is not SubmissionKind.NORMAL])
    all_of_them, not_counted = (
        select(func.count()).where(*conditions).scalar_subquery()
        for conditions in (scored, (*scored, others))
    )
    return session.scalar(select(all_of_them - not_counted)) or 0
