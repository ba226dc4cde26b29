"""Team search for organizers: by name or member, with submission counts and pagination."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import exists, func, or_, select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, OrganizerRefusal
from grader.models import Competition, Submission, SubmissionStatus, Team, TeamMember, User
from grader.services.identity import names
from grader.services.site.paging import FIRST, Part, Slice, slice_of_query
from grader.text import folded


@dataclass(frozen=True, slots=True)
class TeamMatch:
    """A team, its members, and the numbers of its submissions by status."""

    team: Team
    members: tuple[User, ...]
    counts: Mapping[SubmissionStatus, int]
    last_submitted_at: datetime | None


def find(
    session: Session,
    *,
    competition: Competition,
    text: str = "",
    disqualified_only: bool = False,
    part: Part = FIRST,
) -> Slice[TeamMatch]:
    """Return a slice of the unmerged teams with `text` in a team's name or alias, or a member's name."""
    query = select(Team).where(
        Team.competition_id == competition.id, Team.merged_into_id.is_(None), Team.is_organizers.is_(False)
    )
    if disqualified_only:
        query = query.where(Team.disqualified_at.is_not(None))
    if wanted := folded(text.strip()):
        members = exists().where(
            TeamMember.team_id == Team.id,
            TeamMember.user_id == User.id,
            User.name_folded.contains(wanted, autoescape=True),
        )
        matches = or_(Team.name_key.contains(names.name_key(wanted), autoescape=True), members)
        if competition.is_anonymous:
            matches |= func.lower(Team.alias).contains(wanted, autoescape=True)
        query = query.where(matches)
    teams = slice_of_query(session, query, key=Team.__table__.c.id, part=part)
    return teams.with_rows(_lines(session, teams.rows))


def get(session: Session, *, competition: Competition, team_id: int) -> TeamMatch:
    """Return one team with its members and counts; raise OrganizerRefusal."""
    return _lines(session, [get_team(session, competition=competition, team_id=team_id)])[0]


def get_team(session: Session, *, competition: Competition, team_id: int) -> Team:
    """Return one team; raise OrganizerRefusal."""
    team = session.get(Team, team_id)
    if team is None or team.competition_id != competition.id:
        message = f"There is no team {team_id} in this competition."
        raise OrganizerRefusal("unknown_team_id", ErrorKind.NOT_FOUND, message)
    return team


def _lines(session: Session, teams: Sequence[Team]) -> tuple[TeamMatch, ...]:
    ids = [team.id for team in teams]
    members: dict[int, list[User]] = defaultdict(list)
    for team_id, user in session.execute(
        select(TeamMember.team_id, User)
        .join(User, User.id == TeamMember.user_id)
        .where(TeamMember.team_id.in_(ids))
        .order_by(TeamMember.id)
    ):
        members[team_id].append(user)
    counts: dict[int, dict[SubmissionStatus, int]] = defaultdict(dict)
    last: dict[int, datetime] = {}
    for team_id, status, count, newest in session.execute(
        select(Submission.team_id, Submission.status, func.count(), func.max(Submission.submitted_at))
        .where(Submission.team_id.in_(ids))
        .group_by(Submission.team_id, Submission.status)
    ):
        counts[team_id][status] = count
        last[team_id] = max(newest, last.get(team_id, newest))
    return tuple(
        TeamMatch(team, tuple(members[team.id]), counts[team.id], last.get(team.id)) for team in teams
    )
