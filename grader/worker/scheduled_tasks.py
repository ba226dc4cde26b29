"""Scheduled tasks: competition dates, expired records and files, orphaned blobs."""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, delete, select

from grader import db
from grader.db import Database
from grader.models import Identity, KeptIdentity, Tally
from grader.services.closing import close
from grader.services.competitions import acting
from grader.services.site import counting
from grader.services.site.log import Actor
from grader.storage import blobs
from grader.storage.blobs import SuspiciousStorage
from grader.storage.stores import Storage
from grader.text import listed

MOST_DELETED = 5000  # per transaction; more would delay requests that wait for the SQLite write lock

logger = logging.getLogger(__name__)


def run_calendar(database: Database) -> None:
    """Settle closed competitions, and reveal those whose date has passed."""
    with database.read() as session:
        now = db.now(session)
        unsettled, due = close.unsettled(session, now=now), close.due(session, now=now)
    for competition in unsettled:
        # A failed submission may be in a retry, or the close may have been postponed.
        with suppress(close.ScoringPending, close.NotClosed):
            with database.write() as session:
                close.settle(session, competition=competition)
            logger.info("%s is settled: all submissions accepted in time have results.", competition.slug)
    for competition in due:
        with suppress(close.ScoringPending, close.AlreadyRevealed):
            with database.write() as session:
                close.reveal(acting.begin(session, competition=competition, actor=Actor.calendar()))
            logger.info("The private leaderboard of %s was revealed on its date.", competition.slug)


def forget_records(database: Database) -> None:
    """Delete expired records."""
    from grader.services.identity import kept_identities, logins  # large

    tables: Sequence[tuple[type[Any], Callable[[datetime], ColumnElement[bool]]]] = (
        (Tally, counting.is_old),
        (Identity, logins.is_old_identity),
        (KeptIdentity, kept_identities.is_old),
    )
    count = 1
    while count:
        with database.write() as session:
            now = db.now(session)
            count = 0
            for table, is_old in tables:
                old = select(table.id).where(is_old(now)).limit(MOST_DELETED)
                gone = session.scalars(delete(table).where(table.id.in_(old)).returning(table.id))
                count += len(gone.all())


def forget_uploads(database: Database, storage: Storage) -> None:
    """Delete expired announced uploads and their bytes."""
    from grader.services.submissions import uploads  # large

    names: set[str] | None = set()
    while names is not None:  # other transactions may lock the remaining rows
        with database.write() as session:
            names = uploads.forget(session, now=db.now(session))
        blobs.delete_unnamed(database, storage, sorted(names or ()), age=timedelta())


def check_storage(database: Database, storage: Storage) -> None:
    """Delete old unreferenced blobs; log an error if database rows refer to missing blobs."""
    storage.remove_abandoned()
    _, missing = blobs.check(database, storage)
    if missing:
        rows = listed([blob.row for blob in missing])
        logger.error("Alarm: Blobs are missing for %s. Run `fairboard doctor` to list them.", rows)
    try:
        blobs.collect(database, storage)
    except SuspiciousStorage as error:
        logger.error("No unreferenced blobs were deleted. %s", error.message)  # noqa: TRY400
