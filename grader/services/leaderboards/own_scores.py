"""A team's own files in the order of their acceptance, each with its public score as it is shown."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, and_, null, select
from sqlalchemy.orm import Session

from grader.models import Score, ScoringVersion, Split, Submission, Team
from grader.ranking import order
from grader.services.standings import shown_scores
from grader.visibility import Field


@dataclass(frozen=True, slots=True)
class OwnScore:
    """A file, its score as shown in units of 0.00001, and the best shown one of the files before it.

    Each is None where nothing is shown.
    """

    submission_id: int
    file_name: str
    units: int | None
    best_before: int | None

    @property
    def gain(self) -> int | None:
        """By how much it beats the best file before it (negative: falls short)."""
        return None if self.units is None or self.best_before is None else self.units - self.best_before


def of_team(
    session: Session, *, team: Team, version: ScoringVersion, allowed: Collection[Field]
) -> list[OwnScore]:
    """Return all files of a team, the oldest first; scores that are not allowed are not read."""
    is_shown = Field.PUBLIC_SCORE in allowed
    scores: tuple[Any, Any] = (Score.score, Score.shown_units) if is_shown else (null(), null())
    query: Select[Any] = select(Submission.id, Submission.file_name, Submission.kind, *scores)
    if is_shown:
        query = query.outerjoin(
            Score,
            and_(
                Score.submission_id == Submission.id,
                Score.scoring_version_id == version.id,
                Score.split == Split.PUBLIC,
            ),
        )
    found = session.execute(
        query.where(Submission.team_id == team.id).order_by(Submission.submitted_at, Submission.id)
    )
    return list(_in_order(found, is_exact=Field.PUBLIC_EXACT in allowed, is_test=team.is_organizers))


def _in_order(rows: Iterable[Any], *, is_exact: bool, is_test: bool) -> Iterator[OwnScore]:
    best: int | None = None
    for submission_id, file_name, kind, score, stored in rows:
        units = stored if score is None or not is_exact else order.score_units(score)
        yield OwnScore(submission_id, file_name, units, best)
        if units is not None and (is_test or kind in shown_scores.KINDS):
            best = units if best is None else max(best, units)
