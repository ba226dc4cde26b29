"""Notice about a published rescoring: e-mail, and a team's old and new scores."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.orm import Session, aliased

from grader.models import (
    Competition,
    Score,
    ScoringVersion,
    Split,
    Submission,
    Team,
    TeamMember,
    User,
)
from grader.ranking.order import Scale
from grader.services.competitions import lookup
from grader.services.leaderboards import shown_scores
from grader.services.site import letters, outbox

NOT_SHOWN = "not shown"


@dataclass(frozen=True, slots=True)
class OldAndNew:
    """One submission's displayed public scores: None if not scored, `NOT_SHOWN` if hidden."""

    submission_id: int
    file_name: str
    submitted_at: datetime
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Published:
    """The publication of the live scoring version, with its message or reason."""

    number: int
    replaced_number: int
    published_at: datetime
    text: str

    @property
    def is_rollback(self) -> bool:
        """Whether the publication returned to an earlier version."""
        return self.number < self.replaced_number


def latest(competition: Competition) -> Published | None:
    """Return the last publication that replaced a scoring version, or None if there is none."""
    version = competition.live_scoring_version
    if version is None or version.replaced_number is None or version.published_at is None:
        return None
    return Published(
        version.number, version.replaced_number, version.published_at, version.notice or version.reason
    )


def news(competition: Competition) -> Published | None:
    """Return the last publication, or None if the reveal came after it."""
    published, revealed_at = latest(competition), competition.revealed_at
    return None if published and revealed_at and published.published_at < revealed_at else published


def of_team(
    session: Session,
    *,
    competition: Competition,
    team: Team,
    submission_ids: Collection[int] | None = None,
) -> list[OldAndNew]:
    """Return a team's public scores before and after the last publication, newest first."""
    published = latest(competition)
    if published is None:
        return []
    version = lookup.live(competition)
    replaced = session.scalars(
        select(ScoringVersion).where(
            ScoringVersion.competition_id == competition.id,
            ScoringVersion.number == published.replaced_number,
        )
    ).one()
    lines = _lines(session, competition, replaced, version, team_ids=[team.id], submission_ids=submission_ids)
    return lines.get(team.id, [])


def write(session: Session, *, competition: Competition, version: ScoringVersion, now: datetime) -> None:
    """E-mail the message to the members of all teams."""
    of_team = select(TeamMember.user_id).where(TeamMember.competition_id == competition.id)
    letters.send(
        session,
        "rescored",
        session.scalars(select(User).where(User.id.in_(of_team)).order_by(User.id)),
        kind=outbox.Notice.RESULTS,
        key=f"rescored:{version.id}:{now:%Y%m%dT%H%M%S%f}",
        competition=competition,
        version=version,
        now=now,
    )


def _lines(
    session: Session,
    competition: Competition,
    was: ScoringVersion,
    now: ScoringVersion,
    *,
    team_ids: Collection[int] | None = None,
    submission_ids: Collection[int] | None = None,
) -> dict[int, list[OldAndNew]]:
    """Return rows by team, newest submission first."""
    before, after = aliased(Score), aliased(Score)
    query = (
        select(
            Submission.team_id,
            Submission.id,
            Submission.file_name,
            Submission.submitted_at,
            before.score,
            after.score,
        )
        .outerjoin(before, _of(before, was.id))
        .outerjoin(after, _of(after, now.id))
        .where(
            Submission.kind.in_(shown_scores.KINDS),
            before.id.is_not(None) | after.id.is_not(None),
            Submission.competition_id == competition.id,
        )
        .order_by(Submission.submitted_at.desc(), Submission.id.desc())
    )
    if team_ids is not None:
        query = query.where(Submission.team_id.in_(team_ids))
    if submission_ids is not None:
        query = query.where(Submission.id.in_(submission_ids))
    lines: dict[int, list[OldAndNew]] = defaultdict(list)
    scales = was.scale, now.scale
    for row in session.execute(query):
        team_id, submission_id, file_name, submitted_at, *scores = row
        old, new = (_shown(competition, *each) for each in zip(scores, scales, strict=True))
        lines[team_id].append(OldAndNew(submission_id, file_name, submitted_at, old, new))
    return dict(lines)


def _of(score: type[Score], version_id: int) -> ColumnElement[bool]:
    return and_(
        score.submission_id == Submission.id,
        score.scoring_version_id == version_id,
        score.split == Split.PUBLIC,
    )


def _shown(competition: Competition, score: float | None, own: Scale) -> str | None:
    if score is None:
        return None
    units = shown_scores.units(competition, score, own)
    return NOT_SHOWN if units is None else shown_scores.scale(competition, own=own).text(units)
