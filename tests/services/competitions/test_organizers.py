"""Organizer roles: permissions, and the guarantee of at least one owner."""

import pytest

from grader.errors import OrganizerRefusal, Refusal
from grader.models import Role
from grader.services.competitions import organizers
from grader.services.competitions.organizers import (
    LastOwner,
    NotOrganizer,
)
from grader.services.identity import accounts
from grader.services.site import log
from grader.services.site.log import Actor

TESTS = Actor(None, "tests")


@pytest.fixture
def competition(service):
    """A competition created by Ada."""
    return service.competition(actor=Actor.of(service.user("ada")))


def role_of(service, competition, name: str) -> Role | None:
    with service.database.read() as session:
        return organizers.role_of(session, competition=competition, user=service.user(name))


def act(service, function, competition, name: str, **given):
    user = service.user(name)
    return service.act(function, competition=competition, user=user, actor=TESTS, **given)


def test_creator_of_a_competition_owns_it(service, competition):
    assert role_of(service, competition, "ada") is Role.OWNER
    assert role_of(service, competition, "bob") is None


def test_competition_created_in_the_shell_is_managed_by_administrators_only(service):
    competition = service.competition(actor=Actor.shell())
    service.user("root", is_admin=True)
    with service.database.read() as session:
        assert organizers.list_all(session, competition=competition) == []
    assert role_of(service, competition, "root") is Role.OWNER


def test_other_users_have_no_role(service, competition):
    with service.database.read() as session:
        assert organizers.role_of(session, competition=competition, user=None) is None


def test_role_in_one_competition_does_not_apply_to_another(service, competition):
    other = service.competition("other")
    assert role_of(service, other, "ada") is None
    assert role_of(service, competition, "ada") is Role.OWNER


@pytest.mark.parametrize("found", [None, *Role])
@pytest.mark.parametrize("needed", list(Role))
def test_role_includes_the_permissions_of_lower_roles(service, competition, found: Role | None, needed: Role):
    if found is not None:
        act(service, organizers.add, competition, "bob", role=found)
    order = [None, Role.VIEWER, Role.EDITOR, Role.OWNER]
    with service.database.read() as session:
        if order.index(found) >= order.index(needed):
            organizers.require(session, competition=competition, user=service.user("bob"), role=needed)
        else:
            with pytest.raises(NotOrganizer, match=needed if needed is not Role.VIEWER else "no role"):
                organizers.require(session, competition=competition, user=service.user("bob"), role=needed)


def test_user_has_only_one_role(service, competition):
    act(service, organizers.add, competition, "bob", role=Role.VIEWER)
    with pytest.raises(OrganizerRefusal, match="bob already has the role viewer"):
        act(service, organizers.add, competition, "bob", role=Role.OWNER)
    act(service, organizers.change, competition, "bob", role=Role.EDITOR)
    assert role_of(service, competition, "bob") is Role.EDITOR


def test_last_owner_cannot_be_removed(service, competition):
    act(service, organizers.add, competition, "bob", role=Role.EDITOR)
    with pytest.raises(LastOwner, match="ada is the only owner"):
        act(service, organizers.remove, competition, "ada")
    with pytest.raises(LastOwner):
        act(service, organizers.change, competition, "ada", role=Role.VIEWER)
    assert role_of(service, competition, "ada") is Role.OWNER
    act(service, organizers.change, competition, "bob", role=Role.OWNER)
    act(service, organizers.remove, competition, "ada")
    assert role_of(service, competition, "ada") is None


def test_editor_can_be_demoted_and_removed_without_an_owner(service):
    competition = service.competition(actor=Actor.shell())
    act(service, organizers.add, competition, "bob", role=Role.EDITOR)
    act(service, organizers.change, competition, "bob", role=Role.VIEWER)
    act(service, organizers.remove, competition, "bob")


def test_only_organizers_can_be_changed_or_removed(service, competition):
    with pytest.raises(OrganizerRefusal, match="bob is not an organizer"):
        act(service, organizers.change, competition, "bob", role=Role.OWNER)
    with pytest.raises(OrganizerRefusal):
        act(service, organizers.remove, competition, "bob")


def test_owners_editors_and_administrators_are_notified_of_open_tasks(service, competition):
    act(service, organizers.add, competition, "edith", role=Role.EDITOR)
    act(service, organizers.add, competition, "vic", role=Role.VIEWER)
    service.user("root", is_admin=True)
    with service.database.read() as session:
        told = organizers.to_notify(session, competition=competition)
    assert [user.name for user in told] == ["ada", "edith", "root"]


def test_every_change_of_organizers_is_recorded_in_the_audit(service, competition):
    act(service, organizers.add, competition, "bob", role=Role.VIEWER)
    act(service, organizers.change, competition, "bob", role=Role.OWNER)
    act(service, organizers.change, competition, "bob", role=Role.OWNER)  # This changes nothing.
    act(service, organizers.remove, competition, "bob")
    with service.database.read() as session:
        page, names = log.list_after(session, competition=competition, action="organizer")
    assert [(entry.action, entry.before["role"], entry.after["role"]) for entry in page.rows] == [
        ("organizer.remove", "owner", None),
        ("organizer.change", "viewer", "owner"),
        ("organizer.add", None, "viewer"),
    ]
    assert {log.with_names(entry.subject, names) for entry in page.rows} == {"organizer bob"}


def test_deleted_account_is_no_longer_an_organizer(service, competition):
    act(service, organizers.add, competition, "bob", role=Role.OWNER)
    service.act(accounts.delete_account, user=service.users["ada"], secret="s")
    with service.database.read() as session:
        left = organizers.list_all(session, competition=competition)
    assert [each.user.name for each in left] == ["bob"]


def test_only_owner_of_a_competition_cannot_delete_the_account(service, competition):
    with pytest.raises(Refusal, match="only owner of Toxicity"), service.database.write() as session:
        accounts.delete_account(session, user=service.users["ada"], secret="s", now=service.now)
    assert role_of(service, competition, "ada") is Role.OWNER
