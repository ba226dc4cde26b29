"""Second factors: time steps, uniqueness, concurrent use, limits, and e-mails."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from sqlalchemy import func, select

from grader.errors import Refusal
from grader.models import AuditEntry, FactorPurpose, Mail, RecoveryCode, SecondFactor, User
from grader.services.competitions import acting
from grader.services.identity import accounts, logins, second_factors
from grader.services.identity.second_factors import NewApp, Proof
from grader.services.site.log import Actor
from tests.fixtures.authenticators import code_at
from tests.fixtures.races import race
from tests.fixtures.refusals import refused

KEY = "the tests' key"


@pytest.fixture
def now():
    return datetime(2026, 3, 1, 12, 0, 10, tzinfo=UTC)


@pytest.fixture
def user(database, now):
    with database.write() as session:
        return accounts.add(session, user=accounts.named("Ada", password_hash="!", now=now))


def add_app(database, user, now, *, name="", key_id="a"):
    app = NewApp.of(user, key_id=key_id, key=KEY)
    proof = Proof(code=code_at(app.secret, now))
    with database.write() as session:
        act = acting.of_site(session, Actor.of(user), now)
        second_factors.add(act, name=name, proof=proof, app=app, ceremony=None, keep=None)
    return app.secret


def verify(database, user, code, now):
    with database.write() as session:
        return second_factors.verify(
            session, user=user, proof=Proof(code=code), ceremony=None, key=KEY, now=now
        )


def outcome(*given):
    """Return the result of `verify`, or the name of its refusal."""
    try:
        return verify(*given)
    except Refusal as error:
        return error.public_name


def test_codes_are_valid_for_one_step_before_and_after_and_only_in_order(database, user, now):
    secret = add_app(database, user, now - timedelta(hours=1))
    steps = (-2, 2, -1, 0, -1, 0, 1)
    accepted = [outcome(database, user, code_at(secret, now, steps=step), now) for step in steps]
    assert accepted == [False, False, True, True, "code_used", "code_used", True]


def test_no_session_starts_without_the_second_factor(database, user, now):
    add_app(database, user, now)
    with database.write() as session, pytest.raises(logins.SecondFactorAsked):
        logins.start(session, user=user, user_agent="", lifetime=timedelta(days=1), now=now)


def test_the_code_of_the_setup_does_not_log_in(database, user, now):
    secret = add_app(database, user, now)
    assert outcome(database, user, code_at(secret, now), now) == "code_used"
    assert verify(database, user, code_at(secret, now, steps=1), now)


def test_spaces_in_a_code_are_ignored_and_other_texts_are_wrong(database, user, now):
    secret = add_app(database, user, now - timedelta(hours=1))
    for text in ("", " ", "12345", "1" * 1000, "١٢٣٤٥٦", "\ud800", "a\x00"):
        assert not verify(database, user, text, now)
    code = code_at(secret, now)
    assert verify(database, user, f"{code[:3]} {code[3:]} ", now)


@pytest.mark.both_databases
def test_concurrent_requests_use_a_code_once(database, user, now):
    secret = add_app(database, user, now - timedelta(hours=1))
    with database.write() as session:
        recovery = second_factors.new_recovery_codes(acting.of_site(session, Actor.of(user), now))[0]
    for code in (code_at(secret, now), recovery):
        accepted = race(*[partial(outcome, database, user, code, now)] * 4)
        assert accepted.count(True) == 1 and {False, "code_used", True} > set(accepted)


@pytest.mark.both_databases
def test_a_reset_during_the_second_step_waits_for_it(database, user, now):
    def prove(token: str, code: str):
        with database.write() as session:
            purpose = FactorPurpose.LOG_IN
            step = second_factors.find(session, token=token, purpose=purpose, now=now, lock=True)
            if step is not None:
                proof = Proof(code=code)
                second_factors.verify(session, user=user, proof=proof, ceremony=None, key=KEY, now=now)

    def reset():
        with database.write() as session:
            second_factors.reset(acting.of_site(session, Actor.shell(), now), user=user)

    for _ in range(5):
        code = code_at(add_app(database, user, now - timedelta(hours=1)), now)
        with database.write() as session:
            token = second_factors.begin(session, user=user, purpose=FactorPurpose.LOG_IN, now=now)
        assert race(partial(prove, token, code), reset) == [None, None]


@pytest.mark.both_databases
def test_names_and_keys_are_unique(database, user, now):
    add_app(database, user, now)
    with refused("invalid_factor", match="already have a second factor named 'Authenticator app'"):
        add_app(database, user, now, key_id="b")
    with refused("invalid_factor", match="already belongs to an account"):
        add_app(database, user, now, name="Other")


def test_the_number_of_factors_is_limited(database, user, now):
    for place in range(second_factors.MOST):
        add_app(database, user, now, name=f"{place}", key_id=f"{place}")
    with refused("invalid_factor", match="at most 10"):
        add_app(database, user, now, key_id="one more")


def test_removing_the_last_factor_deletes_the_recovery_codes(database, user, now):
    add_app(database, user, now)
    add_app(database, user, now, name="Other", key_id="b")
    with database.write() as session:
        second_factors.new_recovery_codes(acting.of_site(session, Actor.of(user), now))
    left = []
    for number in (1, 2):
        with database.write() as session:
            second_factors.remove(acting.of_site(session, Actor.of(user), now), factor_id=number)
            left.append(second_factors.recovery_codes_left(session, user=user))
    assert left == [10, 0]


def test_neither_secrets_nor_codes_are_stored_or_mailed(database, user, now):
    with database.write() as session:
        person = session.get_one(User, user.id)
        person.email, person.email_key, person.email_verified_at = "a@example.org", "a@example.org", now
    secret = add_app(database, person, now)
    with database.write() as session:
        codes = second_factors.new_recovery_codes(acting.of_site(session, Actor.of(person), now))
    assert verify(database, person, codes[0], now)
    with database.read() as session:
        mails = list(session.scalars(select(Mail.body).order_by(Mail.id)))
        entries = session.execute(select(AuditEntry.action, AuditEntry.after).order_by(AuditEntry.id)).all()
        stored = f"{session.scalars(select(RecoveryCode.code_sha256)).all()}"
        stored += f"{session.scalars(select(SecondFactor.key_id)).all()} {mails} {entries}"
        assert session.scalar(select(func.count()).select_from(RecoveryCode)) == 9
    assert [action for action, _ in entries] == [
        "second_factor.add",
        "second_factor.recovery_codes",
        "second_factor.recover",
    ]
    assert "a recovery code was used; 9 of 10 are left" in mails[-1]
    assert secret not in stored
    assert not any(code in stored or code.replace("-", "") in stored for code in codes)


def test_the_passkey_library_is_not_loaded_when_a_process_starts():
    code = "import sys, webapp.app, grader.services.identity.accounts; print('webauthn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
