"""Context of a running job: parameters, progress, lease."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from grader import db
from grader.crash_points import reach
from grader.db import Database
from grader.errors import OrganizerError
from grader.files import FileRejected
from grader.models import OrganizerJob
from grader.services.site import organizer_jobs
from grader.settings import Settings
from grader.storage.stores import Storage

PROGRESS_SECONDS = 0.5

logger = logging.getLogger(__name__)


class WorkLost(Exception):
    """The job lost its lease or was dismissed."""


@dataclass(eq=False)
class Work:
    """A running job.

    A handler opens only short sessions of `database`, reports its progress and returns its result. A long
    job stores results and calls `has_stored`; the next attempt skips what is stored.
    """

    claim: OrganizerJob
    settings: Settings
    database: Database
    storage: Storage
    _reported_at: float = field(default=float("-inf"), init=False)
    _words: str = field(default="", init=False)

    def report_progress(self, done: int, total: int, words: str) -> None:
        """Store the progress, at most every half second while `words` is unchanged; raise WorkLost."""
        moment = time.monotonic()
        if words == self._words and moment - self._reported_at < PROGRESS_SECONDS:
            return
        self._reported_at, self._words = moment, words
        self._extend(progress={"done": done, "total": total, "words": words})

    def has_stored(self) -> None:
        """Note that another attempt would continue from here; raise WorkLost."""
        self._extend(has_stored=True)
        reach("organizer_job.after_keep")

    @contextmanager
    def extended(self) -> Iterator[None]:
        """Extend the lease repeatedly while the block runs."""
        done = threading.Event()

        def repeat() -> None:
            while not done.wait(organizer_jobs.LEASE.total_seconds() / 4):
                try:
                    self._extend()
                except (SQLAlchemyError, WorkLost) as error:
                    logger.warning("The lease of a job was not extended: %r", error)

        thread = threading.Thread(target=repeat, name="lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _extend(self, **values: Any) -> None:
        with self.database.write() as session:
            is_held = organizer_jobs.extend(session, claim=self.claim, now=db.now(session), **values)
        if not is_held:
            raise WorkLost


Handler = Callable[[Work], dict[str, Any]]


def problems_of(error: FileRejected | OrganizerError) -> list[dict[str, Any]]:
    """Return the problems of an error as JSON-ready data with codes and messages."""
    if isinstance(error, FileRejected):
        return [problem.as_dict() for problem in error.problems]
    sentences = getattr(error, "problems", (error.message,))
    return [{"code": error.public_name, "message": sentence} for sentence in sentences]
