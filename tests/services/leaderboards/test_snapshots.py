"""Snapshots of leaderboards: content tokens, values of one state, bounds."""

import threading
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from grader.db import APART, Database
from grader.models import (
    ContentState,
    Login,
    ScoringJob,
    Standing,
    Submission,
    Team,
    TeamMember,
    User,
)
from grader.services.leaderboards import leaderboard, snapshots
from grader.services.leaderboards.lines import Sort
from grader.services.leaderboards.snapshots import Recent, Snapshots
from tests.fixtures.statements import recorded

PAGES = tuple(leaderboard.BoardRequest(sort=sort, search=text) for sort in Sort for text in ("", "a"))
CHANGES = {
    "team": update(Team).values(name=Team.name + " a"),
    "member": update(User).values(name=User.name + " a"),
    "score": update(Standing).values(score_units=Standing.score_units + 1),
    "entries": update(Submission).values(submitted_at=Submission.submitted_at),
}
IDENTIFYING = {"login", "api_token"}


@pytest.fixture
def competition(service):
    """A competition in which three teams have a scored file each."""
    competition = service.competition()
    for number, name in enumerate(("ada", "bob", "cleo")):
        service.score(service.submit(competition, user=name, seed=number, skill=number / 5))
    return service.reload(competition)


def token(database: Database) -> str | None:
    with database.read() as session:
        return session.scalar(select(ContentState.token))


def board(service, session, competition, asked=None, kept=None):
    state = snapshots.of(session, kept, competition=competition, now=service.now) if kept else None
    options = {"snapshot": state} if state else {}
    return leaderboard.board_of(session, competition=competition, now=service.now, request=asked, **options)


@pytest.mark.parametrize("change", CHANGES)
def test_kept_pages_equal_pages_read_again_after_every_change(service, competition, change):
    kept = Snapshots()
    for _ in range(2):
        with service.database.read() as session:
            for asked in PAGES:
                fresh = board(service, session, competition, asked)
                assert board(service, session, competition, asked, kept) == fresh
                assert board(service, session, competition, asked, kept) == fresh
        before = token(service.database)
        with service.database.write() as session:
            session.execute(CHANGES[change])
        assert token(service.database) != before


def test_an_older_transaction_keeps_its_own_state(service, competition):
    kept = Snapshots()
    with service.database.read() as earlier:
        before = board(service, earlier, competition)
        with service.database.write() as session:
            session.execute(CHANGES["team"])
        with service.database.read() as later:
            assert board(service, later, competition, kept=kept) != before
        assert board(service, earlier, competition, kept=kept) == before


def test_new_submissions_jobs_and_rolled_back_changes_replace_no_token(service, competition):
    before = token(service.database)
    service.submit(competition, user="ada", seed=9)
    with service.database.write() as session:
        session.execute(update(ScoringJob).values(lease_until=service.now))
    with pytest.raises(ZeroDivisionError), service.database.write() as session:
        session.execute(CHANGES["team"])
        raise ZeroDivisionError
    with service.database.write() as session:
        session.scalars(select(Team)).all()
    assert token(service.database) == before


def test_pages_of_leaderboards_read_no_table_whose_changes_do_not_count(service, competition):
    with recorded(service.database) as sent, service.database.read() as session:
        for asked in PAGES:
            board(service, session, competition, asked)
    tables = {name.strip(",") for line in sent.lines for name in line.split()[1:]}
    assert tables >= {Standing.__tablename__, Team.__tablename__, TeamMember.__tablename__}
    assert not tables & (APART - IDENTIFYING) and Login.__tablename__ in APART


def test_a_value_is_used_for_a_minute_and_until_a_date_passes(service, competition):
    kept, competition.closes_at = Snapshots(), service.now + timedelta(seconds=1)
    with service.database.read() as session:
        states = {
            snapshots.of(session, kept, competition=competition, now=moment).state
            for moment in (
                service.now,
                service.now,
                service.now + timedelta(minutes=1),
                competition.closes_at,
            )
        }
    assert len(states) == 3


def test_recent_values_are_computed_once_and_bounded():
    recent, made = Recent(2), []

    def make() -> str:
        made.append(1)
        barrier.wait()
        return "value"

    barrier = threading.Barrier(2)
    threads = [threading.Thread(target=recent.get, args=("key", make)) for _ in range(3)]
    for thread in threads:
        thread.start()
    barrier.wait()
    for thread in threads:
        thread.join()
    assert made == [1]
    for key in ("a", "b", "key"):
        assert recent.get(key, lambda key=key: key) == key
