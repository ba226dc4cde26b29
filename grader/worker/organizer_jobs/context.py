"""Context of a running job: parameters, progress, interim results."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from grader.db import Database
from grader.errors import OrganizerError
from grader.files import FileRejected
from grader.settings import Settings
from grader.storage.stores import Storage

PROGRESS_SECONDS = 0.5
KEEP_SECONDS = 1.0


class WorkLost(Exception):
    """The job lost its lease or was dismissed."""


@dataclass(eq=False)
class Work:
    """A running job.

    A handler opens only short sessions of `database`, reports its progress and returns its result. A long
    job saves interim results with `keep`; the next attempt receives them as `kept`.
    """

    job_id: int
    competition_id: int
    parameters: dict[str, Any]
    settings: Settings
    database: Database
    storage: Storage
    write_progress: Callable[[dict[str, Any]], bool]
    write_kept: Callable[[dict[str, Any]], bool]
    kept: dict[str, Any]
    _kept_at: float = field(default=float("-inf"), init=False)
    _told_at: float = field(default=float("-inf"), init=False)
    _words: str = field(default="", init=False)

    def report_progress(self, done: int, total: int, words: str) -> None:
        """Store the progress, at most every half second while `words` is unchanged; raise WorkLost."""
        moment = time.monotonic()
        if words == self._words and moment - self._told_at < PROGRESS_SECONDS:
            return
        self._told_at, self._words = moment, words
        if not self.write_progress({"done": done, "total": total, "words": words}):
            raise WorkLost

    def keep(self, found: Callable[[], dict[str, Any]]) -> None:
        """Save interim results at most once a second; raise WorkLost."""
        moment = time.monotonic()
        if moment - self._kept_at < KEEP_SECONDS:
            return
        self._kept_at = moment
        if not self.write_kept(found()):
            raise WorkLost


Handler = Callable[[Work], dict[str, Any]]


def problems_of(error: FileRejected | OrganizerError) -> list[dict[str, Any]]:
    """Return the problems of an error as JSON-ready data with codes and messages."""
    if isinstance(error, FileRejected):
        return [problem.as_dict() for problem in error.problems]
    sentences = getattr(error, "problems", (error.message,))
    return [{"code": error.public_name, "message": sentence} for sentence in sentences]
