"""The files that are looked through for fair play: those with a score and those that still wait for one."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session

from grader.models import Competition, Score, Split, Submission, SubmissionKind, SubmissionStatus, Team

MAX_FILES = 10_000
MAX_CELLS = 2_000_000_000
"""So many predictions at most are looked through, so that a job ends in time whatever the rows."""


@dataclass(frozen=True, slots=True)
class File:
    """A submission's file; `score` and `auc` are its score and overall AUC on the public rows.

    `is_known` marks organizers' files and benchmarks, with which participants' files are compared alone.
    """

    submission_id: int
    team_id: int
    sha256: str
    submitted_at: datetime
    score: float | None
    auc: float | None
    is_known: bool


def newest(session: Session, *, competition: Competition, rows: int) -> tuple[list[File], int]:
    """Return the newest files of a competition, the oldest of them first, and how many are older."""
    found = session.execute(
        select(
            Submission.id,
            Submission.team_id,
            Submission.sha256,
            Submission.submitted_at,
            Score.score,
            Score.overall_auc,
            or_(Team.is_organizers, Submission.kind == SubmissionKind.BENCHMARK),
        )
        .join(Team, Team.id == Submission.team_id)
        .outerjoin(
            Score,
            and_(
                Score.submission_id == Submission.id,
                Score.scoring_version_id == competition.live_scoring_version_id,
                Score.split == Split.PUBLIC,
            ),
        )
        .where(
            Submission.competition_id == competition.id,
            Submission.status.in_((SubmissionStatus.SCORED, SubmissionStatus.PENDING)),
            Submission.file_deleted_at.is_(None),
        )
        .order_by(Submission.submitted_at.desc(), Submission.id.desc())
    ).all()
    limit = min(MAX_FILES, MAX_CELLS // max(rows, 1))
    return [File(*row) for row in reversed(found[:limit])], max(len(found) - limit, 0)
