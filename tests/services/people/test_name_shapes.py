"""Names that look alike by punctuation: refused to newcomers, and left to those who have them."""

from typing import Any

import pytest
from sqlalchemy import select, update

from grader.models import Team, User
from grader.services.accounts import deletion
from grader.services.accounts.accounts import InvalidAccount, NameTaken
from grader.services.people import directory, name_shapes, names
from grader.services.people.names import ReservedName
from grader.services.teams import rosters, teams
from grader.services.teams.teams import TeamNameTaken

pytestmark = pytest.mark.both_databases


def forget_shapes(service: Any) -> None:
    """Leave the rows as a version wrote them that knew no shapes."""
    with service.database.write() as session:
        for table in (User, Team):
            session.execute(update(table).values(name_shape=None))


def rename(service: Any, competition: Any, user: str, name: str) -> None:
    with service.database.write() as session:
        teams.rename(session, competition=competition, user=service.user(user), name=name, now=service.now)


@pytest.mark.parametrize("is_old", [False, True])
def test_an_account_cannot_look_like_another_by_punctuation(service: Any, is_old: bool) -> None:
    service.user("Team Alpha")
    if is_old:
        forget_shapes(service)
    for twin in ("\u00b7Team Alpha", "Team Alpha.", "TeamAlpha"):
        with pytest.raises(NameTaken):
            service.user(twin)
    service.user("Team Alpha 2")


@pytest.mark.parametrize("is_old", [False, True])
def test_a_team_cannot_look_like_another_by_punctuation(service: Any, is_old: bool) -> None:
    competition = service.competition()
    service.submit(competition, user="Team Alpha")
    service.submit(competition, user="bob")
    if is_old:
        forget_shapes(service)
    with pytest.raises(TeamNameTaken):
        rename(service, competition, "bob", "Team-Alpha.")
    rename(service, competition, "bob", "Team Beta")
    rename(service, competition, "Team Alpha", "Team Alpha!")  # it may look like itself


def test_names_that_collide_already_stay_and_their_people_log_in(service: Any) -> None:
    first, second = service.user("Team Alpha"), service.user("other")
    with service.database.write() as session:
        old = session.get_one(User, second.id)
        old.name, old.name_folded, old.name_key = "Team Alpha.", "team alpha.", names.name_key("Team Alpha.")
    forget_shapes(service)
    with pytest.raises(NameTaken):
        service.user("Team_Alpha")
    service.user("Newcomer")
    with service.database.read() as session:
        assert directory.get(session, name="Team Alpha").id == first.id
        assert directory.get(session, name="team alpha.").id == second.id
        shapes = session.scalars(select(User.name_shape).order_by(User.id)).all()
    assert shapes[0] == names.name_shape("Team Alpha") != shapes[1]


def test_a_version_that_knows_no_shapes_goes_on_beside_this_one(service: Any) -> None:
    service.user("Ada")
    with service.database.write() as session:  # as it writes accounts
        session.add(
            User(
                name="Bob!",
                name_folded="bob!",
                name_key=names.name_key("Bob!"),
                password_hash="",
                created_at=service.now,
            )
        )
    for twin in ("Bob!", "Bob", "b0b"):
        with pytest.raises(NameTaken):
            service.user(twin)


def test_reserved_names_are_refused_to_people_and_teams_with_the_reason(service: Any) -> None:
    with pytest.raises(InvalidAccount) as refused:
        service.user("\u041erganizers")
    assert "is reserved" in refused.value.problems["name"]
    competition = service.competition()
    service.submit(competition)
    with pytest.raises(ReservedName):
        rename(service, competition, "ada", "The Organizers")
    with pytest.raises(ReservedName):
        rename(service, competition, "ada", "deleted-1")


def test_who_has_a_reserved_name_already_takes_part_under_another_team_name(service: Any) -> None:
    competition = service.competition()
    admin = service.user("admin", is_admin=True)
    with service.database.write() as session:
        session.get_one(User, admin.id).is_admin = False
    admin.is_admin = False
    assert service.submit(competition, user="admin").submission.team.name == "Team of admin"


def test_a_deleted_account_frees_the_shape_of_its_name(service: Any) -> None:
    ada = service.user("Ada.")
    with service.database.write() as session:
        deletion.delete_account(session, user=ada, now=service.now)
    service.user("Ada")
    with service.database.read() as session:
        gone = session.get_one(User, ada.id)
    assert gone.name_shape == names.name_shape(f"deleted-{ada.id}")


def test_a_free_name_is_free_of_look_alikes_too(service: Any) -> None:
    competition = service.competition()
    service.submit(competition, user="Ada")
    with service.database.write() as session:
        assert rosters.free_name(session, competition=competition, name="A-d-a") == "A-d-a (2)"
        assert name_shapes.is_taken_by_team(session, competition=competition, name="ADA")
