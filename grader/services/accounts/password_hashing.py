"""Password hashing: how many passwords are hashed at the same time, and how many may queue."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Literal

from argon2 import PasswordHasher

from grader.errors import ErrorKind, ParticipantError

AT_ONCE = 1  # in each process
# A class that logs in at once waits, and nobody of it is sent away: the last of 64 for some seconds, or half
# a minute on a busy machine. Who waits is on a thread of a lane of their own (`webapp.server.channel`).
MOST_WAITING = 64
WAIT_SECONDS = 30.0
# Who is known to an account goes first and waits longer: no crowd of strangers keeps out who was in before.
MOST_KNOWN_WAITING = 64
KNOWN_WAIT_SECONDS = 45.0
RETRY_AFTER = timedelta(seconds=5)


class TooManyHashes(ParticipantError):
    """As many passwords wait to be looked at as may."""

    public_name = "too_many_hashes"
    kind = ErrorKind.NOT_YET

    retry_after = RETRY_AFTER
    message = (
        "Too many people are logging in right now, so we could not check your password. Nothing was "
        "changed, "
        "and this did not count as an attempt. Please try again in a few seconds."
    )


class BoundedHasher(PasswordHasher):
    """A hasher whose callers take turns; raises TooManyHashes where too many wait, or one for too long."""

    def __init__(self, *, time_cost: int, memory_cost: int) -> None:
        super().__init__(time_cost=time_cost, memory_cost=memory_cost, parallelism=1)
        self._lock = threading.Lock()
        self._running = 0
        self._waiting: dict[bool, deque[threading.Event]] = {True: deque(), False: deque()}
        self._mine = threading.local()

    @contextmanager
    def turn(self, *, is_known: bool = False) -> Iterator[None]:
        """Wait for a turn and hold it; people known to the account go first.

        Within it `hash` and `verify` wait no more.
        """
        self._enter(is_known)
        self._mine.is_held = True
        try:
            yield
        finally:
            self._mine.is_held = False
            self._leave()

    def require_place(self, *, is_known: bool) -> None:
        """Raise TooManyHashes where the line is full; what else a guess needs costs far more."""
        with self._lock:
            if len(self._waiting[is_known]) >= (MOST_KNOWN_WAITING if is_known else MOST_WAITING):
                raise TooManyHashes

    def hash(self, password: str | bytes, *, salt: bytes | None = None) -> str:
        """Hash a password in one's turn."""
        with self._turn_unless_held():
            return super().hash(password, salt=salt)

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:  # noqa: A002 - the library's name
        """Look at a password in one's turn."""
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
            if not mine.is_set():  # else it came at the last moment
                line.remove(mine)
                raise TooManyHashes

    def _leave(self) -> None:
        """Give the turn to who is next: it is never free while somebody waits."""
        with self._lock:
            line = self._waiting[True] or self._waiting[False]
            if line:
                line.popleft().set()
            else:
                self._running -= 1
