"""Blobs and the rows that name them: required blobs and orphans.

A blob is stored before a row names it. The transaction that writes the row touches the blob under a lock that
excludes the collector of orphans: either the collector sees the row or the young blob, or the writer misses
the blob.
"""

import logging
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, func, select, true
from sqlalchemy.orm import InstrumentedAttribute, Session

from grader import db
from grader.db import Database
from grader.errors import OrganizerError
from grader.models import AnnouncedUpload, DataFile, Figure, OrganizerJob, Solution, Submission
from grader.storage.stores import ListedBlob, Storage

ORPHANED_AFTER = timedelta(hours=24)
BATCH = 20  # uploads wait for a batch, with two requests per blob in a bucket
# Fewer orphans need no confirmation.
SUSPICIOUS_COUNT = 20

# Columns with the name of a required blob.
REQUIRED: tuple[InstrumentedAttribute[str], ...] = (
    Submission.sha256,
    DataFile.sha256,
    Figure.sha256,
    Solution.row_ids_sha256,
    Solution.prepared_sha256,
    Solution.sample_submission_sha256,
)
# Conditions for rows that need their blob: rejected files are deleted after a day.
_NEEDED: dict[InstrumentedAttribute[Any], ColumnElement[bool]] = {
    Submission.sha256: Submission.file_deleted_at.is_(None),
    # Another row names the blob of a used upload.
    AnnouncedUpload.sha256: AnnouncedUpload.used_at.is_(None),
}
# Columns with names of optional blobs, which are kept.
MENTIONED: tuple[InstrumentedAttribute[Any], ...] = (
    Solution.digest,
    OrganizerJob.parameters,
    OrganizerJob.result,
    AnnouncedUpload.parts,
    AnnouncedUpload.sha256,  # an upload that is repeated during a backup is not in it
)

_ADVISORY_LOCK = 7777_0002
_NAME = re.compile(r"[0-9a-f]{64}")

logger = logging.getLogger(__name__)


class SuspiciousStorage(OrganizerError):
    """Most blobs are orphans: the storage may belong to another installation."""

    public_name = "suspicious_storage"
    message = (
        "{orphan_count:,} of {blob_count:,} blobs are named by no row. That is more than half: is this "
        "the storage of this database? If it is, `fairboard orphans --delete` deletes them."
    )


@dataclass(frozen=True, slots=True)
class MissingBlob:
    """A missing blob and its row, such as "submission 17"."""

    sha256: str
    row: str


@dataclass(frozen=True, slots=True)
class Collected:
    """Result of a collection."""

    count: int
    size: int


def hold(session: Session, *, storage: Storage, sha256: str) -> None:
    """Protect a stored blob until the transaction that names it ends; raise BlobMissing."""
    _lock(session, shared=True)
    storage.touch(sha256)


def required(session: Session, *, among: Collection[str] | None = None) -> set[str]:
    """Return the names of the blobs that must be in the storage."""
    return {sha256 for column in REQUIRED for sha256 in session.scalars(_values(column, among))}


def named(session: Session, *, among: Collection[str] | None = None) -> set[str]:
    """Return the names of all blobs that must not be deleted."""
    found = required(session, among=among)
    for column in MENTIONED:
        for value in session.scalars(select(column).where(column.is_not(None), _is_needed(column))):
            found.update(names_in(value))
    return found


def names_in(value: Any) -> Iterator[str]:
    """Yield all possible names of blobs in JSON-ready data."""
    if isinstance(value, str):
        if _NAME.fullmatch(value):
            yield value
    elif isinstance(value, dict):
        yield from names_in(list(value.values()))
    elif isinstance(value, list):
        for each in value:
            yield from names_in(each)


def missing(session: Session, *, stored: Collection[str]) -> list[MissingBlob]:
    """Return the required blobs that are not `stored`."""
    found = []
    for column in REQUIRED:
        kind = column.class_.__tablename__.replace("_", " ")
        rows = select(column.class_.id, column).where(_is_needed(column)).order_by(column.class_.id)
        for row_id, sha256 in session.execute(rows):
            if sha256 not in stored:
                found.append(MissingBlob(sha256, f"{kind} {row_id}"))
    return found


def orphans(session: Session, *, listed: Iterable[ListedBlob], now: datetime) -> list[ListedBlob]:
    """Return unnamed blobs that are old enough that no row is about to name them."""
    names = named(session)
    return [blob for blob in listed if blob.sha256 not in names and blob.touched_at < now - ORPHANED_AFTER]


def collect(database: Database, storage: Storage, *, is_sure: bool = False) -> Collected:
    """Delete orphans; raise SuspiciousStorage if they are the majority, unless `is_sure`."""
    listed = list(storage.blobs())  # before the rows are read: later blobs are not in it
    with database.read() as session:
        found = orphans(session, listed=listed, now=db.now(session))
    if not is_sure and len(found) > max(SUSPICIOUS_COUNT, len(listed) // 2):
        raise SuspiciousStorage(orphan_count=len(found), blob_count=len(listed))
    deleted = delete_unnamed(database, storage, [blob.sha256 for blob in found], age=ORPHANED_AFTER)
    if deleted:
        logger.info("Deleted %s blobs that no row names.", len(deleted))
    return Collected(len(deleted), sum(blob.size for blob in found if blob.sha256 in deleted))


def delete_unnamed(database: Database, storage: Storage, names: Sequence[str], *, age: timedelta) -> set[str]:
    """Delete unnamed blobs that were not stored or touched for `age`; return their names."""
    deleted: set[str] = set()
    for start in range(0, len(names), BATCH):
        deleted |= _delete(database, storage, names[start : start + BATCH], age)
    return deleted


def _delete(database: Database, storage: Storage, batch: Sequence[str], age: timedelta) -> set[str]:
    """Delete unnamed blobs while writers are excluded."""
    with database.write() as session:
        _lock(session, shared=False)
        kept = named(session, among=batch)
        before = db.now(session) - age
        return {name for name in batch if name not in kept and storage.delete_old(name, before=before)}


def _values(column: InstrumentedAttribute[Any], among: Collection[str] | None) -> Any:
    query = select(column).where(_is_needed(column)).distinct()
    return query if among is None else query.where(column.in_(among))


def _is_needed(column: InstrumentedAttribute[Any]) -> ColumnElement[bool]:
    return _NEEDED.get(column, true())


def _lock(session: Session, *, shared: bool) -> None:
    """Exclude the other kind of holder; on SQLite the write transaction itself excludes all others."""
    session.connection()  # begins the transaction
    if session.get_bind().dialect.name == "postgresql":
        take = func.pg_advisory_xact_lock_shared if shared else func.pg_advisory_xact_lock
        session.execute(select(take(_ADVISORY_LOCK)))
