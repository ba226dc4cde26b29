"""How many passwords are hashed at once: each takes a tenth of a second of one core and 64 MiB."""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from argon2 import PasswordHasher

from grader.errors import ParticipantError

AT_ONCE = 1  # in each process
MOST_WAITING = 4
WAIT_SECONDS = 2.0
# Who is known to an account goes first and waits longer: no crowd of strangers keeps out who was in before.
MOST_KNOWN_WAITING = 4
KNOWN_WAIT_SECONDS = 5.0
RETRY_SECONDS = 5


class TooManyHashes(ParticipantError):
    """As many passwords wait to be looked at as may."""

    retry_seconds = RETRY_SECONDS

    def __init__(self) -> None:
        super().__init__(
            "More passwords are being looked at than this site can manage, so yours was not. Nothing was "
            "changed and no try was counted. Please try again in some seconds."
        )


class BoundedHasher(PasswordHasher):
    """A hasher whose callers take turns; raises TooManyHashes where too many wait, or one for too long."""

    def __init__(self, *, time_cost: int, memory_cost: int) -> None:
        super().__init__(time_cost=time_cost, memory_cost=memory_cost, parallelism=1)
        self._changed = threading.Condition()
        self._running = 0
        self._waiting: dict[bool, deque[object]] = {True: deque(), False: deque()}
        self._mine = threading.local()

    @contextmanager
    def turn(self, *, is_known: bool = False) -> Iterator[None]:
        """Wait for one's turn and hold it; those who are known to the account go first.

        Within it `hash` and `verify` wait no more.
        """
        self._enter(is_known)
        self._mine.is_held = True
        try:
            yield
        finally:
            self._mine.is_held = False
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

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
        line = self._waiting[is_known]
        end = time.monotonic() + (KNOWN_WAIT_SECONDS if is_known else WAIT_SECONDS)
        me = object()
        with self._changed:
            if len(line) >= (MOST_KNOWN_WAITING if is_known else MOST_WAITING):
                raise TooManyHashes
            line.append(me)
            try:
                while not self._is_next(me, line, is_known):
                    if not self._changed.wait(end - time.monotonic()) and time.monotonic() >= end:
                        raise TooManyHashes
            finally:
                line.remove(me)
                self._changed.notify_all()
            self._running += 1

    def _is_next(self, me: object, line: deque[object], is_known: bool) -> bool:
        is_free = self._running < AT_ONCE and line[0] is me
        return is_free and (is_known or not self._waiting[True])
