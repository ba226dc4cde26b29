"""Caches of recently used values in a process."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Protocol, TypeVar

from grader import counters

T = TypeVar("T")
PAGE_SECONDS = 5.0


class Keep(Protocol):
    """A cache that returns the value of a key, computed by `make` if it is missing or not fresh."""

    def __call__(self, key: Hashable, make: Callable[[], T], is_fresh: Callable[[T], bool] = ...) -> T:
        """Return the value of a key."""


class _Entry:
    """A value, the time at which it was ready, and the lock under which it is computed once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.value: tuple[Any] | None = None
        self.since = 0.0


class Recent:
    """The most recently used values; concurrent callers wait for one computation of a value."""

    def __init__(self, count: int, *, seconds: float = float("inf")) -> None:
        self.seconds = seconds
        self._count, self._lock = count, threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()

    def get(
        self, key: Hashable, make: Callable[[], T], is_fresh: Callable[[T], bool] = lambda _value: True
    ) -> T:
        """Return the value of a key, computed by `make` if it is missing, too old or not fresh."""
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            while len(self._entries) > self._count:
                self._entries.popitem(last=False)
        with entry.lock:
            kept = entry.value if time.monotonic() - entry.since < self.seconds else None
            is_hit = kept is not None and is_fresh(kept[0])
            counters.CACHES.add("leaderboards", "hit" if is_hit else "miss")
            if not is_hit:
                entry.value = (make(),)
                entry.since = time.monotonic()
            value: T = entry.value[0]  # type: ignore[index]
        return value
