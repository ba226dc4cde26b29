"""References from database rows to blobs: required blobs and orphaned blobs.

A blob is stored before a row refers to it. The transaction that writes the row touches the blob under a lock
that excludes the orphan collector. Therefore, either the collector sees the new row or the recently
touched blob, or the writer detects that the blob is missing.
"""

import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

from sqlalchemy import ColumnElement, String, func, select, true
from sqlalchemy.orm import InstrumentedAttribute, Session

from grader import db
from grader.db import Database
from grader.errors import OrganizerError
from grader.models import (
    AnnouncedUpload,
    Competition,
    DataFile,
    Figure,
    OrganizerJob,
    ScoringVersion,
    Solution,
    Submission,
)
from grader.storage.stores import ListedBlob, Storage

ORPHANED_AFTER = timedelta(hours=24)
BATCH = 20  # uploads wait during each batch, and a bucket needs two requests per blob
# Deleting up to this number of orphans requires no confirmation.
SUSPICIOUS_COUNT = 20

# Columns that contain the names of required blobs, possibly within settings. Some rows no longer need theirs.
REQUIRED: Mapping[InstrumentedAttribute[Any], ColumnElement[bool]] = {
    Submission.sha256: Submission.file_deleted_at.is_(None),
    DataFile.sha256: true(),
    Figure.sha256: true(),
    Solution.row_ids_sha256: true(),
    Solution.prepared_sha256: true(),
    Solution.sample_submission_sha256: true(),
    Solution.digest: true(),
    ScoringVersion.metric_settings: true(),
    Competition.draft_metric: true(),
}
# Columns that contain names of optional blobs, which are kept.
MENTIONED: Mapping[InstrumentedAttribute[Any], ColumnElement[bool]] = {
    OrganizerJob.parameters: true(),
    OrganizerJob.result: true(),
    # Optional, because a backup may lack files uploaded meanwhile. A used upload has another row.
    AnnouncedUpload.sha256: AnnouncedUpload.used_at.is_(None),
}

_ADVISORY_LOCK = 7777_0002
_NAME = re.compile(r"[0-9a-f]{64}")

logger = logging.getLogger(__name__)


class SuspiciousStorage(OrganizerError):
    """Most blobs are orphans, so the storage may belong to another installation."""

    public_name = "suspicious_storage"
    message = (
        "{orphan_count:,} of {blob_count:,} blobs are unreferenced, which is more than half. Check that this "
        "storage belongs to this database. If it does, delete them with `fairboard doctor --delete-orphans`."
    )


@dataclass(frozen=True, slots=True)
class MissingBlob:
    """A missing blob and the row that refers to it, such as "submission 17"."""

    sha256: str
    row: str


def hold(session: Session, *, storage: Storage, sha256: str) -> None:
    """Protect a stored blob from deletion until the current transaction ends; raise BlobMissing."""
    _lock(session, shared=True)
    storage.touch(sha256)


def required(session: Session) -> set[str]:
    """Return the names of all blobs that must be in the storage."""
    return _names(session, REQUIRED)


def named(session: Session, *, among: Collection[str] | None = None) -> set[str]:
    """Return the names of all blobs that must not be deleted; those `among` some names suffice."""
    return _names(session, {**REQUIRED, **MENTIONED}, among)


def names_in(value: Any) -> Iterator[str]:
    """Yield all strings in JSON-ready data that may be blob names."""
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
    missing = []
    for column, is_needed in REQUIRED.items():
        kind = column.class_.__tablename__.replace("_", " ")
        rows = select(column.class_.id, column).where(is_needed).order_by(column.class_.id)
        for row_id, value in session.execute(rows):
            absent = set(names_in(value)).difference(stored)
            missing += [MissingBlob(sha256, f"{kind} {row_id}") for sha256 in absent]
    return missing


def check(database: Database, storage: Storage) -> tuple[list[ListedBlob], list[MissingBlob]]:
    """Return the stored blobs, and the missing ones to which rows refer."""
    with database.read() as session:
        before = required(session)
    listed = list(storage.blobs())  # blobs of later rows may be absent
    with database.read() as session:
        lost = missing(session, stored={blob.sha256 for blob in listed})
    return listed, [blob for blob in lost if blob.sha256 in before]


def orphans(session: Session, *, listed: Iterable[ListedBlob], now: datetime) -> list[ListedBlob]:
    """Return unreferenced blobs that are too old to belong to a transaction in progress."""
    names = named(session)
    return [blob for blob in listed if blob.sha256 not in names and blob.touched_at < now - ORPHANED_AFTER]


def collect(database: Database, storage: Storage, *, is_sure: bool = False) -> list[ListedBlob]:
    """Delete orphans and return them; raise SuspiciousStorage if most blobs are orphans, unless `is_sure`."""
    listed = list(storage.blobs())  # listing the blobs before reading the rows excludes new blobs
    with database.read() as session:
        unused = orphans(session, listed=listed, now=db.now(session))
    if not is_sure and len(unused) > max(SUSPICIOUS_COUNT, len(listed) // 2):
        raise SuspiciousStorage(orphan_count=len(unused), blob_count=len(listed))
    deleted = delete_unnamed(database, storage, [blob.sha256 for blob in unused], age=ORPHANED_AFTER)
    if deleted:
        logger.info("Deleted %s unreferenced blobs.", len(deleted))
    return [blob for blob in unused if blob.sha256 in deleted]


def delete_unnamed(database: Database, storage: Storage, names: Sequence[str], *, age: timedelta) -> set[str]:
    """Delete unreferenced blobs that were not stored or touched for `age`; return their names."""
    deleted: set[str] = set()
    for start in range(0, len(names), BATCH):
        batch = names[start : start + BATCH]
        with database.write() as session:
            _lock(session, shared=False)  # excludes writers
            kept = named(session, among=batch)
            before = db.now(session) - age
            deleted.update(
                name for name in batch if name not in kept and storage.delete_old(name, before=before)
            )
    return deleted


def _names(
    session: Session,
    columns: Mapping[InstrumentedAttribute[Any], ColumnElement[bool]],
    among: Collection[str] | None = None,
) -> set[str]:
    names: set[str] = set()
    for column, is_needed in columns.items():
        query = select(column).where(is_needed)
        if among is not None and isinstance(column.type, String):
            query = query.where(column.in_(among))
        names.update(chain.from_iterable(map(names_in, session.scalars(query))))
    return names


def _lock(session: Session, *, shared: bool) -> None:
    """Exclude holders of the other kind of lock; SQLite's write transactions exclude each other anyway."""
    session.connection()  # starts the transaction
    if session.get_bind().dialect.name == "postgresql":
        take = func.pg_advisory_xact_lock_shared if shared else func.pg_advisory_xact_lock
        session.execute(select(take(_ADVISORY_LOCK)))
