"""Extra submissions: who gets them, for which day, and what they raise."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from grader.models import AuditEntry, Team
from grader.services import audit, grants, limits, rosters
from grader.services.audit import Actor
from grader.services.grants import InvalidGrant
from grader.services.limits import DailyLimitReached, TotalLimitReached

DAY = timedelta(days=1)
TODAY = date(2026, 1, 5)


def give(
    service: Any, competition: Any, *, team: str | None = "ada", day: date = TODAY, count: int = 2
) -> None:
    with service.database.write() as session:
        found = None
        if team is not None:
            found = rosters.find_team(session, competition=competition, user=service.user(team))
        grants.grant(
            session,
            competition=competition,
            team=found,
            day=day,
            count=count,
            reason="The queue stood still for two hours",
            actor=Actor.shell(),
            now=service.now,
        )


def test_a_team_sends_what_it_was_granted_and_no_more(service: Any) -> None:
    competition = service.competition(max_daily_submissions=1)
    service.submit(competition)
    service.submit(competition, user="bob")
    give(service, competition)
    for seed in (2, 3):
        service.submit(competition, seed=seed)
    with pytest.raises(DailyLimitReached, match="3 submissions of today"):
        service.submit(competition, seed=4)
    with pytest.raises(DailyLimitReached):
        service.submit(competition, user="bob", seed=4)


def test_a_grant_to_all_is_also_for_teams_to_come_and_grants_add_up(service: Any) -> None:
    competition = service.competition(max_daily_submissions=1)
    service.submit(competition)
    give(service, competition, team=None, count=1)
    give(service, competition, count=1)
    for user, count in (("ada", 2), ("new", 2)):
        for seed in range(count):
            service.submit(competition, user=user, seed=10 + seed)
        with pytest.raises(DailyLimitReached):
            service.submit(competition, user=user, seed=20)


def test_a_grant_is_for_its_day_and_stays_in_the_total(service: Any) -> None:
    competition = service.competition(max_daily_submissions=3, max_total_submissions=3)
    for seed in range(3):
        service.submit(competition, seed=seed)
    give(service, competition, day=TODAY + DAY, count=1)
    with pytest.raises(TotalLimitReached):
        service.submit(competition, seed=4)
    with service.database.read() as session:
        team = rosters.find_team(session, competition=competition, user=service.user())
        tomorrow, after = (
            limits.allowance(session, competition=competition, team=team, now=service.now + days * DAY)
            for days in (1, 2)
        )
    assert (tomorrow.max_daily, tomorrow.granted_today, tomorrow.left) == (4, 1, 1)
    assert (after.max_daily, after.granted_today, after.max_total, after.left) == (3, 0, 4, 1)


def test_a_team_keeps_what_a_team_that_merged_into_it_was_granted(service: Any) -> None:
    competition = service.competition(max_daily_submissions=1)
    service.submit(competition)
    service.submit(competition, user="bob")
    give(service, competition, team="bob")
    with service.database.write() as session:
        ada, bob = (
            rosters.find_team(session, competition=competition, user=service.user(name))
            for name in ("ada", "bob")
        )
        bob.merged_into_id = ada.id
    with service.database.read() as session:
        team = session.get_one(Team, ada.id)
        allowance = limits.allowance(session, competition=competition, team=team, now=service.now)
    assert allowance.max_daily == 3


def test_everything_that_is_wrong_with_a_grant_is_told_at_once(service: Any) -> None:
    competition = service.competition(max_daily_submissions=1)
    with service.database.write() as session, pytest.raises(InvalidGrant) as refused:
        grants.grant(
            session,
            competition=competition,
            team=None,
            day=TODAY - DAY,
            count=0,
            reason=" ",
            actor=Actor.shell(),
            now=service.now,
        )
    assert len(refused.value.problems) == 3


def test_a_grant_without_a_limit_to_raise_is_refused(service: Any) -> None:
    competition = service.competition()
    with pytest.raises(InvalidGrant, match="neither a daily nor a total limit"):
        give(service, competition, team=None)


def test_everybody_reads_in_the_log_who_got_what_and_why(service: Any) -> None:
    competition = service.competition(max_daily_submissions=1)
    service.submit(competition)
    give(service, competition)
    with service.database.read() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "grant.give")).one()
        assert audit.told(entry.public_text, audit.names(session, [entry])) == (
            "The team ada got 2 extra submissions on 2026-01-05 (UTC), until 2026-01-06 00:00 UTC: "
            "The queue stood still for two hours"
        )
        given = grants.list_newest(session, competition=competition)
        assert audit.told(entry.subject, audit.names(session, [entry])) == "team ada"
    assert [(each.grant.count, each.team) for each in given] == [(2, "ada")]
    assert given[0].grant.granted_at == datetime(2026, 1, 5, 12, tzinfo=UTC)


def test_a_grant_to_all_says_so_in_the_log(service: Any) -> None:
    competition = service.competition(max_daily_submissions=1)
    give(service, competition, team=None, count=1)
    with service.database.read() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "grant.give")).one()
    assert entry.subject == "all teams"
    assert entry.public_text.startswith("Every team got 1 extra submission on 2026-01-05")


@pytest.mark.parametrize(
    ("now", "suggested", "left"),
    [
        (datetime(2026, 1, 5, 12, tzinfo=UTC), TODAY, timedelta(hours=12)),
        (datetime(2026, 1, 5, 21, tzinfo=UTC), TODAY, timedelta(hours=3)),
        (datetime(2026, 1, 5, 23, 27, tzinfo=UTC), TODAY + DAY, timedelta(minutes=33)),
    ],
)
def test_a_form_offers_the_next_day_where_today_is_nearly_over(
    service: Any, now: datetime, suggested: date, left: timedelta
) -> None:
    offered = grants.choice(service.competition(), now=now)
    assert (offered.today, offered.suggested, offered.left) == (TODAY, suggested, left)
    assert offered.is_short is (suggested != TODAY)
    assert offered.today_ends_at == datetime(2026, 1, 6, tzinfo=UTC)


def test_a_grant_ends_with_the_close_unless_late_files_are_taken(service: Any) -> None:
    close = datetime(2026, 1, 5, 22, 30, tzinfo=UTC)
    strict = service.competition(closes_at=close, takes_late_submissions=False)
    late = service.competition("late", closes_at=close, takes_late_submissions=True)
    assert grants.ends_at(strict, day=TODAY) == close
    assert grants.ends_at(late, day=TODAY) == datetime(2026, 1, 6, tzinfo=UTC)
    offered = grants.choice(strict, now=close - timedelta(minutes=5))
    assert (offered.suggested, offered.left, offered.is_short) == (TODAY, timedelta(minutes=5), True)
    assert grants.choice(strict, now=close + timedelta(minutes=5)).left == timedelta()


def test_the_last_day_of_the_calendar_has_an_end(service: Any) -> None:
    assert grants.ends_at(service.competition(), day=date.max).year == 9999
