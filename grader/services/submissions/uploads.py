"""Uploads before their submission: announcement, arrival, expiry, limits per user."""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, ParticipantError, Refusal
from grader.models import AnnouncedUpload, Competition, User
from grader.services.site import counting
from grader.services.submissions.accepting import plain_file_name
from grader.storage.stores import StoredBlob

KEPT = timedelta(days=7)  # the kaggle command asks for uploads for 6 days
IDLE_AFTER = timedelta(minutes=15)  # if disk space is low
FORGOTTEN_AT_ONCE = 100
# The maximum number and total size of a person's unused files.
MOST_UNUSED = 50
MOST_UNUSED_BYTES = 200_000_000


class UnknownUpload(ParticipantError):
    """The user has no upload with this token in this competition."""

    public_name = "unknown_upload"
    kind = ErrorKind.NOT_FOUND
    message = "This upload does not exist or has expired. Upload the file again."


def announce(
    session: Session,
    *,
    user: User,
    competition: Competition,
    name: str,
    size_bytes: int,
    now: datetime,
    sha256: str | None = None,
) -> tuple[str, set[str]]:
    """Start an upload; return its token and the blobs of the person's unused files that were deleted.

    A file that has been received already has a `sha256`.
    """
    counting.hold_lock(session, f"announced uploads of {user.id}")
    forgotten = _make_room(session, user, size_bytes)
    token = secrets.token_urlsafe(32)
    session.add(
        AnnouncedUpload(
            token_sha256=_hash(token),
            user_id=user.id,
            competition_id=competition.id,
            name=plain_file_name(name, "file"),
            size_bytes=size_bytes,
            sha256=sha256,
            created_at=now,
            expires_at=now + KEPT,
        )
    )
    session.flush()
    return token, forgotten


def find(session: Session, *, token: str, now: datetime, is_locked: bool = False) -> AnnouncedUpload:
    """Return the upload with this token; raise UnknownUpload."""
    query = select(AnnouncedUpload).where(
        AnnouncedUpload.token_sha256 == _hash(token), AnnouncedUpload.expires_at > now
    )
    if is_locked:
        query = query.with_for_update().execution_options(populate_existing=True)
    upload = session.scalar(query)
    if upload is None:
        raise UnknownUpload
    return upload


def receive(session: Session, *, token: str, file: StoredBlob, now: datetime) -> AnnouncedUpload:
    """Set the file of an upload unless it was submitted already; raise Refusal."""
    upload = find(session, token=token, now=now, is_locked=True)
    if file.size != upload.size_bytes:
        message = (
            f"The declared size of {upload.name} is {upload.size_bytes:,} bytes, but {file.size:,} bytes "
            "were received. Upload the file again."
        )
        raise Refusal("other_length", ErrorKind.MISMATCH, message)
    if upload.used_at is None:
        upload.sha256 = file.sha256
        session.flush()
    return upload


def use(
    session: Session, *, token: str, user: User, competition: Competition, now: datetime
) -> AnnouncedUpload:
    """Return a person's complete upload for a competition, which is submitted in this transaction.

    Its token may be used again until it expires. Raises UnknownUpload or Refusal.
    """
    upload = find(session, token=token, now=now, is_locked=True)
    if upload.user_id != user.id or upload.competition_id != competition.id:
        raise UnknownUpload
    if upload.sha256 is None:
        message = f"{upload.name} has not arrived completely. Upload the file again."
        raise Refusal("upload_incomplete", ErrorKind.CONFLICT, message)
    upload.used_at = upload.used_at or now
    return upload


def key_of(token: str) -> str:
    """Return the idempotency key for submitting the upload with this token."""
    return f"upload-{_hash(token)[:40]}"


def forget(session: Session, *, now: datetime, with_idle: bool = False) -> set[str] | None:
    """Delete expired uploads, and idle unused ones if asked for, and return their blobs for deletion.

    Returns None if there are none.
    """
    is_wanted = AnnouncedUpload.expires_at <= now
    if with_idle:
        is_unused = AnnouncedUpload.sha256.is_not(None) & AnnouncedUpload.used_at.is_(None)
        is_wanted |= is_unused & (AnnouncedUpload.created_at <= now - IDLE_AFTER)
    query = select(AnnouncedUpload).where(is_wanted).order_by(AnnouncedUpload.id).limit(FORGOTTEN_AT_ONCE)
    rows = session.scalars(query.with_for_update(skip_locked=True)).all()
    return _delete(session, rows) if rows else None


def _make_room(session: Session, user: User, size_bytes: int) -> set[str]:
    """Delete a person's oldest unused files above the limit, and return their blobs."""
    mine = session.scalars(
        select(AnnouncedUpload)
        .where(AnnouncedUpload.user_id == user.id, AnnouncedUpload.used_at.is_(None))
        .order_by(AnnouncedUpload.id.desc())
        .with_for_update()
    )
    superfluous = []
    for count, upload in enumerate(mine.all(), 2):
        size_bytes += upload.size_bytes
        if count > MOST_UNUSED or size_bytes > MOST_UNUSED_BYTES:
            superfluous.append(upload)
    return _delete(session, superfluous)


def _delete(session: Session, uploads: Sequence[AnnouncedUpload]) -> set[str]:
    """Delete uploads and return their blobs."""
    for each in uploads:
        session.delete(each)
    session.flush()
    return {each.sha256 for each in uploads if each.sha256}


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
