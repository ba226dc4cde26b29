"""Extra submissions: recipients, days, effect on the limits."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from sqlalchemy import select

from grader.models import AuditEntry, Competition, Team
from grader.services.competitions import acting
from grader.services.site import log
from grader.services.site.log import Actor
from grader.services.teams import grants, limits, rosters
from tests.fixtures.refusals import refused

DAY = timedelta(days=1)
TODAY = date(2026, 1, 5)


def give(service, competition, *, team="ada", day=TODAY, count=2):
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
        text = log.with_names(entry.public_text, log.names(session, [entry]))
    assert "2 extra submissions for team ada" in text and "stood still" in text
    assert entry.after == {"day": "2026-01-05", "count": 2}


def test_a_team_sees_its_own_and_general_grants_newest_first(service):
    competition = service.competition(max_daily_submissions=1)
    team_id, _ = (service.submit(competition, user=name).submission.team_id for name in ("ada", "bob"))
    for whose, count in ((None, 1), ("ada", 2), ("bob", 3)):
        give(service, competition, team=whose, count=count)
    with service.database.read() as session:
        ada = session.get_one(Team, team_id)
        given = {"competition": competition, "now": service.now - DAY}
        assert limits.granted_by_now(session, teams=[ada], **given) == 0
        given["now"] = service.now
        assert limits.granted_by_now(session, teams=[ada], **given) == 3
        found = [grants.list_newest(session, competition=competition, team=each) for each in (None, ada)]
    assert [[each.count for each in listed] for listed in found] == [[3, 2, 1], [2, 1]]


GRANT = {"team": None, "day": TODAY, "count": 1, "reason": "An outage"}


@pytest.mark.parametrize(
    ("given", "of_competition", "is_valid"),
    [
        ({"count": 1000}, {}, True),
        ({"count": 0}, {}, False),
        ({"count": 1001}, {}, False),
        ({"day": TODAY - DAY}, {}, False),
        ({"day": None}, {}, False),
        ({"day": TODAY + DAY}, {"closes_at": datetime(2026, 1, 6, tzinfo=UTC)}, True),
        ({"day": TODAY + DAY}, {"closes_at": datetime(2026, 1, 5, 23, tzinfo=UTC)}, False),
        (
            {"day": TODAY + DAY},
            {"closes_at": datetime(2026, 1, 5, 23, tzinfo=UTC), "takes_late_submissions": True},
            True,
        ),
        ({"reason": ""}, {}, False),
        ({"team": Team(competition_id=2, name="a")}, {}, False),
        ({"team": Team(competition_id=1, name="a", merged_into_id=3)}, {}, False),
        ({}, {"max_daily_submissions": None}, False),
        ({}, {"max_daily_submissions": None, "max_total_submissions": 9}, True),
    ],
)
def test_invalid_grant_is_rejected(given, of_competition, is_valid):
    competition = Competition(
        **{"id": 1, "max_daily_submissions": 5, "takes_late_submissions": False} | of_competition
    )
    now = datetime(2026, 1, 6, 8, tzinfo=timezone(timedelta(hours=9)))  # the 5th in UTC
    assert (not list(grants._problems(competition, **GRANT | given, now=now))) is is_valid
