"""Scheduled tasks: competition dates, expired records and files, missing solution files."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, delete, select

from grader import db
from grader.db import Database
from grader.models import (
    Competition,
    Identity,
    KeptIdentity,
    Tally,
)
from grader.services.closing import close
from grader.services.identity import kept_identities, logins
from grader.services.leaderboards import standard_errors
from grader.services.site import counting
from grader.services.site.log import Actor
from grader.services.solutions import data_checks as checks
from grader.services.submissions import rejected_files, retries, uploads
from grader.storage import blobs
from grader.storage.blobs import SuspiciousStorage
from grader.storage.stores import Storage
from grader.worker.organizer_jobs import closing
from grader.worker.process.repeating import Lane

EXPIRED: Sequence[tuple[type[Any], Callable[[datetime], ColumnElement[bool]]]] = (
    (Tally, counting.is_old),
    (Identity, logins.is_old_identity),
    (KeptIdentity, kept_identities.is_old),
)
MOST_DELETED = 5000  # per transaction; more would delay requests that wait for the SQLite write lock
SOLUTIONS_SECONDS = 15
ERRORS_SECONDS = 15
RECORDS_SECONDS = 600
FILES_SECONDS = 300
STORAGE_SECONDS = 24 * 3600
STORAGE_AFTER_SECONDS = 600  # keeps frequent restarts from listing the storage each time
NAMED_ROWS = 5

logger = logging.getLogger(__name__)


class Calendar:
    """Runs the scheduled tasks of competitions; several processes may do so concurrently."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: set[str] = set()

    def run_due(self) -> None:
        """Run all tasks that are due now."""
        with self._database.read() as session:
            now = db.now(session)
            unsettled = close.unsettled(session, now=now)
            due = close.due(session, now=now)
            is_retry_due = retries.is_retry_due(session, now=now)
        if is_retry_due:
            with self._database.write() as session:
                retries.retry_failed(session, now=now)
        for competition in unsettled:
            self._settle(competition)
        for competition in due:
            self._reveal(competition)

    def _settle(self, competition: Competition) -> None:
        try:
            with self._database.write() as session:
                close.settle(session, competition=competition)
        except (close.ScoringPending, close.NotClosed):
            return  # a failed submission is being retried, or the close was postponed
        logger.info(
            "%s is settled: all submissions accepted before the close have results.", competition.slug
        )

    def _reveal(self, competition: Competition) -> None:
        try:
            with self._database.write() as session:
                close.reveal(session, competition=competition, actor=Actor.calendar())
        except close.AlreadyRevealed:
            return
        except close.ScoringPending as error:
            if competition.slug not in self._waiting:
                self._waiting.add(competition.slug)
                logger.warning("The reveal of %s is delayed. %s", competition.slug, error.message)
            return
        logger.info("The private leaderboard of %s was revealed on its scheduled date.", competition.slug)


def forget_records(database: Database) -> bool:
    """Delete a limited number of expired records; return whether there may be more."""
    with database.read() as session:
        now = db.now(session)
        expired = (select(table.id).where(is_old(now)).limit(1) for table, is_old in EXPIRED)
        is_due = any(session.scalar(query) is not None for query in expired)
    if is_due:
        with database.write() as session:
            for table, is_old in EXPIRED:
                old = select(table.id).where(is_old(now)).limit(MOST_DELETED)
                session.execute(delete(table).where(table.id.in_(old)))
    return is_due


def request_errors(database: Database) -> None:
    """Add a job to each competition in which a file that counts has no standard errors."""
    with database.read() as session:
        are_due = standard_errors.are_due(session, now=db.now(session))
    if are_due:
        with database.write() as session:
            standard_errors.request_due(session, now=db.now(session))


class Keeper:
    """Deletes expired records and files and keeps the storage consistent with the database.

    Several processes may do so concurrently.
    """

    def __init__(self, database: Database, storage: Storage) -> None:
        self._database = database
        self._storage = storage
        self._damaged_solutions: set[int] | None = None  # None before the first run

    def lanes(self) -> list[Lane]:
        """Return a lane for each task."""
        return [
            Lane("solutions", self.complete_solutions, SOLUTIONS_SECONDS),
            Lane("errors", partial(request_errors, self._database), ERRORS_SECONDS),
            Lane("records", partial(forget_records, self._database), RECORDS_SECONDS),
            Lane("files", self.forget_files, FILES_SECONDS, FILES_SECONDS),
            Lane("storage", self.look, STORAGE_SECONDS, STORAGE_AFTER_SECONDS),
        ]

    def complete_solutions(self) -> None:
        """Request due data file checks; write missing commitments and, once, missing solution files."""
        with self._database.read() as session:
            are_stale = checks.are_stale(session)
        if are_stale:
            with self._database.write() as session:
                checks.request_all(session, now=db.now(session))
        damaged = self._damaged_solutions
        self._damaged_solutions = closing.write_missing_commitments(
            self._database, self._storage, but=damaged or ()
        )
        if damaged is None:  # publishing writes the files, so they are missing only after a restore
            closing.write_missing_files(self._database, self._storage)

    def forget_files(self) -> None:
        """Delete the stored bytes of old rejected files and uploads."""
        rejected_files.delete(self._database, self._storage)
        self.forget_uploads()

    def forget_uploads(self) -> None:
        """Delete expired announced uploads and their bytes."""
        with self._database.read() as session:
            has_old = uploads.has_old(session, now=db.now(session))
        while has_old:
            with self._database.write() as session:
                names = uploads.forget_old(session, now=db.now(session))
                has_old = uploads.has_old(session, now=db.now(session))
            if names is None:
                return  # the remaining rows are locked by other transactions
            blobs.delete_unnamed(self._database, self._storage, sorted(names), age=timedelta())

    def look(self) -> None:
        """Delete old unreferenced blobs; log an error if database rows refer to missing blobs."""
        self._storage.remove_abandoned()
        with self._database.read() as session:
            required = blobs.required(session)
        # The blobs are listed after the rows are read, so every blob to which a row refers should exist.
        stored = {blob.sha256 for blob in self._storage.blobs()}
        if not required <= stored:
            with self._database.read() as session:
                missing = [blob for blob in blobs.missing(session, stored=stored) if blob.sha256 in required]
            logger.error(
                "Alarm: %s rows refer to missing blobs, such as %s. Run `fairboard doctor` to list them.",
                len(missing),
                ", ".join(blob.row for blob in missing[:NAMED_ROWS]),
            )
        try:
            blobs.collect(self._database, self._storage)
        except SuspiciousStorage as error:
            logger.error("No unreferenced blobs were deleted. %s", error.message)  # noqa: TRY400
