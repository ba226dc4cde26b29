"""Daily ranks: each team's public rank at the start of a UTC day, for the change since yesterday."""

from collections.abc import Collection
from datetime import UTC, date, datetime, time

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session, joinedload

from grader.models import (
    Competition,
    CompetitionState,
    DailyRank,
    Score,
    Submission,
    SubmissionKind,
    Team,
)
from grader.ranking import selection
from grader.services.competitions import lookup
from grader.services.standings import scored_submissions
from grader.visibility import Feedback


def missing(session: Session, *, now: datetime) -> list[Competition]:
    """Return the competitions whose ranks at the start of today are not written and would not be empty."""
    day = now.astimezone(UTC).date()
    written = (
        select(DailyRank.id)
        .where(DailyRank.scoring_version_id == Competition.live_scoring_version_id, DailyRank.day == day)
        .exists()
    )
    ranks_somebody = (
        select(Submission.id)
        .join(Score, Score.submission_id == Submission.id)
        .join(Team, Team.id == Submission.team_id)
        .where(
            Submission.competition_id == Competition.id,
            Score.scoring_version_id == Competition.live_scoring_version_id,
            Submission.kind == SubmissionKind.NORMAL,
            Submission.submitted_at < _start(day),
            Team.disqualified_at.is_(None),
        )
        .exists()
    )
    return list(
        session.scalars(
            select(Competition)
            .where(
                Competition.state == CompetitionState.PUBLISHED,
                Competition.feedback != Feedback.BLIND,
                ~written,
                ranks_somebody,
            )
            .options(joinedload(Competition.live_scoring_version))
        )
    )


def compute(session: Session, *, competition: Competition, now: datetime) -> dict[int, int]:
    """Return the public rank of each team at the start of today, under the live scoring version."""
    start = _start(now.astimezone(UTC).date())
    return selection.ranks_at(
        scored_submissions.scored(session, scoring_version_id=lookup.live(competition).id, before=start),
        start,
        disqualified=scored_submissions.disqualified(session, competition_id=competition.id),
    )


def write(session: Session, *, competition: Competition, ranks: dict[int, int], now: datetime) -> bool:
    """Write the ranks at the start of today; False if they exist or another version is live."""
    version_id = lookup.live(competition).id
    day = now.astimezone(UTC).date()
    current = lookup.lock(session, competition_id=competition.id)
    if current.live_scoring_version_id != version_id or of_day(session, version_id, day, limit=1):
        return False
    rows = [
        {"scoring_version_id": version_id, "day": day, "team_id": team_id, "rank": rank}
        for team_id, rank in ranks.items()
    ]
    if rows:
        session.execute(insert(DailyRank), rows)
    return True


def forget(session: Session, *, competition: Competition) -> None:
    """Delete the daily ranks of a leaderboard that changed as a whole; the sweeper writes today's again."""
    session.execute(delete(DailyRank).where(DailyRank.scoring_version_id == lookup.live(competition).id))


def of_day(
    session: Session,
    scoring_version_id: int,
    day: date,
    *,
    team_ids: Collection[int] | None = None,
    limit: int | None = None,
) -> dict[int, int]:
    """Return the ranks at the start of a day, by default of all teams."""
    query = select(DailyRank.team_id, DailyRank.rank).where(
        DailyRank.scoring_version_id == scoring_version_id, DailyRank.day == day
    )
    if team_ids is not None:
        query = query.where(DailyRank.team_id.in_(team_ids))
    return dict(session.execute(query.limit(limit)).all())


def _start(day: date) -> datetime:
    return datetime.combine(day, time(tzinfo=UTC))
