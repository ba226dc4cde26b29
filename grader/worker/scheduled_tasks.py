"""Scheduled tasks: competition dates, expired records and files, missing solution files."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, delete, exists, null, or_, select
from sqlalchemy.orm import Session

from grader import db
from grader.db import Database
from grader.models import (
    Announcement,
    Competition,
    Identity,
    KeptIdentity,
    Tally,
)
from grader.services.closing import close
from grader.services.leaderboards import standard_errors
from grader.services.site import counting
from grader.services.site.log import Actor
from grader.services.solutions import data_checks as checks
from grader.services.solutions import publication
from grader.services.submissions import retries, uploads
from grader.storage import blobs
from grader.storage.blobs import SuspiciousStorage
from grader.storage.stores import Storage
from grader.worker.organizer_jobs import closing

MOST_DELETED = 5000  # per transaction; more would delay requests that wait for the SQLite write lock
REPORTED_FOR = timedelta(seconds=10)
NAMED_ROWS = 5

_UNFORMATTED = [
    exists().where(table.formatted.is_(null())).select_from(table) for table in (Competition, Announcement)
]

logger = logging.getLogger(__name__)


def calendar_is_due(session: Session, now: datetime) -> bool:
    """Return whether `run_calendar` would do anything."""
    return bool(
        close.unsettled(session, now=now)
        or close.due(session, now=now)
        or retries.is_retry_due(session, now=now)
        or session.scalar(select(or_(*_UNFORMATTED)))
    )


def run_calendar(database: Database) -> None:
    """Retry failed submissions, settle closed competitions, and reveal those whose date has passed."""
    with database.read() as session:
        now = db.now(session)
        unsettled = close.unsettled(session, now=now)
        due = close.due(session, now=now)
        is_retry_due = retries.is_retry_due(session, now=now)
    if is_retry_due:
        with database.write() as session:
            retries.retry_failed(session, now=now)
    for competition in unsettled:
        _settle(database, competition)
    for competition in due:
        _reveal(database, competition, now)


def _settle(database: Database, competition: Competition) -> None:
    try:
        with database.write() as session:
            close.settle(session, competition=competition)
    except (close.ScoringPending, close.NotClosed):
        return  # a failed submission is being retried, or the close was postponed
    logger.info("%s is settled: all submissions accepted before the close have results.", competition.slug)


def _reveal(database: Database, competition: Competition, now: datetime) -> None:
    try:
        with database.write() as session:
            close.reveal(session, competition=competition, actor=Actor.calendar())
    except close.AlreadyRevealed:
        return
    except close.ScoringPending as error:
        if competition.reveals_at and now - competition.reveals_at < REPORTED_FOR:
            logger.warning("The reveal of %s is delayed. %s", competition.slug, error.message)
        return
    logger.info("The private leaderboard of %s was revealed on its scheduled date.", competition.slug)


def forget_records(database: Database) -> bool:
    """Delete a limited number of expired records; return whether there may be more."""
    from grader.services.identity import kept_identities, logins  # large

    tables: Sequence[tuple[type[Any], Callable[[datetime], ColumnElement[bool]]]] = (
        (Tally, counting.is_old),
        (Identity, logins.is_old_identity),
        (KeptIdentity, kept_identities.is_old),
    )
    with database.read() as session:
        now = db.now(session)
        expired = (select(table.id).where(is_old(now)).limit(1) for table, is_old in tables)
        is_due = any(session.scalar(query) is not None for query in expired)
    if is_due:
        with database.write() as session:
            for table, is_old in tables:
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


def complete_solutions(database: Database, storage: Storage) -> None:
    """Request due checks of data files, and write missing commitments."""
    with database.read() as session:
        are_due = bool(checks.due(session))
    if are_due:
        with database.write() as session:
            checks.request_due(session, now=db.now(session))
    closing.write_missing_commitments(database, storage)


def solutions_are_due(session: Session, now: datetime) -> bool:
    """Return whether `request_errors` or `complete_solutions` would do anything."""
    return bool(
        standard_errors.are_due(session, now=now)
        or checks.due(session)
        or publication.without_commitment(session)
    )


def forget_uploads(database: Database, storage: Storage) -> None:
    """Delete expired announced uploads and their bytes."""
    with database.read() as session:
        has_old = uploads.has_old(session, now=db.now(session))
    while has_old:
        with database.write() as session:
            names = uploads.forget(session, now=db.now(session))
            has_old = uploads.has_old(session, now=db.now(session))
        if names is None:
            return  # the remaining rows are locked by other transactions
        blobs.delete_unnamed(database, storage, sorted(names), age=timedelta())


def check_storage(database: Database, storage: Storage) -> None:
    """Delete old unreferenced blobs; log an error if database rows refer to missing blobs."""
    storage.remove_abandoned()
    with database.read() as session:
        required = blobs.required(session)
    # The blobs are listed after the rows are read, so every blob to which a row refers should exist.
    stored = {blob.sha256 for blob in storage.blobs()}
    if not required <= stored:
        with database.read() as session:
            missing = [blob for blob in blobs.missing(session, stored=stored) if blob.sha256 in required]
        logger.error(
            "Alarm: %s rows refer to missing blobs, such as %s. Run `fairboard doctor` to list them.",
            len(missing),
            ", ".join(blob.row for blob in missing[:NAMED_ROWS]),
        )
    try:
        blobs.collect(database, storage)
    except SuspiciousStorage as error:
        logger.error("No unreferenced blobs were deleted. %s", error.message)  # noqa: TRY400
