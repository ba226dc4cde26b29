"""Long polling: limits on waiting requests.

A waiting request occupies a server thread. At most a quarter of a process's threads may wait, and one user
may occupy at most a quarter of these. Requests over the limit get an immediate response with a retry delay
that grows with the number of recent rejections. Waiting requests hold no database connection.

A request for a result queries its submission at intervals that grow with the time it has waited.
"""

import threading
import time
from collections import Counter

from grader.db import Database
from grader.services.leaderboards import changes
from webapp.server import requests

LONGEST_SECONDS = 60
LOOK_SECONDS = 0.5
FIRST_LOOK_SECONDS = 0.01
LATER = 8  # the delay until a result is seen is at most an eighth of the time waited
SHARE = 4  # share of the threads, and the share of these per user
SOONEST_SECONDS, LATEST_SECONDS = 2, 60
COUNTED_SECONDS = 10.0
TURNED_AWAY_FOR_A_SECOND = 3  # number of recent rejections that add one second to the retry delay


class Waits:
    """The waiting requests of this process."""

    def __init__(self, database: Database, *, threads: int) -> None:
        self.longest_seconds = float(LONGEST_SECONDS)
        self._database = database
        self._most = threads // SHARE  # 0 with few threads
        self._most_of_one = self._most // SHARE + 1
        self._lock = threading.Lock()
        self._waiting: Counter[int] = Counter()
        self._turned_away: list[float] = []

    def take(self, user_id: int) -> bool:
        """Reserve a slot for a user; return whether one was free. Release it with `give_back`."""
        with self._lock:
            is_full = self._waiting.total() >= self._most or self._waiting[user_id] >= self._most_of_one
            if is_full or requests.begun.is_set():
                return False
            self._waiting[user_id] += 1
            return True

    def give_back(self, user_id: int) -> None:
        """Release a user's slot."""
        with self._lock:
            self._waiting[user_id] -= 1
            self._waiting += Counter()

    def retry_after(self) -> int:
        """Return the retry delay in seconds, which grows with the recent number of rejections."""
        now = time.monotonic()
        with self._lock:
            self._turned_away = [each for each in self._turned_away if each > now - COUNTED_SECONDS]
            self._turned_away.append(now)
            spread = SOONEST_SECONDS + len(self._turned_away) // TURNED_AWAY_FOR_A_SECOND
        return min(spread, LATEST_SECONDS)

    def for_result(self, user_id: int, *, submission_id: int, seconds: float) -> int | None:
        """Wait for a submission's result; return a retry delay in seconds if no slot is free."""
        if not self.take(user_id):
            return self.retry_after()
        try:
            self.until_finished(submission_id, seconds=seconds)
        finally:
            self.give_back(user_id)
        return None

    def until_finished(self, submission_id: int, *, seconds: float) -> None:
        """Block until a submission has its result, the time limit is reached, or the process ends."""
        start = time.monotonic()
        while (left := min(seconds, self.longest_seconds) - (waited := time.monotonic() - start)) > 0:
            pause = min(max(FIRST_LOOK_SECONDS, waited / LATER), LOOK_SECONDS, left)
            if requests.begun.wait(pause) or self._is_finished(submission_id):
                return

    def _is_finished(self, submission_id: int) -> bool:
        with self._database.read() as session:
            return changes.is_finished(session, submission_id=submission_id)
