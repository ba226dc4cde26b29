"""Connections between teams: shared addresses, browsers, files and former members."""

from datetime import timedelta

import pytest
from sqlalchemy import func, select

from grader.models import Competition, LoginPlace, Mail, PlaceKind, Team, TeamMember, User
from grader.services.accounts import logins
from grader.services.fair_play import same_people
from grader.services.fair_play.same_people import MOST_NAMED_TEAMS, SharedPlace
from grader.worker.scheduled_tasks import forget_records

SECRET = "a secret of tests"


@pytest.fixture
def competition(service) -> Competition:
    made: Competition = service.competition()
    return made


def log_in(service, name: str, *, address: str = "192.0.2.1", browsers=(), days: int = 0):
    with service.database.write() as session:
        logins.note_place(
            session,
            user=session.get_one(User, service.users[name].id),
            address=address,
            browsers=browsers,
            secret=SECRET,
            now=service.now + timedelta(days=days),
        )


def found(service, competition: Competition, days: int = 0) -> list[SharedPlace]:
    with service.database.read() as session:
        return same_people.shared_places(
            session,
            competition=session.get_one(Competition, competition.id),
            now=service.now + timedelta(days=days),
        )


def test_teams_sharing_a_browser_and_addresses_are_shown_with_counts_and_times(
    service, competition: Competition
):
    for name in ("ada", "bob", "eve"):
        service.submit(competition, user=name, seed=len(name) + ord(name[0]))
    log_in(service, "ada", browsers=["a"])
    log_in(service, "bob", browsers=["b", "a"], days=1)
    log_in(service, "bob", address="2001:db8::1", days=2)
    # This address is in the same /64 network.
    log_in(service, "ada", address="2001:db8::2", days=3)
    log_in(service, "eve", address="198.51.100.7", browsers=["e"])

    shared = found(service, competition, days=3)

    assert [place.kind for place in shared] == [PlaceKind.BROWSER, PlaceKind.ADDRESS]
    browser, addresses = ({each.person.name: each for each in place.logins} for place in shared)
    assert {name: each.count for name, each in browser.items()} == {"ada": 1, "bob": 1}
    assert {name: each.count for name, each in addresses.items()} == {"ada": 2, "bob": 2}
    assert addresses["ada"].first_at == service.now
    assert addresses["ada"].last_at == service.now + timedelta(days=3)


def test_address_shared_by_many_teams_is_left_out(service, competition: Competition):
    names = [f"student {number}" for number in range(MOST_NAMED_TEAMS + 1)]
    for number, name in enumerate(names):
        service.submit(competition, user=name, seed=number)
        log_in(service, name)

    assert found(service, competition) == []


def test_teammates_and_non_participants_are_not_reported(service, competition: Competition):
    other = service.competition("other")
    service.submit(competition, user="ada")
    service.submit(other, user="bob")
    service.user("eve")
    with service.database.write() as session:
        team = session.scalars(select(Team).where(Team.competition_id == competition.id)).first()
        session.add(
            TeamMember(
                competition_id=competition.id,
                team_id=team.id,
                user_id=service.users["eve"].id,
                joined_at=service.now,
            )
        )
    for name in ("ada", "bob", "eve"):
        log_in(service, name, browsers=["same"])

    assert found(service, competition) == []


def test_nothing_is_stored_in_plain_text_or_longer_than_30_days(service, competition: Competition):
    for name in ("ada", "bob"):
        service.submit(competition, user=name, seed=ord(name[0]))
        log_in(service, name, browsers=["number of a browser"])
    with service.database.read() as session:
        for place in session.scalars(select(LoginPlace)):
            assert len(place.place_hash) == 64
            assert "192.0.2" not in str(vars(place)) and "browser'" not in place.place_hash
    assert len(found(service, competition, days=29)) == 2
    assert found(service, competition, days=30) == []
    log_in(service, "ada", days=30)
    with service.database.read() as session:
        is_old = logins.is_old_place(service.now + timedelta(days=30))
        assert session.scalar(select(func.count()).select_from(LoginPlace).where(~is_old)) == 1
    # The worker deletes the record, because the tests' clock is far in the past.
    assert forget_records(service.database)


def test_newest_of_a_users_many_addresses_are_kept(service):
    service.user("ada")
    for number in range(logins.MOST_PLACES + 5):
        log_in(service, "ada", address=f"192.0.2.{number}", days=number)
    with service.database.read() as session:
        kept = session.scalars(select(LoginPlace.last_login_at)).all()
        assert session.scalar(select(func.count()).select_from(Mail)) == 0
    assert len(kept) == logins.MOST_PLACES
    assert min(kept) == service.now + timedelta(days=5)
