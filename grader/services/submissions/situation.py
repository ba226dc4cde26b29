"""Situation: all data needed to decide whether to accept an upload."""

import re
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.orm import Session

from grader import db
from grader.models import (
    Competition,
    Organizer,
    Participation,
    Role,
    Submission,
    SubmissionStatus,
    Team,
    TeamMember,
    User,
)
from grader.services.competitions import lookup, organizers
from grader.services.identity import kept_identities
from grader.services.teams import limits, rosters
from grader.services.teams.limits import Allowance

KEY_MAX_LENGTH = 128
_KEY = re.compile(rf"[\x20-\x7e]{{1,{KEY_MAX_LENGTH}}}")


@dataclass(frozen=True, slots=True)
class SentFile:
    """The file of a request; `again` accepts bytes that the team has submitted before."""

    sha256: str
    size_bytes: int
    again: bool = False
    idempotency_key: str | None = None

    @property
    def has_valid_key(self) -> bool:
        """Whether the request has a well-formed idempotency key."""
        return self.idempotency_key is not None and _KEY.fullmatch(self.idempotency_key) is not None


@dataclass(frozen=True, slots=True)
class Repeats:
    """Earlier submissions: the one with the same key, and the newest with the same bytes."""

    of_key: Submission | None = None
    of_bytes: Submission | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """A user's state in a competition at `now`, and the file to submit, if any.

    For an organizer, `role` is set and `team` is the organizers' team. The user is a member of `own_team`. In
    `competes_in`, another account of the user or of a member of the team competes.
    """

    now: datetime
    competition: Competition
    role: Role | None
    participation: Participation | None
    team: Team | None
    competes_in: Team | None
    allowance: Allowance
    file: SentFile | None = None
    earlier: Repeats = Repeats()
    own_team: Team | None = None

    @property
    def is_test(self) -> bool:
        """Whether the file is a test submission of an organizer."""
        return self.role is not None

    @property
    def repeated(self) -> Submission | None:
        """The submission of an earlier request with the same key and bytes."""
        earlier = self.earlier.of_key
        return earlier if earlier and self.file and earlier.sha256 == self.file.sha256 else None


def read(
    session: Session, *, slug: str, user: User, file: SentFile | None = None, now: datetime | None = None
) -> Situation:
    """Return a user's situation in a competition.

    Unless the competition is locked, it is only a forecast. `now` defaults to the database's time. Raises
    UnknownCompetition.
    """
    competition, role, participation, own_team, time = _person(session, slug, user)
    team, now = own_team, now or time
    if role is not None:
        team = rosters.organizers_team_of(session, competition=competition)
    elif participation is None:
        participation = kept_identities.refused(session, competition=competition, user=user)
    allowance = limits.allowance(session, competition=competition, team=team, now=now)
    elsewhere = None
    if role is None and not allowance.used_total:  # otherwise, an earlier file was checked
        users = [user.id] if team is None else select(TeamMember.user_id).where(TeamMember.team_id == team.id)
        elsewhere = kept_identities.counting_team(
            session, competition=competition, user_ids=users, but_for=[team] if team else []
        )
    return Situation(
        now=now,
        competition=competition,
        role=role,
        participation=participation,
        team=team,
        competes_in=elsewhere,
        allowance=allowance,
        file=file,
        earlier=_repeats(session, team, file) if team and file else Repeats(),
        own_team=own_team,
    )


def _person(
    session: Session, slug: str, user: User
) -> tuple[Competition, Role | None, Participation | None, Team | None, datetime]:
    """Return a competition, the user's role, participation and team in it, and the time."""
    query = (
        lookup.with_slug()
        .add_columns(Organizer.role, Participation, Team, db.clock(session))
        .outerjoin(Organizer, organizers.is_of_user(Organizer))
        .outerjoin(Participation, organizers.is_of_user(Participation))
        .outerjoin(TeamMember, organizers.is_of_user(TeamMember))
        .outerjoin(Team, Team.id == TeamMember.team_id)
        .execution_options(populate_existing=True)
    )
    row = lookup.row_of(session, query, slug=slug, user_id=user.id)
    competition, role, participation, team, time = row
    return competition, organizers.role_with(user, stored=role), participation, team, time


def _repeats(session: Session, team: Team, file: SentFile) -> Repeats:
    """Return the earlier submissions of a team that a file may repeat.

    Only pending and scored submissions count as identical; a rejected or failed file may be sent again.
    """
    newest = (
        select(Submission.id)
        .where(
            Submission.team_id == team.id,
            Submission.sha256 == file.sha256,
            Submission.status.in_((SubmissionStatus.PENDING, SubmissionStatus.SCORED)),
        )
        .order_by(Submission.submitted_at.desc(), Submission.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    wanted: ColumnElement[bool] = Submission.id == newest
    key = file.idempotency_key if file.has_valid_key else None
    if key is not None:
        wanted |= and_(Submission.team_id == team.id, Submission.idempotency_key == key)
    earlier = session.scalars(select(Submission).where(wanted)).all()
    return Repeats(
        of_key=next((each for each in earlier if key is not None and each.idempotency_key == key), None),
        # If this is also the submission with the same key, the request repeats it and `of_bytes` is not used.
        of_bytes=next((each for each in earlier if each.sha256 == file.sha256), None),
    )
