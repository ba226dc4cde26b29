"""Extra submissions: recipients, days, effect on the limits."""

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from sqlalchemy import select

from grader.models import AuditEntry, Competition, SubmissionGrant, Team
from grader.services.competitions import acting
from grader.services.site import log
from grader.services.site.log import Actor
from grader.services.teams import grants, limits, rosters
from tests.fixtures.refusals import refused

DAY = timedelta(days=1)
TODAY = date(2026, 1, 5)


def give(service, competition, *, team: str | None = "ada", day: date = TODAY, count: int = 2):
    with service.database.write() as session:
        found = None
        if team is not None:
            found = rosters.find_team(session, competition=competition, user=service.user(team))
        act = acting.begin(session, competition=competition, actor=Actor.shell(), now=service.now)
        grants.grant(act, team=found, day=day, count=count, reason="The queue stood still for two hours")


def test_team_can_use_exactly_its_extra_submissions(service):
    competition = service.competition(max_daily_submissions=1)
    service.submit(competition)
    service.submit(competition, user="bob")
    give(service, competition)
    for seed in (2, 3):
        service.submit(competition, seed=seed)
    with refused("daily_limit_reached", match="today's limit of 3 submissions"):
        service.submit(competition, seed=4)
    with refused("daily_limit_reached"):
        service.submit(competition, user="bob", seed=4)


def test_grant_to_all_includes_future_teams_and_grants_add_up(service):
    competition = service.competition(max_daily_submissions=1)
    service.submit(competition)
    give(service, competition, team=None, count=1)
    give(service, competition, count=1)
    for user, count in (("ada", 2), ("new", 2)):
        for seed in range(count):
            service.submit(competition, user=user, seed=10 + seed)
        with refused("daily_limit_reached"):
            service.submit(competition, user=user, seed=20)


def test_grant_applies_to_its_day_and_still_raises_the_total(service):
    competition = service.competition(max_daily_submissions=3, max_total_submissions=3)
    for seed in range(3):
        service.submit(competition, seed=seed)
    give(service, competition, day=TODAY + DAY, count=1)
    with refused("total_limit_reached"):
        service.submit(competition, seed=4)
    with service.database.read() as session:
        team = rosters.find_team(session, competition=competition, user=service.user())
        tomorrow, after = (
            limits.allowance(session, competition=competition, team=team, now=service.now + days * DAY)
            for days in (1, 2)
        )
    assert (tomorrow.max_daily, tomorrow.granted_today, tomorrow.left) == (4, 1, 1)
    assert (after.max_daily, after.granted_today, after.max_total, after.left) == (3, 0, 4, 1)


def test_public_log_shows_recipient_number_and_reason(service):
    competition = service.competition(max_daily_submissions=1)
    service.submit(competition)
    give(service, competition)
    with service.database.read() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "grant.give")).one()
        assert log.with_names(entry.public_text, log.names(session, [entry])) == (
            "The team ada received 2 extra submissions on 2026-01-05 (UTC), until 2026-01-06 00:00 UTC: "
            "The queue stood still for two hours"
        )
        given = grants.list_newest(session, competition=competition)
        assert log.with_names(entry.subject, log.names(session, [entry])) == "team ada"
    assert entry.after == {"day": "2026-01-05", "count": 2}
    assert [(each.grant.count, each.team) for each in given] == [(2, "ada")]
    assert given[0].grant.granted_at == datetime(2026, 1, 5, 12, tzinfo=UTC)


def test_newest_grants_are_listed_and_a_team_sees_its_own_and_general_ones(service):
    close = datetime(2026, 1, 5, 22, 30, tzinfo=UTC)
    competition = service.competition(max_daily_submissions=1, closes_at=close, takes_late_submissions=False)
    ada, bob = (service.submit(competition, user=name).submission.team_id for name in ("ada", "bob"))

    def listed(team_id: int | None = None) -> list[tuple[str | None, int]]:
        with service.database.read() as session:
            team = None if team_id is None else session.get_one(Team, team_id)
            found = grants.list_newest(session, competition=competition, team=team)
        assert {each.ends_at for each in found} == {close}
        return [(each.team, each.grant.count) for each in found]

    def give_all(*given: tuple[int | None, int]):
        with service.database.write() as session:
            for team_id, count in given:
                session.add(
                    SubmissionGrant(
                        competition_id=competition.id,
                        team_id=team_id,
                        day=TODAY,
                        count=count,
                        reason="The queue stood still",
                        granted_at=service.now,
                    )
                )
                session.flush()

    give_all((None, 1), (ada, 2), (bob, 3))
    assert listed() == [("bob", 3), ("ada", 2), (None, 1)]
    assert listed(ada) == [("ada", 2), (None, 1)]
    with service.database.read() as session:
        teams = [session.get_one(Team, bob)]
        granted = [
            limits.granted_by_now(session, competition=competition, teams=teams, now=service.now + days * DAY)
            for days in (-1, 0, 1)
        ]
    assert granted == [0, 4, 4]
    give_all(*((None, count) for count in range(10, 60)))
    assert listed() == [(None, count) for count in range(59, 9, -1)]


def test_grant_ends_with_the_close_of_its_competition_in_utc():
    east = timezone(timedelta(hours=9))
    close = datetime(2026, 1, 6, 8, 30, tzinfo=east)  # 23:30 UTC on the previous day
    open_ended, strict = Competition(), Competition(closes_at=close, takes_late_submissions=False)
    late = Competition(closes_at=close, takes_late_submissions=True)
    midnight = datetime(2026, 1, 6, tzinfo=UTC)
    assert grants.ends_at(open_ended, day=TODAY) == grants.ends_at(late, day=TODAY) == midnight
    ends = grants.ends_at(strict, day=TODAY)
    assert (ends, ends.tzinfo) == (close, UTC)
    assert grants.ends_at(strict, day=TODAY - DAY) == midnight - DAY
    assert grants.ends_at(strict, day=TODAY, closes_at=close - timedelta(hours=1)) == close - timedelta(
        hours=1
    )
    assert grants.ends_at(open_ended, day=date.max) == datetime(9999, 12, 31, tzinfo=UTC)


GRANT = {"team": None, "day": TODAY, "count": 1, "reason": "An outage"}


@pytest.mark.parametrize(
    ("given", "of_competition", "told"),
    [
        ({"count": 1}, {}, None),
        ({"count": 1000}, {}, None),
        ({"count": 0}, {}, "Enter 1 to 1,000 extra submissions, not 0"),
        ({"count": 1001}, {}, "not 1,001"),
        ({"day": TODAY - DAY}, {}, "2026-01-04 (UTC) is in the past"),
        ({"day": None}, {}, "Enter the day as a date, such as 2026-03-14"),
        ({"day": TODAY + DAY}, {"closes_at": datetime(2026, 1, 6, tzinfo=UTC)}, None),
        (
            {"day": TODAY + DAY},
            {"closes_at": datetime(2026, 1, 5, 23, tzinfo=UTC)},
            "is after the close, and late",
        ),
        (
            {"day": TODAY + DAY},
            {"closes_at": datetime(2026, 1, 5, 23, tzinfo=UTC), "takes_late_submissions": True},
            None,
        ),
        ({"reason": ""}, {}, "Enter a reason"),
        ({"team": Team(competition_id=1, name="a")}, {}, None),
        ({"team": Team(competition_id=2, name="a")}, {}, "The team a no longer competes in"),
        (
            {"team": Team(competition_id=1, name="a", merged_into_id=3)},
            {},
            "The team a no longer competes in",
        ),
        ({}, {"max_daily_submissions": None}, "neither a daily nor a total limit"),
        ({}, {"max_daily_submissions": None, "max_total_submissions": 9}, None),
    ],
)
def test_invalid_grant_is_rejected_with_its_reason(
    given: dict[str, Any], of_competition: dict[str, Any], told: str | None
):
    competition = Competition(
        **{"id": 1, "max_daily_submissions": 5, "takes_late_submissions": False} | of_competition
    )
    now = datetime(2026, 1, 6, 8, tzinfo=timezone(timedelta(hours=9)))  # the 5th in UTC
    problems = list(grants._problems(competition, **GRANT | given, now=now))
    assert len(problems) == (told is not None)
    assert all(told in problem for problem in problems)
