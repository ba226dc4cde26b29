"""Names of a solution's other labels, which a submission may have as columns that are not read."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.models import Solution


def names(session: Session, *, competition_id: int) -> tuple[str, ...]:
    """Return the names of the other labels in any solution that the competition has had, the oldest first.

    In any of them, so that a file that was accepted can be read under every scoring version.
    """
    reports = session.scalars(
        select(Solution.report["other_labels"])
        .where(Solution.competition_id == competition_id)
        .order_by(Solution.number)
    )
    return tuple(dict.fromkeys(name for labels in reports for name in labels or ()))
