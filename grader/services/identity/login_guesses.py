"""Limits on wrong passwords and second-factor codes, per account and per network.

Attempts from devices on which the account has logged in before, and in its sessions, have budgets of their
own, so no one can lock users out there. Unknown names are counted like existing ones, so a lock does not
reveal whether a name exists. Names and addresses are stored as keyed hashes for at most one day.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from grader.errors import ErrorKind, Refusal
from grader.hosts import network
from grader.services.identity import logins, names
from grader.services.site import counting
from grader.services.site.counting import DAY, HOUR, MINUTE, RateLimit
from grader.text import folded

STRANGERS = (RateLimit(60, HOUR), RateLimit(500, DAY))
ONE_DEVICE = (RateLimit(30, HOUR),)
DEVICES = (RateLimit(300, DAY),)
# An app accepts three of a million codes at any time, so 90 guesses a day find one in 10 years on average.
CODES = (RateLimit(10, HOUR), RateLimit(30, DAY))
DEVICES_CODES = (RateLimit(60, DAY),)
NETWORK = (RateLimit(20, MINUTE), RateLimit(200, HOUR))  # over all account names


@dataclass(frozen=True, slots=True)
class Guesser:
    """The account and the origin of an attempt, as hashes.

    `device` is the number of a device that has logged in to the account before or of the session in which the
    password is entered again, or None. `is_code` is true for the code of a second factor, which is entered
    after the password.
    """

    account: str
    address: str
    device: str | None = None
    is_code: bool = False


def account_hash(name: str, *, secret: str) -> str:
    """Return the hash for counting attempts for a name, ignoring case."""
    text = name[: names.LENGTH_LOOKED_AT]
    with suppress(names.InvalidName):
        text = names.clean_name(text)
    return logins.keyed_hash(secret, f"guesses: account: {folded(text)}")


def address_hash(address: str | None, *, secret: str) -> str:
    """Return the hash of an address or of its IPv6 /64 network."""
    return logins.keyed_hash(secret, f"guesses: address: {network(address)}")


def require_room(session: Session, *, guesser: Guesser, now: datetime) -> None:
    """Raise Refusal if an attempt is not allowed, without counting it."""
    what = "codes" if guesser.is_code else "passwords"
    for kind, whose, limits in _counters(guesser):
        if reached := counting.free_at(session, kind=kind, whose=whose, limits=limits, now=now):
            limit, at = reached
            message = (
                f"{limit.count} wrong {what} were entered for this name or from your network within "
                f"{limit.period}. Try again {counting.when(at, now)}."
            )
            retry_after = max(at - now, timedelta(seconds=1))
            raise Refusal("too_many_guesses", ErrorKind.LIMITED, message, retry_after=retry_after)


def begin(session: Session, *, guesser: Guesser, now: datetime) -> tuple[int, ...]:
    """Count an attempt as wrong before it is checked; return the ids of the counts. Raise Refusal."""
    counting.hold_lock(session, f"guesses at {guesser.account}")
    if guesser.device is None:
        counting.hold_lock(session, f"guesses from {guesser.address}")
    require_room(session, guesser=guesser, now=now)
    return tuple(
        counting.add(session, kind=kind, whose=whose, now=now) for kind, whose, _ in _counters(guesser)
    )


def _counters(guesser: Guesser) -> Iterator[tuple[str, str, Sequence[RateLimit]]]:
    """Yield the kind, the owner and the limits of each counter of an attempt."""
    kind, account = "code" if guesser.is_code else "guess", guesser.account
    if guesser.device is not None:
        here = hashlib.sha256(f"{account} {guesser.device}".encode()).hexdigest()
        yield f"{kind}.device", here, CODES if guesser.is_code else ONE_DEVICE
        yield f"{kind}.devices", account, DEVICES_CODES if guesser.is_code else DEVICES
    else:
        yield f"{kind}.stranger", account, CODES if guesser.is_code else STRANGERS
        if not guesser.is_code:
            yield "guess.network", guesser.address, NETWORK
