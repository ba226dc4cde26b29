"""Public profile pages: visibility, teams, and ranks after the reveal."""

import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, and_, func, or_, select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, ParticipantError
from grader.models import (
    MAIN_BOARD,
    STANDING_ORDER,
    Competition,
    CompetitionState,
    Split,
    Standing,
    Team,
    TeamMember,
    User,
)
from grader.services.competitions import phases
from grader.visibility import Field, Viewer, visible

KEY_BYTES = 12


class UnknownPage(ParticipantError):
    """No public profile page has this URL."""

    public_name = "unknown_person_page"
    kind = ErrorKind.NOT_FOUND
    message = "There is no public profile at this address."


@dataclass(frozen=True, slots=True)
class EnteredCompetition:
    """A user's team on a leaderboard; `rank` and `team_count` are None before the reveal."""

    competition: Competition
    has_closed: bool
    team_id: int
    team: str
    rank: int | None
    team_count: int | None


@dataclass(frozen=True, slots=True)
class PersonalPage:
    """The public profile of a user."""

    name: str
    about: str
    entered: tuple[EnteredCompetition, ...]


def get(session: Session, *, key: str, now: datetime) -> PersonalPage:
    """Return the public profile with this key; raise UnknownPage."""
    person = session.scalar(select(User).where(User.page_key == key, User.deleted_at.is_(None)))
    if person is None:
        raise UnknownPage
    return of_person(session, user=person, now=now)


def of_person(session: Session, *, user: User, now: datetime) -> PersonalPage:
    """Return the profile of a user, even if it is not public."""
    person = session.get_one(User, user.id)
    rows = session.execute(_listed_teams(person)).all()
    revealed = [
        competition.live_scoring_version_id
        for competition, _ in rows
        if competition.live_scoring_version_id is not None and _shows_ranks(competition, now)
    ]
    ranks = _ranks(session, revealed, [team.id for _, team in rows])
    return PersonalPage(
        name=person.name,
        about=person.about,
        entered=tuple(
            EnteredCompetition(
                competition,
                competition.closes_at is not None and competition.closes_at <= now,
                team.id,
                team.name,
                *ranks.get(team.id, (None, None)),
            )
            for competition, team in rows
        ),
    )


def turn_on(session: Session, *, user: User) -> None:
    """Turn on a user's public profile with a random key; keep an existing key."""
    person = session.get_one(User, user.id, with_for_update=True, populate_existing=True)
    person.page_key = person.page_key or secrets.token_hex(KEY_BYTES)
    session.flush()


def turn_off(session: Session, *, user: User) -> None:
    """Turn off a user's public profile; its key is never used again."""
    session.get_one(User, user.id).page_key = None
    session.flush()


def _listed_teams(person: User) -> Select[Competition, Team]:
    """Return a query for the user's teams on visible leaderboards, newest first.

    Teams of anonymous competitions are omitted, because their results would disclose their aliases.
    """
    is_listed = (
        select(Standing.id)
        .where(
            Standing.scoring_version_id == Competition.live_scoring_version_id,
            Standing.team_id == Team.id,
            or_(
                Standing.split == Split.PUBLIC,
                and_(Standing.split == Split.PRIVATE, Competition.revealed_at.is_not(None)),
            ),
        )
        .exists()
    )
    return (
        select(Competition, Team)
        .join(Team, Team.competition_id == Competition.id)
        .join(TeamMember, TeamMember.team_id == Team.id)
        .where(
            TeamMember.user_id == person.id,
            Competition.state != CompetitionState.DRAFT,
            ~Competition.is_anonymous,
            is_listed,
        )
        .order_by(Competition.created_at.desc(), Competition.id.desc())
    )


def _shows_ranks(competition: Competition, now: datetime) -> bool:
    phase = phases.phase(competition, now)
    return visible(Field.PRIVATE_RANK, Viewer.PUBLIC, phase, competition.feedback)


def _ranks(
    session: Session, version_ids: Collection[int], team_ids: Collection[int]
) -> dict[int, tuple[int, int]]:
    """Return the private rank and the number of ranked teams by team id."""
    if not version_ids:
        return {}
    ranked = (
        select(
            Standing.team_id,
            func.row_number()
            .over(partition_by=Standing.scoring_version_id, order_by=STANDING_ORDER)
            .label("rank"),
            func.count().over(partition_by=Standing.scoring_version_id).label("team_count"),
        )
        .where(
            Standing.scoring_version_id.in_(version_ids),
            Standing.split == Split.PRIVATE,
            Standing.board == MAIN_BOARD,
        )
        .subquery()
    )
    rows = session.execute(select(ranked).where(ranked.c.team_id.in_(team_ids)))
    return {team_id: (rank, count) for team_id, rank, count in rows}
