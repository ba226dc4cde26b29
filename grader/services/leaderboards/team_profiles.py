"""What a team's page shows: members, places, scores and history, as far as leaderboards show them."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.models import Competition, Split, Standing, Team, TeamMember, User
from grader.ranking.order import Entry
from grader.services.competitions import lookup, phases
from grader.services.leaderboards import lines, score_steps
from grader.services.leaderboards.lines import BoardRow
from grader.services.leaderboards.score_steps import UnrankedTeam
from grader.services.standings import places, shown_scores
from grader.visibility import Field, Viewer, visible


@dataclass(frozen=True, slots=True)
class Member:
    """A member; `page_key` is None for who has no page."""

    name: str
    avatar_key: str | None
    page_key: str | None
    joined_at: datetime


@dataclass(frozen=True, slots=True)
class Profile:
    """A team that is on a leaderboard.

    `public` and `private` are its lines there; `private` is None before the reveal. `steps` are the files
    that were its best on the public rows when they came.
    """

    team_id: int
    name: str
    avatar_key: str | None
    since: datetime
    members: tuple[Member, ...]
    public: BoardRow | None
    private: BoardRow | None
    team_count: int
    steps: tuple[Entry, ...]


def get(
    session: Session, *, competition: Competition, team_id: int, viewer: Viewer, now: datetime
) -> Profile:
    """Return a team as the leaderboards show it; raise UnrankedTeam for one that they do not show.

    Before the reveal organizers, too, see here what participants see.
    """
    is_revealed = _shows_private(competition, now)
    public = _line(session, competition, Split.PUBLIC, team_id, viewer, now)
    private = _line(session, competition, Split.PRIVATE, team_id, viewer, now) if is_revealed else None
    team = session.get(Team, team_id)
    if team is None or (public or private) is None:
        raise UnrankedTeam(team_id=team_id)
    version_id = lookup.live(competition).id
    (history,) = score_steps.of_teams(session, competition=competition, team_ids=[team_id])
    return Profile(
        team_id=team.id,
        name=team.name,
        avatar_key=team.avatar_key,
        since=team.created_at,
        members=_members(session, team_id),
        public=public,
        private=private,
        team_count=places.count_teams(
            session, scoring_version_id=version_id, split=Split.PRIVATE if private else Split.PUBLIC
        ),
        steps=history.steps if public else (),
    )


def is_listed(session: Session, *, competition: Competition, team_id: int, now: datetime) -> bool:
    """Return whether everybody sees a team on a leaderboard, so that it has a page."""
    return bool(listed(session, competition=competition, team_ids=[team_id], now=now))


def listed(
    session: Session, *, competition: Competition, team_ids: Collection[int], now: datetime
) -> frozenset[int]:
    """Return which of these teams everybody sees on a leaderboard."""
    splits = [Split.PUBLIC, *([Split.PRIVATE] if _shows_private(competition, now) else [])]
    there = select(Standing.team_id).where(
        Standing.scoring_version_id == competition.live_scoring_version_id,
        Standing.split.in_(splits),
        Standing.team_id.in_(team_ids),
    )
    return frozenset(session.scalars(there))


def _shows_private(competition: Competition, now: datetime) -> bool:
    phase = phases.phase(competition, now)
    return visible(Field.PRIVATE_RANK, Viewer.PUBLIC, phase, competition.feedback)


def _line(
    session: Session, competition: Competition, split: Split, team_id: int, viewer: Viewer, now: datetime
) -> BoardRow | None:
    version = competition.live_scoring_version
    if version is None:
        return None
    entry = places.standing_of(session, scoring_version_id=version.id, split=split, team_id=team_id)
    if entry is None:
        return None
    rank = places.rank_of(session, scoring_version_id=version.id, split=split, entry=entry)
    field = Field.PUBLIC_TERMS if split is Split.PUBLIC else Field.PRIVATE_TERMS
    has_terms = visible(field, viewer, phases.phase(competition, now), competition.feedback)
    loaded = lines.load(
        session,
        version=version,
        split=split,
        ranks={team_id: rank},
        terms=lines.TERMS if has_terms else (),
        now=now,
        decimals=shown_scores.decimals(competition, split),
    )
    return loaded.rows[team_id]


def _members(session: Session, team_id: int) -> tuple[Member, ...]:
    query = (
        select(User.name, User.avatar_key, User.page_key, TeamMember.joined_at)
        .join(TeamMember, TeamMember.user_id == User.id)
        .where(TeamMember.team_id == team_id)
        .order_by(TeamMember.joined_at, TeamMember.id)
    )
    return tuple(Member(*row) for row in session.execute(query))
