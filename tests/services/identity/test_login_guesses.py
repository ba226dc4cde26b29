"""Limits on password guesses: affected clients, duration, totals."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import func, select

from grader import db
from grader.models import Tally
from grader.services.identity import login_guesses
from grader.services.identity.login_guesses import Guesser
from grader.services.site import counting
from grader.worker.scheduled_tasks import forget_records
from tests.fixtures.races import race
from tests.fixtures.refusals import refused

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
SECRET = "key"


def guesser(name="Ada", address="192.0.2.1", **known):
    return Guesser(
        account=login_guesses.account_hash(name, secret=SECRET),
        address=login_guesses.address_hash(address, secret=SECRET),
        **known,
    )


def guess(service, who, at=timedelta()):
    """Make a wrong guess; return whether it was checked."""
    try:
        service.act(login_guesses.begin, guesser=who, after=at)
    except login_guesses.Refusal:
        return False
    return True


def test_strangers_are_locked_out_after_60_guesses_per_hour_from_any_address_but_not_a_known_device(service):
    looked_at = [guess(service, guesser(address=f"10.0.{place // 9}.1")) for place in range(61)]
    assert looked_at == [True] * 60 + [False]
    assert guess(service, guesser(address="10.9.9.9", device="d1"))
    assert guess(service, guesser("Bob"))
    assert guess(service, guesser(address="10.9.9.9"), HOUR)


def test_strangers_have_fewer_than_1000_guesses_a_day_and_the_owner_is_not_locked_out(service):
    hours = [timedelta(hours=hour) for hour in range(24) for _ in range(60)]
    tried = [guess(service, guesser(address=f"10.{n // 99}.{n % 99}.1"), at) for n, at in enumerate(hours)]
    assert tried.count(True) == 500
    assert guess(service, guesser(device="own"), hours[-1])


def test_guesses_at_many_names_from_one_network_are_limited(service):
    for place in range(20):
        assert guess(service, guesser(f"Person {place}"))
    assert not guess(service, guesser("Ada"))
    assert guess(service, guesser("Ada", device="d1"))
    assert guess(service, guesser("Ada", "198.51.100.1"))


def test_guesses_on_one_known_device_do_not_affect_another(service):
    tried = [guess(service, guesser(device="stolen")) for _ in range(31)]
    assert tried == [True] * 30 + [False]
    assert guess(service, guesser(device="own"))


def test_codes_have_their_own_smaller_limits(service):
    tried = [guess(service, guesser(is_code=True)) for _ in range(11)]
    assert tried == [True] * 10 + [False]
    assert guess(service, guesser(is_code=True, device="d1"))
    assert guess(service, guesser())


@pytest.mark.both_databases
def test_simultaneous_guesses_are_counted_individually(service):
    for place in range(55):
        assert guess(service, guesser(address=f"10.0.{place}.1"))
    looked_at = race(*(lambda n=n: guess(service, guesser(address=f"10.9.{n}.1")) for n in range(9)))
    assert sorted(looked_at) == [False] * 4 + [True] * 5


def test_correct_password_does_not_count_as_a_guess(service):
    for _ in range(login_guesses.STRANGERS[0].count + 1):
        with service.database.write() as session:
            counted = login_guesses.begin(session, guesser=guesser(), now=service.now)
            counting.take_back(session, ids=counted)
    with service.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Tally)) == 0


def test_lockout_states_when_the_next_guess_is_checked(service):
    for place in range(60):
        guess(service, guesser(address=f"10.0.{place}.1"), place * timedelta(seconds=10))
    stranger = guesser(address="10.9.9.9")
    with service.database.read() as session, refused("too_many_guesses") as late:
        login_guesses.require_room(session, guesser=stranger, now=service.now + 20 * MINUTE)
    assert late.value.retry_after == 40 * MINUTE
    assert not guess(service, stranger, HOUR - timedelta(seconds=1))
    assert guess(service, stranger, HOUR)
    assert not guess(service, stranger, HOUR)


def test_names_are_counted_in_any_letter_case_and_no_name_or_address_is_stored(service):
    assert guesser("ADA ") == guesser("ada") != guesser("adb")
    guess(service, guesser("Ada", "192.0.2.77"))
    with service.database.read() as session:
        kept = " ".join(f"{row.kind} {row.whose}" for row in session.scalars(select(Tally)))
    assert "ada" not in kept.lower() and "192.0.2.77" not in kept
    assert guesser() != replace(guesser(), account=login_guesses.account_hash("Ada", secret="other key"))


@pytest.mark.both_databases
def test_guesses_are_forgotten_after_a_day(service):
    with service.database.read() as session:
        now = db.now(session)
    with service.database.write() as session:
        for age in (DAY + MINUTE, DAY - MINUTE):
            counting.add(session, kind="guess.stranger", whose=str(age), now=now - age)
    forget_records(service.database)
    with service.database.read() as session:
        assert session.scalars(select(Tally.whose)).all() == [str(DAY - MINUTE)]
