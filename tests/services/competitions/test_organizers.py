"""Organizer roles: permissions, and the guarantee of at least one owner."""

import pytest

from grader.models import Role
from grader.services.competitions import organizers
from grader.services.identity import accounts
from grader.services.site.log import Actor
from tests.fixtures.refusals import refused


@pytest.fixture
def competition(service):
    """A competition created by Ada."""
    return service.competition(actor=Actor.of(service.user("ada")))


def role_of(service, competition, name):
    with service.database.read() as session:
        return organizers.role_of(session, competition=competition, user=service.user(name))


def act(service, function, competition, name, **given):
    user = service.user(name)
    return service.act(function, competition=competition, user=user, actor=Actor(None, "tests"), **given)


@pytest.mark.parametrize("found", [None, *Role])
@pytest.mark.parametrize("needed", list(Role))
def test_role_includes_the_permissions_of_lower_roles(found, needed):
    order = [None, Role.VIEWER, Role.EDITOR, Role.OWNER]
    assert organizers.reaches(found, needed) == (order.index(found) >= order.index(needed))


def test_role_belongs_to_one_competition_and_administrators_own_all(service, competition):
    other = service.competition("other", actor=Actor.shell())
    service.user("root", is_admin=True)
    assert [role_of(service, competition, name) for name in ("ada", "bob", "root")] == [
        *(Role.OWNER, None, Role.OWNER)
    ]
    assert [role_of(service, other, name) for name in ("ada", "root")] == [None, Role.OWNER]
    with service.database.read() as session:
        assert organizers.list_all(session, competition=other) == []
        assert organizers.role_of(session, competition=competition, user=None) is None


def test_user_has_only_one_role_and_only_organizers_are_changed(service, competition):
    act(service, organizers.add, competition, "bob", role=Role.VIEWER)
    with refused("already_organizer"):
        act(service, organizers.add, competition, "bob", role=Role.OWNER)
    act(service, organizers.change, competition, "bob", role=Role.EDITOR)
    assert role_of(service, competition, "bob") is Role.EDITOR
    for function, given in ((organizers.change, {"role": Role.OWNER}), (organizers.remove, {})):
        with refused("unknown_organizer"):
            act(service, function, competition, "carl", **given)


def test_last_owner_cannot_be_removed(service, competition):
    act(service, organizers.add, competition, "bob", role=Role.EDITOR)
    with refused("last_owner"):
        act(service, organizers.remove, competition, "ada")
    with refused("last_owner"):
        act(service, organizers.change, competition, "ada", role=Role.VIEWER)
    with refused("only_owner"):
        service.act(accounts.delete_account, user=service.users["ada"], secret="s")
    assert role_of(service, competition, "ada") is Role.OWNER
    act(service, organizers.change, competition, "bob", role=Role.OWNER)
    service.act(accounts.delete_account, user=service.users["ada"], secret="s")
    with service.database.read() as session:
        left = organizers.list_all(session, competition=competition)
    assert [each.user.name for each in left] == ["bob"]


def test_owners_editors_and_administrators_are_notified_of_open_tasks(service, competition):
    act(service, organizers.add, competition, "edith", role=Role.EDITOR)
    act(service, organizers.add, competition, "vic", role=Role.VIEWER)
    service.user("root", is_admin=True)
    with service.database.read() as session:
        told = organizers.to_notify(session, competition=competition)
    assert [user.name for user in told] == ["ada", "edith", "root"]
