"""Limits on password guesses: affected clients, duration, totals."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import func, select

from grader import db
from grader.models import KnownAddress, Tally
from grader.services.identity import login_guesses, logins, passwords
from grader.services.identity.login_guesses import Guesser, TooManyGuesses
from grader.services.site import counting
from grader.services.site.counting import RateLimit
from grader.worker.scheduled_tasks import forget_records
from tests.fixtures.races import race

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
SECRET = "key"


def guesser(name: str = "Ada", address: str = "192.0.2.1", **known) -> Guesser:
    return Guesser(
        account=login_guesses.account_hash(name, secret=SECRET),
        address=login_guesses.address_hash(address, secret=SECRET),
        **known,
    )


def guess(service, who: Guesser, at: timedelta = timedelta()) -> bool:
    """Make a wrong guess; return whether it was checked."""
    try:
        service.act(login_guesses.begin, guesser=who, after=at)
    except TooManyGuesses:
        return False
    return True


def test_name_is_locked_for_strangers_after_60_guesses_per_hour_from_any_address(service):
    looked_at = [guess(service, guesser(address=f"10.0.{place // 9}.1")) for place in range(61)]
    assert looked_at == [True] * 60 + [False]
    assert guess(service, guesser(address="10.9.9.9"), HOUR)
    assert guess(service, guesser("Bob"))


@pytest.mark.parametrize("known", [{"device": "d1"}, {"is_known_address": True}, {"is_logged_in": True}])
def test_guesses_of_strangers_do_not_lock_out_a_known_device_or_address(service, known):
    for place in range(60):
        assert guess(service, guesser(address=f"10.0.{place}.1"))
    assert not guess(service, guesser(address="10.9.9.9"))
    assert guess(service, guesser(address="10.9.9.9", **known))


def test_guesses_at_other_names_do_not_lock_a_name_at_its_known_address(service):
    for place in range(20):
        assert guess(service, guesser(f"Person {place}"))
    assert not guess(service, guesser("Ada"))
    assert guess(service, guesser("Ada", is_known_address=True))


def test_guesses_from_one_known_device_do_not_affect_another(service):
    lost = guesser(device="stolen", address="10.0.0.1")
    tried = 0
    while guess(service, lost, tried * timedelta(seconds=5)):
        tried += 1
    assert 30 < tried <= 90  # The account's own guesses, then the guesses available to strangers.
    assert guess(service, guesser(device="own"), tried * timedelta(seconds=5))


@pytest.fixture
def share(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Divide every guess limit by a number."""
    share: int = request.param

    def divided(limits: Sequence[RateLimit]) -> tuple[RateLimit, ...]:
        return tuple(replace(limit, count=limit.count // share) for limit in limits)

    for name in ("STRANGERS", "LOGGED_IN", "ADDRESS"):
        monkeypatch.setattr(login_guesses, name, divided(getattr(login_guesses, name)))
    for name in ("_DEVICES", "_ADDRESSES"):
        places = getattr(login_guesses, name)
        fewer = replace(places, limits=divided(places.limits), limits_of_all=divided(places.limits_of_all))
        monkeypatch.setattr(login_guesses, name, fewer)
    return share


@pytest.mark.parametrize(
    ("share", "step"), [(10, 2 * HOUR), pytest.param(1, HOUR / 2, marks=pytest.mark.long)], indirect=["share"]
)
def test_at_most_1000_guesses_per_day_at_one_account_are_checked(service, share: int, step: timedelta):
    """In the short run, every limit is a tenth, and so is the number of guesses."""
    crowd = [
        *(guesser(address=f"10.0.{place}.1") for place in range(8)),
        *(guesser(address=f"10.1.{place}.1", is_known_address=True) for place in range(3)),
        *(guesser(address=f"10.2.{place}.1", device=f"d{place}") for place in range(3)),
        guesser(is_logged_in=True),
    ]
    admitted: list[timedelta] = []
    for number in range(30 * HOUR // step):
        at = number * step
        for who in crowd:
            while guess(service, who, at):
                admitted.append(at)
    windows = [sum(start <= at < start + DAY for at in admitted) for start in admitted]
    assert 900 < share * max(windows) <= login_guesses.MOST_PER_DAY == 1000


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
            login_guesses.take_back(session, counted=counted)
    with service.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Tally)) == 0


def test_lockout_states_when_the_next_guess_is_checked(service):
    for place in range(60):
        guess(service, guesser(address=f"10.0.{place}.1"), place * timedelta(seconds=10))
    stranger = guesser(address="10.9.9.9")
    with service.database.read() as session, pytest.raises(TooManyGuesses) as refused:
        login_guesses.require_room(session, guesser=stranger, now=service.now + 20 * MINUTE)
    assert refused.value.message == (
        "60 wrong passwords for this name were entered from unknown browsers and addresses within an hour. "
        "Try again in 40 minutes, at 13:00:00 UTC."
    )
    assert refused.value.retry_after == 40 * MINUTE
    assert not guess(service, stranger, HOUR - timedelta(seconds=1))
    assert guess(service, stranger, HOUR)
    assert not guess(service, stranger, HOUR)


@pytest.mark.parametrize(
    ("one", "other", "are_one"),
    [
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("fe80::1%eth0", "fe80::2", True),
    ],
)
def test_ipv6_guesses_are_counted_by_prefix(one: str, other: str, are_one: bool):
    assert (guesser(address=one) == guesser(address=other)) is are_one


@pytest.mark.both_databases
def test_names_are_counted_in_any_letter_case_and_no_name_or_address_is_stored(service):
    assert guesser("ADA ") == guesser("ada") != guesser("adb")
    guess(service, guesser("Ada", "192.0.2.77", device="d"))
    with service.database.read() as session:
        kept = " ".join(f"{row.kind} {row.whose}" for row in session.scalars(select(Tally)))
    assert "ada" not in kept.lower() and "192.0.2.77" not in kept
    assert guesser() != replace(guesser(), account=login_guesses.account_hash("Ada", secret="other key"))


def test_known_address_belongs_to_one_user_for_90_days_or_until_a_password_change(service):
    ada, bob = service.user("ada"), service.user("bob")

    def hashed(user) -> str:
        return login_guesses.address_hash("192.0.2.1", secret=SECRET, user_id=user.id)

    def is_known(user, after: timedelta = timedelta()) -> bool:
        with service.database.read() as session:
            return logins.is_known_address(
                session, user_id=user.id, address_hash=hashed(user), now=service.now + after
            )

    with service.database.write() as session:
        for _ in range(2):
            logins.note_known_address(session, user=ada, address_hash=hashed(ada), now=service.now)
    assert hashed(ada) != hashed(bob)
    assert is_known(ada) and is_known(ada, 89 * DAY)
    assert not is_known(bob) and not is_known(ada, 90 * DAY)
    with service.database.write() as session:
        passwords.set_password(session, user=ada, password_hash="x")
    assert not is_known(ada)


def test_newest_of_many_known_addresses_are_kept(service):
    ada = service.user("ada")
    with service.database.write() as session:
        for place in range(logins.MOST_KNOWN + 5):
            at = service.now + place * MINUTE
            logins.note_known_address(session, user=ada, address_hash=f"{place}", now=at)
    with service.database.read() as session:
        kept = set(session.scalars(select(KnownAddress.address_hash)))
    assert kept == {f"{place}" for place in range(5, logins.MOST_KNOWN + 5)}


@pytest.mark.both_databases
def test_old_entries_are_deleted_and_the_others_are_kept(service):
    ada = service.user()
    with service.database.read() as session:
        now = db.now(session)
    with service.database.write() as session:
        for age in (DAY + MINUTE, DAY - MINUTE):
            counting.add(session, kind="guess.stranger", whose=str(age), now=now - age)
        for age in (91 * DAY, 89 * DAY):
            logins.note_known_address(session, user=ada, address_hash=str(age), now=now - age)
    assert forget_records(service.database)
    assert not forget_records(service.database)
    with service.database.read() as session:
        assert session.scalars(select(Tally.whose)).all() == [str(DAY - MINUTE)]
        assert session.scalars(select(KnownAddress.address_hash)).all() == [str(89 * DAY)]
