"""Rejection of reserved names, and of names that differ from others only in punctuation."""

import pytest

from grader.models import User
from grader.models.teams import random_alias
from grader.services.identity import names
from grader.services.identity.accounts import InvalidAccount
from grader.services.teams import rosters, teams
from tests.fixtures.refusals import refused

pytestmark = pytest.mark.both_databases


def rename(service, competition, user, name):
    service.act(teams.rename, competition=competition, user=service.user(user), name=name)


def test_account_name_cannot_differ_only_in_punctuation(service):
    service.user("Team Alpha")
    for twin in ("\u00b7Team Alpha", "Team Alpha.", "TeamAlpha", "TEAM ALPHA", "\uff34eam Alpha"):
        with refused("name_taken"):
            service.user(twin)
    service.user("Team Alpha 2")


def test_team_name_cannot_differ_only_in_punctuation(service):
    competition = service.competition()
    service.submit(competition, user="Team Alpha")
    service.submit(competition, user="bob")
    with refused("team_name_taken"):
        rename(service, competition, "bob", "Team-Alpha.")
    rename(service, competition, "bob", "Team Beta")
    rename(service, competition, "Team Alpha", "Team Alpha!")  # A name may resemble the team's own name.


def test_team_name_cannot_look_like_the_alias_of_another_team(service):
    competition = service.competition()
    alias = service.submit(competition).submission.team.alias
    service.submit(competition, user="bob")
    for twin in (alias, alias.lower(), alias.replace(" ", "-"), alias.replace("e", "\u0435")):
        with refused("team_name_taken"):
            rename(service, competition, "bob", twin)
    rename(service, competition, "ada", alias)


@pytest.mark.parametrize("_", range(50))
def test_key_of_an_alias_is_the_alias_in_lower_case(_):
    word, code = random_alias().split()
    assert names.name_key(f"{word} {code}") == names.name_key(word) + code.lower()


def test_reserved_names_are_rejected_for_users_and_teams_with_the_reason(service):
    with pytest.raises(InvalidAccount) as invalid:
        service.user("\u041erganizers")
    assert "is reserved" in invalid.value.by_field["name"]
    competition = service.competition()
    service.submit(competition)
    with refused("reserved_name"):
        rename(service, competition, "ada", "The Organizers")
    with refused("reserved_name"):
        rename(service, competition, "ada", "deleted-1")


def test_user_with_an_already_reserved_name_participates_under_another_team_name(service):
    competition = service.competition()
    admin = service.user("admin", is_admin=True)
    with service.database.write() as session:
        session.get_one(User, admin.id).is_admin = False
    admin.is_admin = False
    assert service.submit(competition, user="admin").submission.team.name == "Team of admin"


def test_free_name_has_no_similar_names(service):
    competition = service.competition()
    service.submit(competition, user="Ada")
    with service.database.write() as session:
        assert rosters.free_name(session, competition=competition, name="A-d-a") == "A-d-a (2)"
        assert names.is_taken_by_team(session, competition=competition, name="ADA")
