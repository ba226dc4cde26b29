"""Rank change events: rate limit and aggregation."""

from datetime import timedelta

import pytest
from sqlalchemy import insert, select, update

from grader.models import Competition, Standing, Submission, Team, User, Webhook
from grader.services.webhooks import timed_events
from grader.services.webhooks.timed_events import PERIOD, PLACES
from tests.fixtures.receivers import deliveries, subscribe

URL = "https://board.example/"
TEAMS = 10_000


@pytest.fixture
def competition(service) -> Competition:
    """A competition with three teams on its leaderboard: Ada, Bob, Cleo."""
    competition: Competition = service.competition()
    for place, name in enumerate(("ada", "bob", "cleo")):
        service.score(service.submit(competition, user=name, seed=place))
    order(service, "ada", "bob", "cleo")
    return competition


def order(service, *names: str):
    """Give the teams scores in this order."""
    with service.database.write() as session:
        for place, name in enumerate(names):
            team = select(Team.id).where(Team.name == name).scalar_subquery()
            units = 90_000 - 10 * place
            session.execute(update(Standing).where(Standing.team_id == team).values(score_units=units))


def team_of(service, name: str) -> Team:
    with service.database.read() as session:
        return session.scalars(select(Team).where(Team.name == name)).one()  # type: ignore[no-any-return]


def look(service, after: timedelta = timedelta()) -> int:
    """Compare the ranks and write events; return the number of events."""
    now = service.now + after
    with service.database.read() as session:
        looks = timed_events.look_at_ranks(session, now=now)
    with service.database.write() as session:
        return timed_events.tell_ranks(session, looks=looks, now=now)


def ranks(service) -> list[list[tuple[int, int | None]]]:
    """Return the rank before and after each event, by team."""
    return [
        [(each["rank"], each["previous_rank"]) for each in row.details["changes"]]
        for row in deliveries(service.database)
        if row.event == "rank.changed"
    ]


def test_team_receives_its_own_change_once_in_five_minutes(service, competition: Competition):
    subscribe(service, competition, service.user("cleo"), URL, team=team_of(service, "cleo"))
    assert look(service) == 0  # the initial ranks
    order(service, "cleo", "ada", "bob")
    assert look(service) == 1
    order(service, "ada", "cleo", "bob")
    assert look(service, PERIOD / 2) == 0
    order(service, "ada", "bob", "cleo")
    order(service, "ada", "cleo", "bob")
    assert look(service, PERIOD) == 1
    assert look(service, 3 * PERIOD) == 0
    assert ranks(service) == [[(1, 3)], [(2, 1)]]


def test_change_undone_within_five_minutes_causes_no_event(service, competition: Competition):
    subscribe(service, competition, service.user("cleo"), URL, team=team_of(service, "cleo"))
    look(service)
    order(service, "cleo", "ada", "bob")
    look(service)
    order(service, "ada", "bob", "cleo")
    order(service, "cleo", "ada", "bob")
    assert look(service, PERIOD) == 0


def test_first_rank_is_a_change_from_none(service, competition: Competition):
    service.user("dan")
    accepted = service.submit(competition, user="dan", seed=9)
    subscribe(service, competition, service.user("dan"), URL, team=team_of(service, "dan"))
    look(service)
    service.score(accepted)
    assert look(service) == 1
    ((_, previous),) = ranks(service)[0]
    assert previous is None


def test_organizers_receive_all_changes_in_one_event(service, competition: Competition):
    subscribe(service, competition, service.user("olga", is_admin=True), URL)
    look(service)
    order(service, "cleo", "ada", "bob")
    assert look(service) == 1
    assert ranks(service) == [[(1, 3), (2, 1), (3, 2)]]


@pytest.mark.both_databases
def test_only_one_of_two_simultaneous_processes_writes_events(service, competition: Competition):
    subscribe(service, competition, service.user("olga", is_admin=True), URL)
    look(service)
    order(service, "cleo", "ada", "bob")
    with service.database.read() as session:
        looks = [timed_events.look_at_ranks(session, now=service.now) for _ in range(2)]
    for each in looks:
        service.act(timed_events.tell_ranks, looks=each)
    assert len(ranks(service)) == 1


def test_reveal_switches_to_private_ranks_without_a_rank_event(service, competition: Competition):
    subscribe(service, competition, service.user("cleo"), URL, team=team_of(service, "cleo"))
    look(service)
    service.now += timedelta(days=3650)
    service.reveal(competition)
    assert look(service) == 0
    order(service, "cleo", "ada", "bob")
    order(service, "bob", "ada", "cleo")
    look(service, PERIOD)
    assert {row.details.get("split") for row in deliveries(service.database)} <= {"private", None}


def test_new_leader_of_ten_thousand_teams_writes_one_row_for_each_webhook(service, competition: Competition):
    many_teams(service, competition)
    subscribe(service, competition, service.user("olga", is_admin=True), URL)
    subscribe(service, competition, service.user("bob"), URL, team=team_of(service, "bob"))
    look(service)
    with service.database.write() as session:
        last = session.scalar(select(Standing.team_id).order_by(Standing.score_units).limit(1))
        session.execute(update(Standing).where(Standing.team_id == last).values(score_units=99_999))
    assert deliveries(service.database) == []  # A new score alone writes no rows.
    assert look(service) == 2
    rows = deliveries(service.database)
    assert [len(row.details["changes"]) for row in rows] == [PLACES, 1]
    with service.database.read() as session:
        assert all(len(webhook.ranks["ranks"]) <= PLACES for webhook in session.scalars(select(Webhook)))


def many_teams(service, competition: Competition):
    """Add teams with one standing each, all ranked below the existing ones."""
    version_id = service.reload(competition).live_scoring_version_id
    with service.database.write() as session:
        submission = session.scalars(select(Submission).limit(1)).one()
        user_id = session.scalar(select(User.id).limit(1))
        names = [f"team {number}" for number in range(TEAMS)]
        made = {"competition_id": competition.id, "created_at": service.now, "leader_id": user_id}
        session.execute(
            insert(Team), [{**made, "name": name, "name_key": name, "name_shape": name} for name in names]
        )
        ids = session.scalars(select(Team.id).where(Team.name.like("team %"))).all()
        session.execute(
            insert(Standing),
            [
                {
                    "scoring_version_id": version_id,
                    "split": "public",
                    "team_id": team_id,
                    "submission_id": submission.id,
                    "score_units": 50_000 - place,
                    "submitted_at": service.now,
                }
                for place, team_id in enumerate(ids)
            ],
        )
