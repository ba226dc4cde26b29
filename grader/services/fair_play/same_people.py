"""Teams that share addresses or browsers, for organizers' review.

Addresses and browsers are never shown; only the fact that accounts share one is shown, with the number and
times of logins. Addresses and browsers that many teams share (for example, at a university or a company) are
no evidence and are left out.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.models import Competition, LoginPlace, PlaceKind, Team, TeamMember, User
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


def shared_places(session: Session, *, competition: Competition, now: datetime) -> list[SharedPlace]:
    """Return the addresses and browsers that a few teams of a competition share."""
    shared = _shared(session, competition, now).items()
    places = [SharedPlace(kind, tuple(_summed(kind, logins))) for (kind, _), logins in shared]
    places.sort(key=lambda place: (place.kind is PlaceKind.ADDRESS, -_total(place)))
    return places[:MOST_PLACES]


def _shared(
    session: Session, competition: Competition, now: datetime
) -> dict[tuple[PlaceKind, frozenset[int]], list[list[Logins]]]:
    """Return the logins from addresses and browsers that a few teams share, grouped by kind and people."""
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
        if 1 < len({each.team.id for each in same_place}) <= MOST_NAMED_TEAMS:
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
