"""Teams that share addresses, browsers, files or former members, for organizers' review.

Addresses and browsers are never shown; only the fact that accounts share one is shown, with the number and
times of logins. If many teams share one (for example, at a university or a company), only their number is
shown.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, func, or_, select
from sqlalchemy.orm import Session, aliased

from grader.models import (
    Competition,
    LoginPlace,
    MergeRequest,
    PlaceKind,
    RequestState,
    Submission,
    Team,
    TeamMember,
    User,
)
from grader.services.accounts.logins import PLACES_KEPT

MOST_NAMED_TEAMS = 4
MOST_PLACES = 100


@dataclass(frozen=True, slots=True)
class Logins:
    """Logins of a team member from one address or browser."""

    person: User
    team: Team
    count: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class SharedPlace:
    """The addresses or browsers that the same members of a few teams share."""

    kind: PlaceKind
    logins: tuple[Logins, ...]
    has_same_file: bool


@dataclass(frozen=True, slots=True)
class Crowd:
    """An address or browser that many teams share, which is not evidence."""

    kind: PlaceKind
    team_count: int
    person_count: int


@dataclass(frozen=True, slots=True)
class Moved:
    """A person who previously submitted for another team."""

    person: User
    earlier: Team
    now: Team
    submission_count: int
    last_sent_at: datetime


@dataclass(frozen=True, slots=True)
class Merged:
    """A team that was merged into another."""

    team: Team
    into: Team
    at: datetime | None


@dataclass(frozen=True, slots=True)
class SamePeople:
    """Shared addresses and browsers, moved members and merged teams of a competition."""

    places: tuple[SharedPlace, ...]
    crowds: tuple[Crowd, ...]
    moved: tuple[Moved, ...]
    merged: tuple[Merged, ...]


def find(
    session: Session, *, competition: Competition, same_files: Sequence[Collection[int]], now: datetime
) -> SamePeople:
    """Return the evidence; each set in `same_files` contains teams that submitted the same file."""
    places, crowds = [], []
    for (kind, _), lines in _shared(session, competition, now).items():
        teams = {each.team.id for each in lines[0]}
        if len(teams) > MOST_NAMED_TEAMS:
            crowds += [Crowd(kind, len(teams), len(each)) for each in lines]
        else:
            sent_same = any(len(teams.intersection(each)) > 1 for each in same_files)
            places.append(SharedPlace(kind, tuple(_summed(kind, lines)), sent_same))
    places.sort(key=lambda place: (not place.has_same_file, place.kind is PlaceKind.ADDRESS, -_total(place)))
    crowds.sort(key=lambda crowd: -crowd.team_count)
    return SamePeople(
        tuple(places[:MOST_PLACES]),
        tuple(crowds[:MOST_PLACES]),
        tuple(_moved(session, competition)),
        tuple(_merged(session, competition)),
    )


def _shared(
    session: Session, competition: Competition, now: datetime
) -> dict[tuple[PlaceKind, frozenset[int]], list[list[Logins]]]:
    """Return the logins from addresses and browsers that teams share, grouped by kind and people."""
    rows = session.execute(
        select(LoginPlace, User, Team)
        .join(User, User.id == LoginPlace.user_id)
        .join(TeamMember, TeamMember.user_id == User.id)
        .join(Team, Team.id == TeamMember.team_id)
        .where(
            TeamMember.competition_id == competition.id,
            Team.is_organizers.is_(False),
            LoginPlace.last_login_at > now - PLACES_KEPT,
        )
        .order_by(LoginPlace.id)
    )
    by_place: dict[tuple[PlaceKind, str], list[Logins]] = defaultdict(list)
    for place, person, team in rows:
        logins = Logins(person, team, place.login_count, place.first_login_at, place.last_login_at)
        by_place[place.kind, place.place_hash].append(logins)
    shared: dict[tuple[PlaceKind, frozenset[int]], list[list[Logins]]] = defaultdict(list)
    for (kind, _), same_place in by_place.items():
        if len({each.team.id for each in same_place}) > 1:
            shared[kind, frozenset(each.person.id for each in same_place)].append(same_place)
    return shared


def _summed(kind: PlaceKind, places: Sequence[Sequence[Logins]]) -> Iterator[Logins]:
    """Yield the total logins of each person."""
    by_person: dict[int, list[Logins]] = defaultdict(list)
    for place in places:
        for each in place:
            by_person[each.person.id].append(each)
    # All accounts that use a browser count the same logins, so their numbers must not be added up.
    counted = max if kind is PlaceKind.BROWSER else sum
    for logins in by_person.values():
        yield Logins(
            logins[0].person,
            logins[0].team,
            counted(each.count for each in logins),
            min(each.first_at for each in logins),
            max(each.last_at for each in logins),
        )


def _total(place: SharedPlace) -> int:
    return sum(each.count for each in place.logins)


def _moved(session: Session, competition: Competition) -> Iterator[Moved]:
    earlier, current = aliased(Team), aliased(Team)
    sent = (
        select(
            Submission.user_id,
            Submission.team_id,
            func.count().label("count"),
            func.max(Submission.submitted_at).label("last"),
        )
        .where(Submission.competition_id == competition.id)
        .group_by(Submission.user_id, Submission.team_id)
        .subquery()
    )
    rows = session.execute(
        select(User, earlier, current, sent.c.count, sent.c.last)
        .join(sent, sent.c.user_id == User.id)
        .join(earlier, earlier.id == sent.c.team_id)
        .join(TeamMember, and_(TeamMember.user_id == User.id, TeamMember.competition_id == competition.id))
        .join(current, current.id == TeamMember.team_id)
        .where(earlier.id != current.id, earlier.is_organizers.is_(False), current.is_organizers.is_(False))
        .order_by(sent.c.last.desc(), User.id)
    )
    for person, left, now, count, last in rows:
        yield Moved(person, left, now, count, last)


def _merged(session: Session, competition: Competition) -> Iterator[Merged]:
    into = aliased(Team)
    between = or_(
        and_(MergeRequest.from_team_id == Team.id, MergeRequest.to_team_id == into.id),
        and_(MergeRequest.from_team_id == into.id, MergeRequest.to_team_id == Team.id),
    )
    at = (
        select(func.max(MergeRequest.decided_at))
        .where(between, MergeRequest.state == RequestState.ACCEPTED)
        .correlate(Team, into)
        .scalar_subquery()
    )
    rows = session.execute(
        select(Team, into, at)
        .join(into, into.id == Team.merged_into_id)
        .where(Team.competition_id == competition.id)
        .order_by(Team.id)
    )
    for team, taker, at_ in rows:
        yield Merged(team, taker, at_)
