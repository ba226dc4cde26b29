"""Administrator rights: granting, revoking, audit entries, the last administrator."""

import pytest
from sqlalchemy import select

from grader.models import AuditEntry, User
from grader.services.identity import administrators
from grader.services.identity.administrators import LastAdministrator
from grader.services.site.log import Actor


def change(service, name: str, is_admin: bool) -> User:
    user = service.user(name)
    return service.act(administrators.change, user=user, is_admin=is_admin, actor=Actor(None, "tests"))


def test_account_becomes_an_administrator_and_an_ordinary_account_again(service):
    service.user("root", is_admin=True)
    assert change(service, "ada", True).is_admin
    assert not change(service, "ada", False).is_admin
    change(service, "ada", False)  # This changes nothing.
    ada = service.user("ada")
    with service.database.read() as session:
        found = session.scalars(select(AuditEntry).order_by(AuditEntry.id)).all()
    assert [(entry.action, entry.subject, entry.competition_id) for entry in found] == [
        ("administrator.make", f"person [person {ada.id}]", None),
        ("administrator.unmake", f"person [person {ada.id}]", None),
    ]


def test_last_administrator_cannot_be_demoted(service):
    service.user("root", is_admin=True)
    with pytest.raises(LastAdministrator, match="root is the only administrator"):
        change(service, "root", False)
