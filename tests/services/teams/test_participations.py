"""Joining a competition: rules, codes, approval, deadlines."""

from datetime import timedelta

import pytest

from grader.models import EntryMode, RequestState
from grader.services.competitions import lookup, settings
from grader.services.site.log import Actor
from grader.services.submissions import situation
from grader.services.teams import participations
from grader.services.teams.participations import (
    EntryState,
)
from tests.fixtures.refusals import refused

DAY = timedelta(days=1)


def join(service, competition, user="ada", *, after=timedelta(), **given):
    who = service.user(user)
    return service.act(participations.join, competition=competition, user=who, **given, after=after)


def decide(service, competition, user, *, admits):
    who = service.user(user)
    return service.act(
        participations.decide, competition=competition, user=who, admits=admits, actor=Actor(None, "tests")
    )


def require(service, competition, user="ada", *, after=timedelta()):
    who = service.user(user)
    with service.database.write() as session:
        locked = lookup.lock(session, competition_id=competition.id)
        now = service.now + after
        found = situation.read(session, slug=locked.slug, user=who, now=now)
        if error := participations.refusal(locked, found.participation, now=now):
            raise error
        return participations.team_for_upload(
            session,
            competition=locked,
            user=who,
            participation=found.participation,
            team=found.team,
            now=now,
        )


def state(service, competition, user="ada"):
    with service.database.read() as session:
        found = participations.find(session, competition=competition, user=service.user(user))
        return participations.state(service.reload(competition), found)


def change(service, competition, **changes):
    service.act(settings.change, competition=competition, changes=changes)


def test_first_upload_joins_with_a_new_team_if_entry_is_unrestricted(service):
    competition = service.competition()
    assert state(service, competition) is EntryState.OUTSIDE
    team = require(service, competition)
    assert (team.name, team.leader_id) == ("ada", service.user("ada").id)
    assert require(service, competition).id == team.id
    assert state(service, competition) is EntryState.JOINED


def test_rules_must_be_accepted_before_the_first_upload(service):
    competition = service.competition(rules="Be kind.")
    with refused("not_joined", match="on its Rules page"):
        require(service, competition)
    with refused("rules_not_accepted"):
        join(service, competition)
    with refused("rules_changed"):
        join(service, competition, accepted_rules_version=7)
    assert join(service, competition, accepted_rules_version=1).rules_version == 1
    assert require(service, competition).name == "ada"


def test_changed_rules_must_be_accepted_before_the_next_upload(service):
    competition = service.competition(rules="Be kind.")
    join(service, competition, accepted_rules_version=1)
    require(service, competition)
    change(service, competition, rules="Be very kind.")
    assert service.reload(competition).rules_version == 2
    with refused("rules_changed", match="version 2"):
        require(service, competition)
    assert state(service, competition) is EntryState.RULES_CHANGED
    with refused("rules_changed"):
        join(service, competition, accepted_rules_version=1)
    assert join(service, competition, accepted_rules_version=2).rules_version == 2
    require(service, competition)


def test_code_allows_entry(service):
    competition = service.competition(entry_mode=EntryMode.CODE, entry_code="fair-2026")
    for wrong in ("", "fair", "fair-2026x", "\ud800"):
        with refused("wrong_entry_code"):
            join(service, competition, code=wrong)
    with refused("not_joined", match="on its Join page"):
        require(service, competition)
    join(service, competition, code=" fair-2026 ")
    require(service, competition)


def test_entry_request_waits_for_an_organizer(service):
    competition = service.competition(entry_mode=EntryMode.APPROVAL, rules="Be kind.")
    for name in ("ada", "bob"):
        assert join(service, competition, name, accepted_rules_version=1).state is RequestState.OPEN
        with refused("entry_pending"):
            require(service, competition, name)
    with service.database.read() as session:
        state = RequestState.OPEN
        waiting = participations.in_state(session, competition=competition, wanted=state)
        assert [each.user.name for each in waiting] == ["ada", "bob"]
    decide(service, competition, "ada", admits=True)
    require(service, competition, "ada")
    decide(service, competition, "bob", admits=False)
    with refused("not_admitted"):
        require(service, competition, "bob")
    with refused("not_admitted"):
        join(service, competition, "bob", accepted_rules_version=1)
    decide(service, competition, "bob", admits=True)
    require(service, competition, "bob")


def test_user_admitted_without_a_request_must_accept_the_rules(service):
    competition = service.competition(entry_mode=EntryMode.APPROVAL, rules="Be kind.")
    decide(service, competition, "ada", admits=True)
    with refused("rules_changed"):
        require(service, competition)
    join(service, competition, accepted_rules_version=1)
    require(service, competition)


def test_entry_ends_seven_days_before_the_close(service):
    competition = service.competition(closes_at=service.now + 30 * DAY)
    tick = timedelta(microseconds=1)
    require(service, competition, "ada", after=23 * DAY - tick)
    with refused("entry_closed"):
        require(service, competition, "bob", after=23 * DAY)
    require(service, competition, "ada", after=29 * DAY)


@pytest.mark.parametrize("takes_late", [True, False])
def test_users_can_join_after_the_reveal_if_late_files_are_accepted(service, takes_late):
    competition = service.competition(takes_late_submissions=takes_late)
    service.reveal(competition)
    if takes_late:
        require(service, competition)
    else:
        with refused("entry_closed"):
            require(service, competition)
