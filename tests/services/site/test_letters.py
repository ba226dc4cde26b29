"""E-mails from templates."""

import pytest
from sqlalchemy import func, select

from grader.models import Mail, User
from grader.services.site import letters
from grader.services.site.outbox import Notice


@pytest.mark.parametrize("is_verified", [False, True])
def test_letter_is_rendered_only_for_users_who_want_it(service, monkeypatch, is_verified):
    ada = service.user("ada")
    rendered: list[str] = []
    monkeypatch.setattr(letters, "subject", lambda letter, **_: rendered.append(letter) or "Subject")
    monkeypatch.setattr(letters, "body", lambda *_, **__: "Body")
    with service.database.write() as session:
        user = session.get_one(User, ada.id)
        user.email, user.email_verified_at = "ada@example.org", service.now if is_verified else None
        letters.send(session, "result", [user], kind=Notice.SCORED, key="scored:1", now=service.now)
        count = session.scalar(select(func.count()).select_from(Mail))
    assert (len(rendered), count) == ((1, 1) if is_verified else (0, 0))
