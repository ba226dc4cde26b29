"""Fair sharing of a child process between users: request order and CPU quotas."""

import math
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from grader.errors import ErrorKind, ParticipantError

# The time share of one user, so that no user can monopolize the child.
SHARE_SECONDS = 15.0
SHARE_PERIOD_SECONDS = 60.0


class ShareUsed(ParticipantError):
    """The user already has a task in the child or has used up the share of its time."""

    public_name = "share_used"
    kind = ErrorKind.LIMITED

    def __init__(self, message: str, retry_seconds: float, otherwise: str = "") -> None:
        seconds = max(1, math.ceil(retry_seconds))
        self.retry_after = timedelta(seconds=seconds)
        wait = "1 second" if seconds == 1 else f"{seconds} seconds"
        super().__init__(f"{message} Try again in {wait}{otherwise}.")


class Shares:
    """The recent use of a child process by each user; the child serves one user at a time."""

    def __init__(
        self,
        noun: str,
        verb: str,
        done: str,
        *,
        wait_seconds: float,
        most_waiting: float,
        otherwise: str = "",
    ) -> None:
        self._noun, self._verb, self._done, self._otherwise = noun, verb, done, otherwise
        self.wait_seconds, self._most_waiting = wait_seconds, most_waiting
        self.turn = threading.Lock()
        self._lock = threading.Lock()
        self._present: set[str | int | None] = set()
        self._used: dict[str | int | None, deque[tuple[float, float]]] = {}

    @contextmanager
    def hold(self, who: str | int | None) -> Iterator[bool]:
        """Reserve the child; yield False if the queue is full or the wait is too long; raise ShareUsed."""
        with self._lock:
            self._forget(time.monotonic())
            if who in self._present:
                present = f"Another of your {self._noun}s is being {self._done}."
                raise ShareUsed(present, 1, self._otherwise)
            self._require_rest(who)
            has_place = len(self._present) <= self._most_waiting
            self._present.add(who)
        try:
            if not has_place or not self.turn.acquire(timeout=self.wait_seconds):
                yield False
                return
            started = time.monotonic()
            try:
                yield True
            finally:
                self._note(who, time.monotonic() - started)
                self.turn.release()
        finally:
            with self._lock:
                self._present.discard(who)

    def _require_rest(self, who: str | int | None) -> None:
        uses = self._used.get(who, ())
        left = sum(seconds for _, seconds in uses)
        for ended, seconds in uses:
            if left < SHARE_SECONDS:
                return
            left -= seconds
            frees = ended + SHARE_PERIOD_SECONDS - time.monotonic()
            if left < SHARE_SECONDS:
                took = (
                    f"Your {self._noun}s took {SHARE_SECONDS:.0f} seconds to {self._verb} in the last minute."
                )
                raise ShareUsed(took, frees, self._otherwise)

    def _note(self, who: str | int | None, seconds: float) -> None:
        with self._lock:
            self._used.setdefault(who, deque()).append((time.monotonic(), seconds))

    def _forget(self, now: float) -> None:
        for who, uses in list(self._used.items()):
            while uses and uses[0][0] <= now - SHARE_PERIOD_SECONDS:
                uses.popleft()
            if not uses:
                del self._used[who]
