"""The sweeper's work on the storage: rejected files, orphaned blobs, an alarm for missing ones."""

import logging
import threading
import time
from datetime import timedelta

from grader import db
from grader.db import Database
from grader.services import uploads
from grader.services.submissions import rejected_files
from grader.storage import blobs
from grader.storage.blobs import SuspiciousStorage
from grader.storage.stores import Storage
from grader.worker.process.retrying import tell_of

FIRST_AFTER_SECONDS = 600  # a sweeper that is started again and again need not list the storage each time
INTERVAL_SECONDS = 24 * 3600
REJECTED_SECONDS = 300
NAMED_ROWS = 5

logger = logging.getLogger(__name__)


class Keeper:
    """Keeps storage and rows in agreement. Several may run at once."""

    def __init__(self, database: Database, storage: Storage) -> None:
        self._database = database
        self._storage = storage

    def run(self, stop: threading.Event) -> None:
        """Delete rejected files and old uploads every five minutes, look at all once a day, until `stop`."""
        look_at = time.monotonic() + FIRST_AFTER_SECONDS
        while not stop.wait(REJECTED_SECONDS):
            try:
                rejected_files.delete(self._database, self._storage)
                self.forget_uploads()
            except Exception as error:
                tell_of(error, "The bytes of rejected files and old uploads could not be deleted; retrying")
            if time.monotonic() < look_at:
                continue
            look_at = time.monotonic() + INTERVAL_SECONDS
            try:
                self.look()
            except SuspiciousStorage as error:
                logger.error("No orphans are deleted. %s", error.message)  # noqa: TRY400
            except Exception:
                logger.exception("The storage could not be compared with the rows; retrying tomorrow.")

    def forget_uploads(self) -> None:
        """Delete expired announced uploads with their bytes."""
        with self._database.read() as session:
            has_old = uploads.has_old(session, now=db.now(session))
        while has_old:
            with self._database.write() as session:
                names = uploads.forget_old(session, now=db.now(session))
                has_old = uploads.has_old(session, now=db.now(session))
            if names is None:
                return  # other transactions hold the remaining rows
            blobs.delete_unnamed(self._database, self._storage, sorted(names), age=timedelta())

    def look(self) -> None:
        """Delete old unreferenced blobs; log an alarm for rows whose blob is missing."""
        self._storage.remove_abandoned()
        with self._database.read() as session:
            required = blobs.required(session)
        stored = {blob.sha256 for blob in self._storage.blobs()}  # after the rows: their blobs were there
        if not required <= stored:
            with self._database.read() as session:
                missing = [blob for blob in blobs.missing(session, stored=stored) if blob.sha256 in required]
            logger.error(
                "Alarm: %s rows name blobs that are gone, such as %s. `fairboard doctor` names them.",
                len(missing),
                ", ".join(blob.row for blob in missing[:NAMED_ROWS]),
            )
        blobs.collect(self._database, self._storage)
