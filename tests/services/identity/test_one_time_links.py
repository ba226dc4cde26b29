"""One-time links for sign-up, address confirmation and password resets; their e-mails."""

import re
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import select

from grader.models import AccountLink, LinkPurpose, Mail, User
from grader.services.identity import (
    accounts,
    email_addresses,
    logins,
    names,
    one_time_links,
)
from grader.services.identity.accounts import InvalidAccount
from grader.services.identity.passwords import reset
from grader.services.site import outbox as mail
from tests.fixtures.races import race
from tests.fixtures.refusals import is_refusal, refused

PASSWORD = "correct horse battery"
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
ADA = "ada@example.org"


@pytest.fixture
def passwords(service):
    return accounts.password_hasher(service.settings)


def outbox(service):
    with service.database.read() as session:
        return list(session.scalars(select(Mail).order_by(Mail.id)))


def token_of(letter):
    return re.findall(r"\{site\}/[a-z-]+/(\S+)", letter.body)[0]


def ask(service, purpose, address, **given):
    service.act(one_time_links.ask, purpose=purpose, address=address, **given)
    return outbox(service)[-1]


def sign_up(service, passwords, name="Ada", address=ADA):
    token = token_of(ask(service, LinkPurpose.SIGN_UP, address))
    return service.act(
        accounts.sign_up_by_link, token=token, secret="s", name=name, password=PASSWORD, passwords=passwords
    )


def test_sign_up_by_mail_creates_an_account_with_a_confirmed_address(service, passwords):
    ada = sign_up(service, passwords, address=" Ada@Example.org ")
    assert (ada.email, ada.email_key, ada.email_verified_at) == ("Ada@example.org", ADA, service.now)


def test_sign_up_link_works_once_and_for_a_day(service, passwords):
    token = token_of(ask(service, LinkPurpose.SIGN_UP, ADA))

    def use(now) -> User:
        with service.database.write() as session:
            return accounts.sign_up_by_link(
                session, token=token, secret="s", name="Ada", password=PASSWORD, passwords=passwords, now=now
            )

    with refused("invalid_link"):
        use(service.now + DAY)
    assert use(service.now).name == "Ada"
    with refused("invalid_link"):
        use(service.now)


def test_sign_up_with_an_existing_address_sends_a_login_link_and_creates_no_account(service, passwords):
    sign_up(service, passwords)
    letter = ask(service, LinkPurpose.SIGN_UP, "ADA@example.org")
    assert "You already have one: Ada" in letter.body
    with service.database.read() as session:
        assert reset_holder(session, token_of_reset(letter), service.now).name == "Ada"


def reset_holder(session, token, now):
    return one_time_links.holder(session, purpose=LinkPurpose.RESET_PASSWORD, token=token, now=now)


def token_of_reset(letter):
    return re.findall(r"/reset/(\S+)", letter.body)[0]


def test_reset_sets_the_password_once_and_ends_all_logins_and_other_links(service, passwords):
    ada = sign_up(service, passwords)
    other = token_of_reset(ask(service, LinkPurpose.RESET_PASSWORD, ADA))
    token = token_of_reset(ask(service, LinkPurpose.RESET_PASSWORD, ADA))
    new = accounts.hashed("another password", name="Ada", passwords=passwords)
    with service.database.write() as session:
        login = logins.start(session, user=ada, user_agent="", lifetime=DAY, now=service.now)
        reset(session, token=token, password_hash=new, now=service.now)
    with service.database.read() as session:
        assert logins.find(session, token=login, now=service.now) is None
        for password, is_right in ((PASSWORD, False), ("another password", True)):
            user = names.get_user(session, name="ada")
            assert accounts.has_password(user, password, passwords=passwords) is is_right
        for spent in (token, other):
            with refused("invalid_link"):
                reset_holder(session, spent, service.now)
    assert outbox(service)[-1].subject == "Your password was changed"


def test_mailed_reset_lasts_an_hour_and_a_handed_out_one_a_day(service, passwords):
    ada = sign_up(service, passwords)
    mailed = token_of_reset(ask(service, LinkPurpose.RESET_PASSWORD, ADA))
    handed = service.act(one_time_links.create, purpose=LinkPurpose.RESET_PASSWORD, user=ada)
    for token, lifetime in ((mailed, HOUR), (handed, DAY)):
        with service.database.read() as session:
            reset_holder(session, token, service.now + lifetime - timedelta(seconds=1))
            with refused("invalid_link"):
                reset_holder(session, token, service.now + lifetime)


def test_unknown_address_receives_an_explanation_and_no_link(service):
    letter = ask(service, LinkPurpose.RESET_PASSWORD, "nobody@example.org")
    assert "No account has this address" in letter.body
    assert "/reset/" not in letter.body
    assert letter.user_id is None


def test_new_address_is_used_after_its_confirmation_and_the_old_one_is_notified(service, passwords):
    ada = sign_up(service, passwords)
    ask(service, LinkPurpose.VERIFY_EMAIL, "new@example.org", user=ada)
    token = token_of(outbox(service)[-1])
    with service.database.read() as session:
        assert session.get_one(User, ada.id).email == ADA
    service.act(email_addresses.verify, token=token, secret="s")
    with service.database.read() as session:
        assert session.get_one(User, ada.id).email_key == "new@example.org"
    told = outbox(service)[-1]
    assert (told.to_address, told.subject) == (ADA, "Your e-mail address was changed")
    with service.database.write() as session, refused("invalid_link"):
        email_addresses.verify(session, token=token, secret="s", now=service.now)


def test_address_of_another_user_is_not_disclosed_and_its_holder_is_notified(service, passwords):
    sign_up(service, passwords)
    bob = service.user("Bob")
    ask(service, LinkPurpose.VERIFY_EMAIL, ADA, user=bob)
    letter = outbox(service)[-1]
    assert letter.to_address == ADA
    assert "belongs to another account" in letter.body
    assert "/verify/" not in letter.body


@pytest.mark.both_databases
def test_two_users_cannot_confirm_the_same_address(service):
    links_of = []
    for name in ("Ada", "Bob"):
        user = service.user(name)
        ask(service, LinkPurpose.VERIFY_EMAIL, ADA, user=user)
        links_of.append(token_of(outbox(service)[-1]))
    service.act(email_addresses.verify, token=links_of[0], secret="s")
    with service.database.write() as session, refused("address_taken"):
        email_addresses.verify(session, token=links_of[1], secret="s", now=service.now)


def test_use_of_a_link_without_a_user_keeps_those_of_other_people(service, passwords):
    tokens = [service.act(one_time_links.create, purpose=LinkPurpose.SIGN_UP) for _ in range(2)]
    for name, token in zip(("Ada", "Bob"), tokens, strict=True):
        given = {"token": token, "secret": "s", "name": name, "password": PASSWORD, "passwords": passwords}
        service.act(accounts.sign_up_by_link, **given)


@pytest.mark.both_databases
def test_only_one_of_two_simultaneous_uses_of_a_link_succeeds(service, passwords):
    token = service.act(one_time_links.create, purpose=LinkPurpose.SIGN_UP)
    given = {"token": token, "secret": "s", "password": PASSWORD, "passwords": passwords}
    use = partial(service.act, accounts.sign_up_by_link, **given)
    answers = race(*(partial(use, name=name) for name in ("Ada", "Bob", "Cleo", "Dan")))
    assert [is_refusal(each, "invalid_link") for each in answers].count(True) == 3, answers


@pytest.mark.both_databases
def test_only_one_of_two_simultaneous_sign_ups_with_similar_names_succeeds(service, passwords):
    sign_up = partial(service.act, accounts.sign_up, password=PASSWORD, passwords=passwords)
    answers = race(*(partial(sign_up, name=name) for name in ("paypal", "paypaI", "PAYPAL", "p\u0430ypal")))
    assert [isinstance(each, InvalidAccount) for each in answers].count(True) == 3, answers


def test_link_serves_one_purpose_only(service, passwords):
    ada = sign_up(service, passwords)
    with service.database.write() as session:
        token = one_time_links.create(session, purpose=LinkPurpose.RESET_PASSWORD, user=ada, now=service.now)
        with refused("invalid_link"):
            email_addresses.verify(session, token=token, secret="s", now=service.now)
        with refused("invalid_link"):
            one_time_links.holder(session, purpose=LinkPurpose.LOG_IN, token=token, now=service.now)
        assert token not in {link.token_sha256 for link in session.scalars(select(AccountLink))}


def test_notices_are_sent_once_to_a_confirmed_address_and_only_for_enabled_kinds(service, passwords):
    ada, bob = sign_up(service, passwords), service.user("Bob")
    count = len(outbox(service))

    def notify(user: User, kind: str, key: str) -> int:
        with service.database.write() as session:
            letter = session.get_one(User, user.id), "B"
            given = {"kind": mail.Notice(kind), "key": key, "subject": "S", "now": service.now}
            mail.notify(session, [letter], **given)
        return len(outbox(service)) - count

    assert notify(bob, "scored", "scored:1") == 0  # Bob has no address.
    assert notify(ada, "scored", "scored:1") == 1
    assert notify(ada, "scored", "scored:1") == 1
    with service.database.write() as session:
        session.get_one(User, ada.id).unwanted_notices = ["scored"]
    assert notify(ada, "scored", "scored:2") == 1
    assert notify(ada, "team", "team:1") == 2
    with service.database.write() as session:
        session.get_one(User, ada.id).suspended_at = service.now
    assert notify(ada, "team", "team:2") == 2
    assert outbox(service)[-1].body.endswith("{site}/account\n")
