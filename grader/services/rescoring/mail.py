"""Notice about a published rescoring: e-mail, and a team's old and new scores."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Select, and_, select
from sqlalchemy.orm import Session, aliased

from grader.models import Competition, Score, ScoringVersion, Split, Submission, Team, TeamMember, User
from grader.ranking.order import Scale
from grader.services.leaderboards import shown_scores
from grader.services.site import letters, outbox
from grader.visibility import Feedback


@dataclass(frozen=True, slots=True)
class OldAndNew:
    """One submission's displayed public scores; None if it is not scored."""

    submission_id: int
    file_name: str
    submitted_at: datetime
    before: str | None
    after: str | None


def latest(competition: Competition) -> ScoringVersion | None:
    """Return the live scoring version if it replaced another one."""
    version = competition.live_scoring_version
    return None if version is None or version.replaced_number is None else version


def news(competition: Competition) -> ScoringVersion | None:
    """Return the last publication of a rescoring, or None if the reveal came after it."""
    published, revealed_at = latest(competition), competition.revealed_at
    is_old = published and published.published_at and revealed_at and published.published_at < revealed_at
    return None if is_old else published


def of_team(
    session: Session, *, competition: Competition, team: Team, submission_ids: Collection[int] | None = None
) -> list[OldAndNew]:
    """Return a team's public scores before and after the last publication, newest first, unless hidden."""
    version = latest(competition)
    if version is None or competition.feedback is Feedback.BLIND:
        return []
    replaced = session.scalars(
        select(ScoringVersion).where(
            ScoringVersion.competition_id == competition.id,
            ScoringVersion.number == version.replaced_number,
        )
    ).one()
    before, after = aliased(Score), aliased(Score)
    columns = Submission.id, Submission.file_name, Submission.submitted_at, before.score, after.score
    query = (
        select(*columns)
        .outerjoin(before, _of(before, replaced))
        .outerjoin(after, _of(after, version))
        .where(
            Submission.team_id == team.id,
            Submission.kind.in_(shown_scores.KINDS),
            before.id.is_not(None) | after.id.is_not(None),
        )
        .order_by(Submission.submitted_at.desc(), Submission.id.desc())
    )
    if submission_ids is not None:
        query = query.where(Submission.id.in_(submission_ids))
    return [
        OldAndNew(
            submission_id,
            file_name,
            submitted_at,
            _shown(competition, old, replaced.scale),
            _shown(competition, new, version.scale),
        )
        for submission_id, file_name, submitted_at, old, new in session.execute(query)
    ]


def write(session: Session, *, competition: Competition, version: ScoringVersion, now: datetime) -> None:
    """E-mail the message to the members of all teams."""
    letters.send(
        session,
        "rescored",
        session.scalars(_members(competition)),
        kind=outbox.Notice.RESULTS,
        key=f"rescored:{version.id}:{now:%Y%m%dT%H%M%S%f}",
        competition=competition,
        version=version,
        now=now,
    )


def count_readers(session: Session, *, competition: Competition) -> int:
    """Return the number of team members who would receive a message."""
    return outbox.count_readers(session, _members(competition), outbox.Notice.RESULTS)


def _members(competition: Competition) -> Select[User]:
    of_team = select(TeamMember.user_id).where(TeamMember.competition_id == competition.id)
    return select(User).where(User.id.in_(of_team)).order_by(User.id)


def _of(score: type[Score], version: ScoringVersion) -> ColumnElement[bool]:
    return and_(
        score.submission_id == Submission.id,
        score.scoring_version_id == version.id,
        score.split == Split.PUBLIC,
    )


def _shown(competition: Competition, score: float | None, own: Scale) -> str | None:
    if score is None:
        return None
    units = shown_scores.units(competition, score, own)
    return None if units is None else shown_scores.scale(competition, own=own).text(units)
