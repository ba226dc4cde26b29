"""Waiting requests: their maximum number, and one shared database query for all of them.

A request that waits has a thread of the server. A quarter of a process's threads may be used so, by one
person a quarter of those; who finds no place is answered at once, and is asked to come again the later the
more came lately. Nobody holds a connection to the database meanwhile: whoever is first to look after half a
second looks for all.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from grader import db
from grader.db import Database
from grader.services.leaderboards import changes
from grader.services.leaderboards.changes import Changed, Watcher
from webapp.server import requests

LONGEST_SECONDS = 60
LOOK_SECONDS = 0.5
SHARE = 4  # of the threads, and of these for one person
RECENT = timedelta(minutes=2)  # longer than any request looks on
SOONEST_SECONDS, LATEST_SECONDS = 2, 60
COUNTED_SECONDS = 10.0
TURNED_AWAY_FOR_A_SECOND = 3  # of those within that time, for each second that the next one is to wait


@dataclass(frozen=True, slots=True)
class Seen:
    """The result of one look: versions of boards, finished submissions, recent changes, watchers' teams."""

    at: float = float("-inf")
    now: datetime | None = None
    finished: frozenset[int] = frozenset()
    boards: dict[int, str] = field(default_factory=dict)
    changed: tuple[Changed, ...] = ()
    teams: dict[Watcher, int] = field(default_factory=dict)


class Waits:
    """The requests of this process that wait."""

    def __init__(self, database: Database, *, threads: int) -> None:
        self.longest_seconds = float(LONGEST_SECONDS)
        self._database = database
        self._most = threads // SHARE  # none where there are few threads
        self._most_of_one = self._most // SHARE + 1
        self._lock = threading.Lock()
        self._look_lock = threading.Lock()
        self._waiting: Counter[int] = Counter()
        self._submissions: Counter[int] = Counter()
        self._boards: Counter[Watcher] = Counter()
        self._turned_away: list[float] = []
        self._seen = Seen()

    def take(self, user_id: int) -> bool:
        """Take a place for a person; return whether there was one. Who took one gives it back."""
        with self._lock:
            is_full = self._waiting.total() >= self._most or self._waiting[user_id] >= self._most_of_one
            if is_full or requests.begun.is_set():
                return False
            self._waiting[user_id] += 1
            return True

    def give_back(self, user_id: int) -> None:
        """Free the place of a person."""
        with self._lock:
            self._waiting[user_id] -= 1
            self._waiting += Counter()

    def retry_after(self) -> int:
        """Return in how many seconds somebody who found no place may come again: the more came, the later."""
        now = time.monotonic()
        with self._lock:
            self._turned_away = [each for each in self._turned_away if each > now - COUNTED_SECONDS]
            self._turned_away.append(now)
            spread = SOONEST_SECONDS + len(self._turned_away) // TURNED_AWAY_FOR_A_SECOND
        return min(spread, LATEST_SECONDS)

    def for_result(self, user_id: int, *, submission_id: int, seconds: float) -> int | None:
        """Wait for a submission's result; return in how many seconds to ask again if there is no place."""
        if not self.take(user_id):
            return self.retry_after()
        try:
            self.until_finished(submission_id, seconds=seconds)
        finally:
            self.give_back(user_id)
        return None

    def until_finished(self, submission_id: int, *, seconds: float) -> None:
        """Return when a submission has its result, after so many seconds, or when the process ends."""
        with self._watched(self._submissions, submission_id):
            self._until(lambda seen: submission_id in seen.finished, seconds)

    @contextmanager
    def watching(self, watcher: Watcher) -> Iterator[None]:
        """Let looks see a leaderboard and the changes of the watcher's team within the block.

        Each look reads which team that is: it may be founded, joined or left meanwhile.
        """
        with self._watched(self._boards, watcher):
            yield

    def pause(self) -> bool:
        """Wait for the next look; return whether the process ends."""
        return requests.begun.wait(LOOK_SECONDS)

    def look(self) -> Seen:
        """Return what is so now, as one look within the last half second saw it for all."""
        with self._look_lock:
            if time.monotonic() - self._seen.at >= LOOK_SECONDS:
                self._seen = self._look()
            return self._seen

    def _until(self, is_there: Callable[[Seen], bool], seconds: float) -> None:
        end = time.monotonic() + min(seconds, self.longest_seconds)
        while not is_there(self.look()) and (left := end - time.monotonic()) > 0:
            if requests.begun.wait(min(LOOK_SECONDS, left)):
                return

    def _look(self) -> Seen:
        with self._lock:
            submission_ids, watchers = list(self._submissions), list(self._boards)
        with self._database.read() as session:
            now = db.now(session)
            teams = changes.teams_of(session, watchers=watchers)
            team_ids = set(teams.values())
            return Seen(
                at=time.monotonic(),
                now=now,
                finished=frozenset(changes.finished(session, submission_ids=submission_ids)),
                boards={
                    competition_id: changes.board_version(session, competition_id=competition_id)
                    for competition_id in {each.competition_id for each in watchers}
                },
                changed=tuple(changes.changed_since(session, team_ids=team_ids, since=now - RECENT)),
                teams=teams,
            )

    @contextmanager
    def _watched(self, watched: Counter, key: object) -> Iterator[None]:  # type: ignore[type-arg]
        with self._lock:
            watched[key] += 1
        try:
            yield
        finally:
            with self._lock:
                watched[key] -= 1
                if not watched[key]:
                    del watched[key]
