"""The submissions that a team sent just before and just after one of its own."""

from dataclasses import dataclass

from sqlalchemy import literal, select, tuple_
from sqlalchemy.orm import Session

from grader.models import Submission


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The ids of the submissions before and after one, None at either end."""

    previous: int | None
    next: int | None


def of(session: Session, *, submission: Submission) -> Neighbours:
    """Return which submissions of the same team came just before and after one, in one query."""
    sent_at = Submission.__table__.c.submitted_at
    own = tuple_(literal(submission.submitted_at, sent_at.type), literal(submission.id))
    time = tuple_(Submission.submitted_at, Submission.id)
    mine = select(Submission.id).where(Submission.team_id == submission.team_id).limit(1)
    before = mine.where(time < own).order_by(Submission.submitted_at.desc(), Submission.id.desc())
    after = mine.where(time > own).order_by(Submission.submitted_at, Submission.id)
    row = session.execute(select(before.scalar_subquery(), after.scalar_subquery())).one()
    return Neighbours(*row)
