"""Retry a database write while the database or its disk is unavailable."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from grader import db
from grader.storage import disk

PATIENCE_SECONDS = 10.0  # longer than a restart of PostgreSQL, shorter than what a scoring's limits leave
PAUSE_SECONDS = 0.5

T = TypeVar("T")

logger = logging.getLogger(__name__)


def insist(write: Callable[[], T], *, patience_seconds: float = PATIENCE_SECONDS) -> T:
    """Return what `write` returns; do it again while the database or its disk cannot be used.

    It must be safe to do twice: whether a COMMIT took effect whose answer was lost is not known.
    """
    end = time.monotonic() + patience_seconds
    is_told = False
    while True:
        try:
            return write()
        except Exception as error:
            if not (db.is_unavailable(error) or disk.is_full(error)) or time.monotonic() >= end:
                raise
            if not is_told:
                logger.warning("The database cannot be written at the moment; retrying: %s", error)
                is_told = True
        time.sleep(PAUSE_SECONDS)


def tell_of(error: Exception, what: str) -> None:
    """Log an error that ends no process; that the database is away needs no traceback, everybody says so."""
    logger.error("%s: %s", what, error, exc_info=None if db.is_unavailable(error) else error)
