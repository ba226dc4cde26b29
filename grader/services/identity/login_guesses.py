"""Limits on wrong passwords and wrong codes of second factors, per account and per address.

Each account has four budgets of wrong passwords: for unknown devices and addresses, for known addresses, for
known devices, and for sessions. Attempts from unknown devices and addresses use only their own budget, so no
one can lock users out on a device or at an address from which they have logged in before. Together, the
budgets allow at most `MOST_PER_DAY` attempts.

Unknown names are counted like existing ones, so a lock does not reveal whether a name exists. Names and
addresses are stored as keyed hashes for at most one day.
"""

import hashlib
import hmac
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from grader.errors import ErrorKind, ParticipantError
from grader.hosts import network
from grader.services.identity import names
from grader.services.site import counting
from grader.services.site import counting as tallies
from grader.services.site.counting import DAY, HOUR, MINUTE, RateLimit
from grader.text import folded

STRANGERS = (RateLimit(60, HOUR), RateLimit(500, DAY))
KNOWN_ADDRESSES = (RateLimit(200, DAY),)
ONE_KNOWN_ADDRESS = (RateLimit(30, HOUR),)
KNOWN_DEVICES = (RateLimit(200, DAY),)
ONE_KNOWN_DEVICE = (RateLimit(30, HOUR),)
LOGGED_IN = (RateLimit(20, HOUR), RateLimit(100, DAY))
# An app accepts three of a million codes at any time, so 90 guesses a day find one in 10 years on average.
CODES = (RateLimit(10, HOUR), RateLimit(30, DAY))
KNOWN_DEVICES_CODES = (RateLimit(60, DAY),)
MOST_PER_DAY = 1000
# Limits per address, over all account names, for addresses that are unknown to the account.
ADDRESS = (RateLimit(20, MINUTE), RateLimit(200, HOUR))


class TooManyGuesses(ParticipantError):
    """The limit on wrong passwords has been reached; `retry_after` is the time until the next attempt."""

    public_name = "too_many_guesses"
    kind = ErrorKind.LIMITED

    def __init__(self, message: str, *, free_at: datetime, now: datetime) -> None:
        self.retry_after = max(free_at - now, timedelta(seconds=1))
        super().__init__(f"{message} Try again {tallies.when(free_at, now)}.")


@dataclass(frozen=True, slots=True)
class Guesser:
    """The account and the origin of a login attempt, as hashes.

    `device` is the number of a device that has logged in to the account before, or None. `is_known_address`
    is true if the account has been used from the address before. `is_logged_in` is true if a logged-in user
    enters the password again. `is_second_step` is true for the code of a second factor, which is entered
    after the password.
    """

    account: str
    address: str
    device: str | None = None
    is_known_address: bool = False
    is_logged_in: bool = False
    is_second_step: bool = False

    @property
    def is_known(self) -> bool:
        """Whether the account has been used from this device, address or session before."""
        return self.device is not None or self.is_known_address or self.is_logged_in


@dataclass(frozen=True, slots=True)
class _Counter:
    kind: str
    whose: str
    limits: Sequence[RateLimit]
    sentence: str


@dataclass(frozen=True, slots=True)
class _KnownPlaces:
    """The texts, counters and limits for known devices or known addresses."""

    this: str
    all: str
    kind: str
    kind_of_all: str
    limits: Sequence[RateLimit]
    limits_of_all: Sequence[RateLimit]


_DEVICES = _KnownPlaces(
    "this browser", "browsers", "guess.device", "guess.devices", ONE_KNOWN_DEVICE, KNOWN_DEVICES
)
_ADDRESSES = _KnownPlaces(
    "your address",
    "addresses",
    "guess.known_address",
    "guess.known_addresses",
    ONE_KNOWN_ADDRESS,
    KNOWN_ADDRESSES,
)


def account_hash(name: str, *, secret: str) -> str:
    """Return the hash under which attempts for a name are counted, ignoring case."""
    text = name[: names.LENGTH_LOOKED_AT]
    with suppress(names.InvalidName):
        text = names.clean_name(text)
    return _hash(secret, "account", folded(text))


def address_hash(address: str | None, *, secret: str, user_id: int | None = None) -> str:
    """Return the hash of an address or of its IPv6 /64 network, for all users or for one user."""
    return _hash(secret, f"address of {user_id}" if user_id is not None else "address", network(address))


def require_room(session: Session, *, guesser: Guesser, now: datetime) -> None:
    """Raise TooManyGuesses if an attempt is not allowed, without counting it."""
    _first_free(session, guesser, now)


def begin(session: Session, *, guesser: Guesser, now: datetime) -> tuple[int, ...]:
    """Count an attempt as wrong before it is checked; return the ids for `take_back`.

    Raise TooManyGuesses.
    """
    counting.hold_lock(session, f"guesses at {guesser.account}")
    if not guesser.is_logged_in:
        counting.hold_lock(session, f"guesses from {guesser.address}")
    counters = _first_free(session, guesser, now)
    return tuple(tallies.add(session, kind=each.kind, whose=each.whose, now=now) for each in counters)


def take_back(session: Session, *, counted: Sequence[int]) -> None:
    """Undo the count of an attempt that was correct or was never checked."""
    tallies.take_back(session, ids=counted)


def _first_free(session: Session, guesser: Guesser, now: datetime) -> Sequence[_Counter]:
    """Return the counters of the first budget that is not exhausted; raise TooManyGuesses."""
    refusals: list[tuple[datetime, str]] = []
    for budget in _budgets(guesser):
        reached = []
        for counter in budget:
            free = tallies.free_at(
                session, kind=counter.kind, whose=counter.whose, limits=counter.limits, now=now
            )
            if free is not None:
                limit, at = free
                reached.append((at, counter.sentence.format(limit.count, limit.period)))
        if not reached:
            return budget
        refusals.append(max(reached))
    free_at, sentence = min(refusals)
    raise TooManyGuesses(sentence, free_at=free_at, now=now)


def _budgets(guesser: Guesser) -> Sequence[Sequence[_Counter]]:
    """Return the budgets that an attempt may use, the most specific first."""
    account = guesser.account
    if guesser.is_second_step:
        codes = "{} wrong codes were entered for this account within {}."
        if guesser.device is None:
            return [[_Counter("code.stranger", account, CODES, codes)]]
        here = _Counter("code.device", _joined(account, guesser.device), CODES, codes)
        return [[here, _Counter("code.devices", account, KNOWN_DEVICES_CODES, codes)]]
    if guesser.is_logged_in:
        sentence = "{} wrong passwords were entered in sessions of this account within {}."
        return [[_Counter("guess.logged_in", account, LOGGED_IN, sentence)]]
    budgets = []
    if guesser.device is not None:
        budgets.append(_known(account, guesser.device, _DEVICES))
    if guesser.is_known_address:
        budgets.append(_known(account, guesser.address, _ADDRESSES))
    strangers = "{} wrong passwords for this name were entered from unknown browsers and addresses within {}."
    elsewhere = "{} wrong passwords were entered from your address within {}."
    budgets.append(
        [
            _Counter("guess.stranger", account, STRANGERS, strangers),
            _Counter("guess.address", guesser.address, ADDRESS, elsewhere),
        ]
    )
    return budgets


def _known(account: str, which: str, places: _KnownPlaces) -> Sequence[_Counter]:
    """Return the budget of a known device or address."""
    one = f"{{}} wrong passwords for this name were entered from {places.this} within {{}}."
    all_ = f"{{}} wrong passwords for this name were entered from known {places.all} within {{}}."
    return [
        _Counter(places.kind, _joined(account, which), places.limits, one),
        _Counter(places.kind_of_all, account, places.limits_of_all, all_),
    ]


def _joined(one: str, other: str) -> str:
    return hashlib.sha256(f"{one} {other}".encode()).hexdigest()


def _hash(secret: str, purpose: str, text: str) -> str:
    message = f"guesses: {purpose}: {text}".encode(errors="surrogatepass")
    return hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()
