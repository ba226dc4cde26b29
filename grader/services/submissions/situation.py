"""Situation: all data needed to decide whether to accept an upload."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.orm import Session

from grader import db
from grader.models import Competition, Organizer, Participation, Role, Submission, Team, TeamMember, User
from grader.services.competitions import lookup, organizers
from grader.services.competitions.lookup import UnknownCompetition
from grader.services.identity import kept_identities
from grader.services.submissions import repeats
from grader.services.submissions.repeats import NOTHING_EARLIER, Repeats, SentFile
from grader.services.teams import limits, rosters
from grader.services.teams.limits import Allowance


@dataclass(frozen=True, slots=True)
class Situation:
    """A user's state in a competition at `now`, and the file to submit, if any.

    For an organizer, `role` is set and `team` is the organizers' team. In `competes_in`, another account of
    the user or of a member of the team competes.
    """

    now: datetime
    competition: Competition
    role: Role | None
    participation: Participation | None
    team: Team | None
    competes_in: Team | None
    allowance: Allowance
    file: SentFile | None = None
    earlier: Repeats = NOTHING_EARLIER

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
    competition, role, participation, team, time = _person(session, slug, user)
    now = now or time
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
        earlier=repeats.find(session, team=team, file=file) if file else NOTHING_EARLIER,
    )


def _person(
    session: Session, slug: str, user: User
) -> tuple[Competition, Role | None, Participation | None, Team | None, datetime]:
    """Return a competition, the user's role, participation and team in it, and the time."""
    row = session.execute(
        lookup.with_slug(slug)
        .add_columns(Organizer.role, Participation, Team, db.clock(session))
        .outerjoin(Organizer, _is_of(Organizer, user))
        .outerjoin(Participation, _is_of(Participation, user))
        .outerjoin(TeamMember, _is_of(TeamMember, user))
        .outerjoin(Team, Team.id == TeamMember.team_id)
        .execution_options(populate_existing=True)
    ).one_or_none()
    if row is None:
        raise UnknownCompetition(slug=slug)
    competition, role, participation, team, time = row
    return competition, organizers.role_with(user, stored=role), participation, team, time


def _is_of(table: type[Organizer | Participation | TeamMember], user: User) -> ColumnElement[bool]:
    return and_(table.competition_id == Competition.id, table.user_id == user.id)
