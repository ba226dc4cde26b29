"""Accounts, logins, tokens and the setup link of the first administrator."""

import hashlib
from datetime import timedelta

import pytest
from argon2 import PasswordHasher
from pydantic import SecretStr
from sqlalchemy import func, select

from grader.models import AuditEntry, Login, User
from grader.services.identity import accounts, administrators, api_tokens, logins, names
from grader.services.identity.accounts import InvalidAccount
from grader.services.site.log import Actor
from tests.fixtures.races import race
from tests.fixtures.refusals import refused

GOOD = "correct horse battery"
DAY = timedelta(days=1)


@pytest.fixture
def passwords(service):
    return accounts.password_hasher(service.settings)


def sign_up(service, name, password=GOOD):
    return service.act(
        accounts.sign_up, name=name, password=password, passwords=accounts.password_hasher(service.settings)
    )


def authenticate(service, name, password, passwords):
    with service.database.read() as session:
        user = names.find_user(session, name=name)
        return user if accounts.has_password(user, password, passwords=passwords) else None


@pytest.mark.both_databases
def test_user_can_log_in_with_any_letter_case_of_the_name(service, passwords):
    user = sign_up(service, "Ada Lovelace")
    found = authenticate(service, "ada  LOVELACE ", GOOD, passwords)
    assert found is not None and found.id == user.id
    assert not found.is_admin


def test_every_login_attempt_verifies_a_hash_even_without_an_account_or_a_password(service):
    verified = []

    class Noting(PasswordHasher):
        def verify(self, *parts):
            verified.append(parts[0])
            return super().verify(*parts)

    passwords = Noting(time_cost=1, memory_cost=8, parallelism=1)
    sign_up(service, "Ada")
    with service.database.write() as session:
        for name, deleted_at in (("Bob", None), ("Eve", service.now)):
            user = accounts.named(name, password_hash=accounts.NO_PASSWORD, now=service.now)
            accounts.add(session, user=user).deleted_at = deleted_at
    for name in ("Ada", "Bob", "Eve", "Nobody", "in\u202evalid"):
        assert authenticate(service, name, "!", passwords) is None
    assert [each.startswith("$argon2id$") for each in verified] == [True] * 5


def test_all_problems_are_reported_at_once(service):
    sign_up(service, "Grace")
    for name, password, fields in (
        ("", "short", {"name", "password"}),
        ("evil\u202ename", GOOD, {"name"}),
        ("Ada Lovelace", "ada lovelace", {"password"}),
        ("grace", "short", {"name", "password"}),
    ):
        with pytest.raises(InvalidAccount) as caught:
            sign_up(service, name, password)
        assert set(caught.value.by_field) == fields


def test_password_is_normalized_regardless_of_accent_encoding(service, passwords):
    sign_up(service, "ada", "caf\u00e9 au lait")
    assert authenticate(service, "ada", "cafe\u0301 au lait", passwords) is not None


def test_generated_password_works_and_no_password_is_stored_in_plain_text(service, passwords):
    password = accounts.new_password()
    given = {"name": "root", "password": password, "passwords": passwords, "is_admin": True}
    user = service.act(accounts.sign_up, **given)
    found = authenticate(service, "root", password, passwords)
    assert found is not None and found.is_admin
    assert password not in user.password_hash


def test_login_expires_after_its_lifetime_and_its_token_is_not_stored(service):
    user = sign_up(service, "ada")
    with service.database.write() as session:
        token = logins.start(session, user=user, user_agent="a\0b" * 999, lifetime=DAY, now=service.now)
        stored = session.scalars(select(Login)).one()
        assert stored.token_sha256 == hashlib.sha256(token.encode()).hexdigest()
    with service.database.read() as session:
        at = service.now + DAY - timedelta(seconds=1)
        login, time = logins.find(session, token=token, now=at)
        assert (login.user.name, time) == ("ada", at)
        assert logins.find(session, token=token, now=service.now + DAY) is None
        assert logins.find(session, token="guess", now=service.now) is None


def test_time_of_last_use_is_written_at_most_every_five_minutes(service):
    user = sign_up(service, "ada")
    with service.database.write() as session:
        token = logins.start(session, user=user, user_agent="", lifetime=DAY, now=service.now)
        login, _ = logins.find(session, token=token, now=service.now)
        soon, later = service.now + timedelta(minutes=4), service.now + timedelta(minutes=5)
        assert not logins.needs_touch(login, now=soon)
        logins.touch(session, used=login, now=soon)
        assert login.last_used_at == service.now
        logins.touch(session, used=login, now=later)
        assert login.last_used_at == later


def test_api_token_is_shown_once_and_works_until_it_is_revoked(service):
    user = sign_up(service, "ada")
    token, text = service.act(api_tokens.create, user=user, name=" my\nlaptop ")
    assert (token.name, text.startswith(token.prefix)) == ("my laptop", True)
    assert text not in {token.token_sha256, token.prefix}
    with service.database.write() as session:
        found, _ = api_tokens.find(session, token=text, now=service.now)
        assert found.user.id == user.id
        logins.touch(session, used=found, now=service.now)
        assert found.last_used_at == service.now
        assert [each.id for each in api_tokens.list_own(session, user=user)] == [token.id]
        api_tokens.revoke(session, user=user, token_id=token.id, now=service.now)
        assert api_tokens.find(session, token=text, now=service.now) is None
        assert api_tokens.list_own(session, user=user) == []


def test_setup_link_creates_one_administrator_once(service, passwords):
    with service.database.write() as session:
        replaced = administrators.create_setup_link(session, now=service.now)
        token = administrators.create_setup_link(session, now=service.now)
        assert replaced and token and replaced != token
        administrators.require_setup_link(session, token=token, now=service.now)

    def use(token: str, name: str) -> User:
        return service.act(
            administrators.use_setup_link, token=token, name=name, password=GOOD, passwords=passwords
        )

    with refused("invalid_link"):
        use(replaced, "early")
    with pytest.raises(InvalidAccount):
        use(token, "")
    assert use(token, "root").is_admin
    with refused("invalid_link"):
        use(token, "second")
    with service.database.write() as session:
        assert administrators.create_setup_link(session, now=service.now) is None


@pytest.fixture
def create_from_settings(service, make_settings):
    """Create the administrator `name` from the settings and return its name or None."""

    def create(name: str = "ada", password: str = GOOD) -> str | None:
        settings = make_settings(admin_name=name, admin_password=SecretStr(password))
        with service.database.write() as session:
            user = administrators.create_from_settings(session, settings=settings, now=service.now)
            return user and user.name

    return create


def test_settings_create_one_administrator_only_on_a_site_without_one(
    service, create_from_settings, passwords
):
    with service.database.write() as session:
        without = administrators.create_from_settings(session, settings=service.settings, now=service.now)
        assert without is None
        link = administrators.create_setup_link(session, now=service.now)
    assert create_from_settings() == "ada"
    assert create_from_settings("ada", "another good one") is None
    assert create_from_settings("bob", "short") is None
    assert authenticate(service, "ada", GOOD, passwords).is_admin
    with service.database.read() as session:
        assert session.scalar(select(func.count()).select_from(User)) == 1
        with refused("invalid_link"):
            administrators.require_setup_link(session, token=link, now=service.now)


@pytest.mark.both_databases
def test_processes_that_start_together_create_one_administrator(create_from_settings):
    made = race(*[create_from_settings] * 4)
    assert sorted(map(str, made)) == ["None", "None", "None", "ada"]


@pytest.mark.parametrize(
    ("name", "password", "reason"),
    [("bob", GOOD, "is taken"), ("ada", "hush", "Use at least 8"), ("", GOOD, "name")],
)
def test_unusable_administrator_in_the_settings_is_reported_without_the_password(
    service, create_from_settings, name, password, reason
):
    sign_up(service, "Bob")
    with refused("unusable_administrator", match=reason) as caught:
        create_from_settings(name, password)
    assert "FAIRBOARD_ADMIN_NAME and FAIRBOARD_ADMIN_PASSWORD" in caught.value.message
    assert password not in caught.value.message


def change(service, name, is_admin):
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
    with pytest.raises(administrators.LastAdministrator):
        change(service, "root", False)
