"""Password rules, changes of passwords, and password hashing with limited concurrency."""

import re
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from importlib import resources
from typing import Literal

from argon2 import PasswordHasher
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, ParticipantError
from grader.models import Login, User
from grader.services.identity import logins
from grader.text import counted, folded

AT_ONCE = 1  # hashes per process
# The queue is long enough for a class that logs in at the same time. The last of 64 users waits for several
# seconds, or half a minute on a busy machine, in a separate pool of threads (`webapp.server.connections`).
MOST_WAITING = 64
WAIT_SECONDS = 30.0
# Attempts from known devices and addresses go first and may wait longer, so that a flood of other attempts
# cannot keep out users who have logged in before.
MOST_KNOWN_WAITING = 64
KNOWN_WAIT_SECONDS = 45.0
RETRY_AFTER = timedelta(seconds=5)
MIN_LENGTH = 8
MAX_LENGTH = 1024
SITE_NAMES = ("Fairboard",)
# Attackers try words with such additions: a few digits and symbols in any order, or a number, such as a year,
# with symbols. Longer additions count as secret.
_MOST_ADDED = 4
_MOST_DIGITS = 4
_MOST_MARKS = 4
_ADDED = re.compile(r"[\W\d_]*")
_MARKS = re.compile(r"[\W_]")
_NUMBER = re.compile(r"\d+")


class TooManyHashes(ParticipantError):
    """Too many passwords are waiting to be checked."""

    public_name = "too_many_hashes"
    kind = ErrorKind.NOT_YET

    retry_after = RETRY_AFTER
    message = (
        "Too many users are logging in, so your password was not checked. This did not count as an attempt. "
        "Try again in a few seconds."
    )


class BoundedHasher(PasswordHasher):
    """A hasher with a queue. It raises TooManyHashes if the queue is full or the wait is too long."""

    def __init__(self, *, time_cost: int, memory_cost: int) -> None:
        super().__init__(time_cost=time_cost, memory_cost=memory_cost, parallelism=1)
        self._lock = threading.Lock()
        self._running = 0
        self._waiting: dict[bool, deque[threading.Event]] = {True: deque(), False: deque()}
        self._mine = threading.local()

    @contextmanager
    def turn(self, *, is_known: bool = False) -> Iterator[None]:
        """Wait for a slot and hold it for `hash` and `verify`; attempts with `is_known` go first."""
        self._enter(is_known)
        self._mine.is_held = True
        try:
            yield
        finally:
            self._mine.is_held = False
            self._leave()

    def require_place(self, *, is_known: bool) -> None:
        """Raise TooManyHashes if the queue is full; call this before more expensive checks."""
        with self._lock:
            if len(self._waiting[is_known]) >= (MOST_KNOWN_WAITING if is_known else MOST_WAITING):
                raise TooManyHashes

    def hash(self, password: str | bytes, *, salt: bytes | None = None) -> str:
        """Hash a password; wait for a slot unless the caller holds one."""
        with self._turn_unless_held():
            return super().hash(password, salt=salt)

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:  # noqa: A002 - the library's name
        """Verify a password; wait for a slot unless the caller holds one."""
        with self._turn_unless_held():
            return super().verify(hash, password)

    @contextmanager
    def _turn_unless_held(self) -> Iterator[None]:
        if getattr(self._mine, "is_held", False):
            yield
        else:
            with self.turn():
                yield

    def _enter(self, is_known: bool) -> None:
        line, mine = self._waiting[is_known], threading.Event()
        with self._lock:
            if len(line) >= (MOST_KNOWN_WAITING if is_known else MOST_WAITING):
                raise TooManyHashes
            if self._running < AT_ONCE:
                self._running += 1
                return
            line.append(mine)
        if mine.wait(KNOWN_WAIT_SECONDS if is_known else WAIT_SECONDS):
            return
        with self._lock:
            if not mine.is_set():  # The slot may have become free just after the timeout.
                line.remove(mine)
                raise TooManyHashes

    def _leave(self) -> None:
        """Pass the slot to the next waiting thread."""
        with self._lock:
            line = self._waiting[True] or self._waiting[False]
            if line:
                line.popleft().set()
            else:
                self._running -= 1


def password_problem(password: str, *, name: str) -> str | None:
    """Return the reason why the user `name` cannot use this password, or None."""
    if len(password) < MIN_LENGTH:
        return f"The password has {counted(len(password), 'character')}. Use at least {MIN_LENGTH}."
    if len(password) > MAX_LENGTH:
        return f"The password has {len(password):,} characters. Use at most {MAX_LENGTH:,}."
    if len(set(password)) < 3:
        return "The password needs at least three different characters."
    tried = {folded(password), *_words(password)}
    units = {unit for each in tried if len(each) >= MIN_LENGTH and (unit := _unit(each)) != each}
    if any(len(unit) < MIN_LENGTH for unit in units):
        return "The password repeats a short text, so it is easy to guess. Choose another one."
    tried |= units
    if name and not tried.isdisjoint({folded(name), *_words(name)}):
        return "The password is based on the account name, so it is easy to guess. Choose another one."
    if not tried.isdisjoint(folded(each) for each in SITE_NAMES):
        return "The password is based on the site's name, so it is easy to guess. Choose another one."
    if not tried.isdisjoint(_common()):
        return (
            "The password is based on a common password, so it is easy to guess. Choose a longer one, such "
            "as "
            "three unrelated words."
        )
    joined = {_MARKS.sub("", each) for each in tried}
    for own in filter(None, (_MARKS.sub("", folded(each)) for each in (name, *SITE_NAMES))):
        rests = {rest for each in joined for rest in (each.removeprefix(own), each.removesuffix(own))}
        if not (rests - joined).isdisjoint(_common()):
            return (
                "The password combines a name with a common password, so it is easy to guess. Choose "
                "another one."
            )
    return None


def set_password(session: Session, *, user: User, password_hash: str, keep: Login | None = None) -> None:
    """Set a password, end the user's sessions except `keep`, and delete known addresses."""
    session.get_one(User, user.id).password_hash = password_hash
    logins.forget_known_addresses(session, user=user)
    logins.end_all(session, user=user, but=keep)
    session.flush()


def _unit(text: str) -> str:
    """Return the shortest prefix that, repeated and possibly cut off at the end, forms the text."""
    for length in range(1, len(text) // 2 + 1):
        if text.startswith(text[length:]):
            return text[:length]
    return text


def _words(password: str) -> set[str]:
    """Return the words that a password may be based on, in lower case, without spaces and additions."""
    plain = folded(password).replace(" ", "")
    ahead, behind = _added(plain), _added(plain[::-1])
    return {
        plain[before : len(plain) - after]
        for before in range(ahead + 1)
        for after in range(min(behind, len(plain) - before - 1) + 1)
        if _is_tried(plain[:before], plain[len(plain) - after :])
    }


def _added(text: str) -> int:
    """Return the number of leading digits and symbols that could be an addition."""
    match = _ADDED.match(text[: _MOST_DIGITS + _MOST_MARKS])
    return len(match[0]) if match else 0


def _is_tried(before: str, after: str) -> bool:
    """Return whether attackers are likely to try these additions before and after a word."""
    numbers = [*_NUMBER.findall(before), *_NUMBER.findall(after)]
    digits = sum(map(len, numbers))
    added = len(before) + len(after)
    is_number_and_marks = len(numbers) <= 1 and digits <= _MOST_DIGITS and added - digits <= _MOST_MARKS
    return added <= _MOST_ADDED or is_number_and_marks


@cache
def _common() -> frozenset[str]:
    text = resources.files("grader.services.identity").joinpath("common_passwords.txt").read_text("utf-8")
    return frozenset(line for line in text.splitlines() if not line.startswith("#"))
