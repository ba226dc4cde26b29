"""Team search for organizers: by name or member, with submission counts and pagination."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, OrganizerRefusal
from grader.models import Competition, Submission, SubmissionStatus, Team, TeamMember, User
from grader.services.site.paging import FIRST, Part, Slice, slice_of_list
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
    ids = _ids(session, competition, folded(text.strip()), disqualified_only)
    matching = slice_of_list(list(ids), key=int, part=part)
    return matching.with_rows(_lines(session, matching.rows))


def get(session: Session, *, competition: Competition, team_id: int) -> TeamMatch:
    """Return one team with its members and counts; raise OrganizerRefusal."""
    return _lines(session, [get_team(session, competition=competition, team_id=team_id).id])[0]


def get_team(session: Session, *, competition: Competition, team_id: int) -> Team:
    """Return one team; raise OrganizerRefusal."""
    team = session.get(Team, team_id)
    if team is None or team.competition_id != competition.id:
        message = f"There is no team {team_id} in this competition."
        raise OrganizerRefusal("unknown_team_id", ErrorKind.NOT_FOUND, message)
    return team


def _ids(session: Session, competition: Competition, wanted: str, disqualified_only: bool) -> set[int]:
    conditions: list[ColumnElement[bool]] = [
        Team.competition_id == competition.id,
        Team.merged_into_id.is_(None),
        Team.is_organizers.is_(False),
    ]
    if disqualified_only:
        conditions.append(Team.disqualified_at.is_not(None))
    rows = session.execute(select(Team.id, Team.name, Team.alias).where(*conditions)).all()
    names = {team_id: folded(name) for team_id, name, _ in rows}
    matching = {team_id for team_id, name in names.items() if wanted in name}
    if wanted and competition.is_anonymous:
        matching |= {team_id for team_id, _, alias in rows if wanted in folded(alias)}
    if wanted:
        members = session.execute(
            select(TeamMember.team_id, User.name)
            .join(User, User.id == TeamMember.user_id)
            .where(TeamMember.competition_id == competition.id)
        )
        matching |= {team_id for team_id, name in members if team_id in names and wanted in folded(name)}
    return matching


def _lines(session: Session, ids: Sequence[int]) -> tuple[TeamMatch, ...]:
    teams = {team.id: team for team in session.scalars(select(Team).where(Team.id.in_(ids)))}
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
    return tuple(TeamMatch(teams[each], tuple(members[each]), counts[each], last.get(each)) for each in ids)
