"""Retries of database writes and failed jobs, and the log of handled errors."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from grader import db
from grader.sandbox import SandboxUnavailable
from grader.services.site.leased_rows import Breakdown, Outage, new_incident
from grader.storage import disk
from grader.storage.stores import StorageUnavailable

# This is longer than a restart of PostgreSQL takes, but shorter than the time left to a scoring job.
PATIENCE_SECONDS = 10.0
PAUSE_SECONDS = 0.5

T = TypeVar("T")

logger = logging.getLogger(__name__)


def insist(write: Callable[[], T], *, patience_seconds: float = PATIENCE_SECONDS) -> T:
    """Return the result of `write`; retry while the database is unavailable or its disk is full.

    `write` must be idempotent because the effect of a COMMIT is unknown after the connection is lost.
    """
    end = time.monotonic() + patience_seconds
    is_logged = False
    while True:
        try:
            return write()
        except Exception as error:
            if not (db.is_unavailable(error) or disk.is_full(error)) or time.monotonic() >= end:
                raise
            if not is_logged:
                logger.warning("Writing to the database failed; retrying: %s", error)
                is_logged = True
        time.sleep(PAUSE_SECONDS)


def unfinished(error: Exception, job: str) -> Breakdown | Outage:
    """Return the outcome of a job that failed with an unexpected error, which is logged."""
    if isinstance(error, StorageUnavailable | SandboxUnavailable):
        logger.warning("The storage or the sandbox is unavailable; %s will be retried: %s", job, error)
        return Outage()
    incident = new_incident()
    logger.error("Incident %s: %s failed.", incident, job, exc_info=error)
    return Breakdown(incident)


def log_error(error: Exception, message: str) -> None:
    """Log a handled error, without a traceback if the database is unavailable."""
    logger.error("%s: %s", message, error, exc_info=None if db.is_unavailable(error) else error)
