"""Situation: everything that deciding about an upload needs, read at one moment."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.orm import Session

from grader.models import Competition, Organizer, Participation, Role, Submission, Team, TeamMember, User
from grader.services.competitions import organizers
from grader.services.limits import limits
from grader.services.limits.limits import Allowance
from grader.services.submissions import repeats
from grader.services.submissions.repeats import NOTHING_EARLIER, Earlier, SentFile
from grader.services.teams import organizers_team


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known at `now` about a person who sends a file, or could send one where there is no `file`.

    An organizer has a role, and the organizers' team. `bound_to` is the team that a person without a team is
    bound to.
    """

    now: datetime
    competition: Competition
    role: Role | None
    participation: Participation | None
    team: Team | None
    bound_to: Team | None
    allowance: Allowance
    file: SentFile | None = None
    earlier: Earlier = NOTHING_EARLIER

    @property
    def is_test(self) -> bool:
        """Whether the file is a test submission, as those of organizers are."""
        return self.role is not None

    @property
    def repeated(self) -> Submission | None:
        """The submission that an earlier request with the same key and bytes has made."""
        earlier = self.earlier.of_key
        return earlier if earlier and self.file and earlier.sha256 == self.file.sha256 else None


def read(
    session: Session, *, competition: Competition, user: User, file: SentFile | None = None, now: datetime
) -> Situation:
    """Return the situation of a person at `now`; it is a forecast unless the competition is locked."""
    role, participation, team = _person(session, competition, user)
    if role is not None:
        team = organizers_team.find(session, competition=competition)
    bound_id = participation.bound_team_id if participation and team is None else None
    return Situation(
        now=now,
        competition=competition,
        role=role,
        participation=participation,
        team=team,
        bound_to=session.get_one(Team, bound_id) if bound_id is not None else None,
        allowance=limits.allowance(session, competition=competition, team=team, now=now),
        file=file,
        earlier=repeats.find(session, team=team, file=file) if file else NOTHING_EARLIER,
    )


def _person(
    session: Session, competition: Competition, user: User
) -> tuple[Role | None, Participation | None, Team | None]:
    """Return a person's role, participation and team in a competition."""
    role, participation, team = session.execute(
        select(Organizer.role, Participation, Team)
        .select_from(Competition)
        .outerjoin(Organizer, _is_of(Organizer, user))
        .outerjoin(Participation, _is_of(Participation, user))
        .outerjoin(TeamMember, _is_of(TeamMember, user))
        .outerjoin(Team, Team.id == TeamMember.team_id)
        .where(Competition.id == competition.id)
        .execution_options(populate_existing=True)
    ).one()
    return organizers.role_with(user, stored=role), participation, team


def _is_of(table: type[Organizer | Participation | TeamMember], user: User) -> ColumnElement[bool]:
    return and_(table.competition_id == Competition.id, table.user_id == user.id)
