"""Resumable uploads: announcement, parts, completion, expiry, limits per user."""

import hashlib
import secrets
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, String, cast, select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, ParticipantError
from grader.models import AnnouncedUpload, Competition, User
from grader.services import counting
from grader.storage.stores import Storage, StoredBlob
from grader.text import one_line

KEPT = timedelta(days=7)  # the kaggle command resumes uploads for 6 days
INCOMPLETE_KEPT = timedelta(hours=6)  # after the last part
IDLE_AFTER = timedelta(minutes=15)  # after the last part, if disk space is low
NAME_MAX_LENGTH = 255
MOST_PARTS = 200  # per file; the kaggle command sends all remaining bytes at once
FORGOTTEN_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Room:
    """The maximum number and total size of a person's unused files."""

    count: int
    size_bytes: int


FOR_SUBMISSIONS = Room(count=50, size_bytes=200_000_000)
SITE_BYTES = 1_000_000_000  # of all unused files for submissions
FOR_ORGANIZERS = Room(count=200, size_bytes=50_000_000_000)


class UnknownUpload(ParticipantError):
    """The person has no upload with this token in this competition."""

    public_name = "unknown_upload"
    kind = ErrorKind.NOT_FOUND
    message = "This upload does not exist or has expired. Upload the file again."


class UploadIncomplete(ParticipantError):
    """The upload is not complete yet."""

    public_name = "upload_incomplete"
    kind = ErrorKind.CONFLICT
    message = (
        "Only {upload.received_bytes:,} of {upload.size_bytes:,} bytes of {upload.name} have arrived. "
        "Upload the file again."
    )


class OtherLength(ParticipantError):
    """The file is longer or shorter than announced."""

    public_name = "other_length"
    kind = ErrorKind.MISMATCH
    message = (
        "The declared size of {upload.name} is {upload.size_bytes:,} bytes, but {size_bytes:,} bytes were "
        "received. Upload the file again."
    )


class TooManyParts(ParticipantError):
    """The file has too many parts."""

    public_name = "too_many_parts"
    kind = ErrorKind.CONFLICT

    def __init__(self, upload: AnnouncedUpload) -> None:
        super().__init__(
            f"{upload.name} is still incomplete after {MOST_PARTS} parts. Upload it again in larger parts."
        )


def announce(
    session: Session,
    *,
    user: User,
    competition: Competition | None = None,
    name: str,
    size_bytes: int,
    now: datetime,
) -> tuple[str, set[str]]:
    """Start an upload; return its token and the blobs of unused files that were deleted to make room."""
    counting.hold_lock(session, f"announced uploads of {user.id}")
    forgotten = _make_room(session, user, competition, size_bytes)
    token = secrets.token_urlsafe(32)
    session.add(
        AnnouncedUpload(
            token_sha256=_hash(token),
            user_id=user.id,
            competition_id=None if competition is None else competition.id,
            name=one_line(name.replace("\\", "/").rpartition("/")[2], NAME_MAX_LENGTH) or "file",
            size_bytes=size_bytes,
            parts=[],
            created_at=now,
            expires_at=now + INCOMPLETE_KEPT,
        )
    )
    session.flush()
    return token, forgotten


def blobs_of(upload: AnnouncedUpload) -> set[str]:
    """Return the blobs of an upload."""
    return {*(str(sha256) for sha256, _ in upload.parts), *([upload.sha256] if upload.sha256 else [])}


def find(session: Session, *, token: str, now: datetime) -> AnnouncedUpload:
    """Return the upload with this token; raise UnknownUpload."""
    return _one(session, token, now, is_locked=False)


def add_part(session: Session, *, token: str, part: StoredBlob, start: int, now: datetime) -> AnnouncedUpload:
    """Store a part at `start`, which is 0 for a new attempt; raise OtherLength or TooManyParts.

    A part that does not continue the received ones changes nothing.
    """
    upload = _one(session, token, now, is_locked=True)
    if upload.used_at is not None or (start and start != upload.received_bytes):
        return upload
    if start + part.size > upload.size_bytes:
        raise OtherLength(upload=upload, size_bytes=start + part.size)
    if start and len(upload.parts) >= MOST_PARTS:
        raise TooManyParts(upload)
    upload.sha256 = None
    upload.parts = [*(upload.parts if start else []), [part.sha256, part.size]]
    if len(upload.parts) == 1 and part.size == upload.size_bytes:
        upload.sha256, upload.parts = part.sha256, []
    upload.expires_at = upload.created_at + KEPT if upload.sha256 else now + INCOMPLETE_KEPT
    session.flush()
    return upload


def is_to_join(upload: AnnouncedUpload) -> bool:
    """Return whether all parts have been received and must be joined."""
    return upload.sha256 is None and bool(upload.parts) and upload.received_bytes == upload.size_bytes


def join(storage: Storage, upload: AnnouncedUpload) -> StoredBlob:
    """Store the joined file of all parts."""
    return storage.put(_Joined(storage, upload))  # type: ignore[arg-type]  # it is only read


def set_whole(
    session: Session, *, token: str, parts: list[list[Any]], whole: StoredBlob, now: datetime
) -> AnnouncedUpload:
    """Set the joined file of these parts unless other parts were received in the meantime."""
    upload = _one(session, token, now, is_locked=True)
    if upload.parts == parts:
        upload.sha256, upload.parts = whole.sha256, []
        upload.expires_at = upload.created_at + KEPT
        session.flush()
    return upload


def whole(
    session: Session, *, token: str, user: User, competition: Competition | None = None, now: datetime
) -> AnnouncedUpload:
    """Return a person's complete upload for a competition.

    Raises UnknownUpload or UploadIncomplete.
    """
    upload = _one(session, token, now, is_locked=True)
    if upload.user_id != user.id or upload.competition_id != (competition.id if competition else None):
        raise UnknownUpload
    if upload.sha256 is None:
        raise UploadIncomplete(upload=upload)
    return upload


def note_use(session: Session, *, token: str, now: datetime) -> None:
    """Mark an upload as used; its token may be used again until it expires."""
    upload = _one(session, token, now, is_locked=True)
    upload.used_at = upload.used_at or now
    session.flush()


def key_of(token: str) -> str:
    """Return the idempotency key for submitting the upload with this token."""
    return f"upload-{_hash(token)[:40]}"


def has_old(session: Session, *, now: datetime) -> bool:
    """Return whether `forget_old` would delete anything."""
    old = select(AnnouncedUpload.id).where(AnnouncedUpload.expires_at <= now).limit(1)
    return session.scalar(old) is not None


def forget_old(session: Session, *, now: datetime) -> set[str] | None:
    """Delete expired uploads and return their blobs for deletion, or None if there are none."""
    return _forget(session, AnnouncedUpload.expires_at <= now)


def forget_idle(session: Session, *, now: datetime, except_id: int | None = None) -> set[str] | None:
    """Delete expired uploads and idle unused ones; the result is that of `forget_old`."""
    is_incomplete = AnnouncedUpload.sha256.is_(None) & (cast(AnnouncedUpload.parts, String) != "[]")
    is_unused = AnnouncedUpload.sha256.is_not(None) & AnnouncedUpload.used_at.is_(None)
    is_idle = (is_incomplete & (AnnouncedUpload.expires_at <= now + INCOMPLETE_KEPT - IDLE_AFTER)) | (
        is_unused & (AnnouncedUpload.created_at <= now - IDLE_AFTER)
    )
    return _forget(
        session, AnnouncedUpload.id.is_distinct_from(except_id), (AnnouncedUpload.expires_at <= now) | is_idle
    )


def forget_largest(
    session: Session, *, most_bytes: int | None = None, except_id: int | None = None
) -> set[str]:
    """Delete unused uploads for submissions until they need at most `most_bytes`; or delete one complete one.

    The oldest upload of the person whose uploads need most space is deleted first, so that many large
    uploads do not displace those of others. Returns their blobs.
    """
    unused = session.scalars(
        select(AnnouncedUpload)
        .where(
            AnnouncedUpload.used_at.is_(None),
            AnnouncedUpload.competition_id.is_not(None),
            AnnouncedUpload.id.is_distinct_from(except_id),
        )
        .order_by(AnnouncedUpload.id)
        .with_for_update(skip_locked=True)
    )
    of_people: dict[int, list[AnnouncedUpload]] = defaultdict(list)
    for each in unused:
        if each.sha256 if most_bytes is None else each.parts or each.sha256:
            of_people[each.user_id].append(each)
    sizes = Counter({person: sum(each.size_bytes for each in mine) for person, mine in of_people.items()})
    forgotten: set[str] = set()
    while of_people and (sizes.total() > most_bytes if most_bytes is not None else not forgotten):
        person = max(of_people, key=lambda person: sizes[person])
        oldest = of_people[person].pop(0)
        sizes[person] -= oldest.size_bytes
        forgotten |= blobs_of(oldest)
        session.delete(oldest)
        if not of_people[person]:
            del of_people[person]
    session.flush()
    return forgotten


def _forget(session: Session, *conditions: ColumnElement[bool]) -> set[str] | None:
    query = select(AnnouncedUpload).where(*conditions).order_by(AnnouncedUpload.id).limit(FORGOTTEN_AT_ONCE)
    rows = session.scalars(query.with_for_update(skip_locked=True)).all()
    for each in rows:
        session.delete(each)
    session.flush()
    return {sha256 for each in rows for sha256 in blobs_of(each)} if rows else None


class _Joined:
    """Parts read one after another as a single file."""

    def __init__(self, storage: Storage, upload: AnnouncedUpload) -> None:
        self._storage, self._names = storage, [str(sha256) for sha256, _ in upload.parts]
        self._file = storage.open(self._names.pop(0))

    def read(self, size: int) -> bytes:
        while not (data := self._file.read(size)) and self._names:
            self._file.close()
            self._file = self._storage.open(self._names.pop(0))
        if not data:
            self._file.close()
        return data


def _one(session: Session, token: str, now: datetime, *, is_locked: bool) -> AnnouncedUpload:
    query = select(AnnouncedUpload).where(
        AnnouncedUpload.token_sha256 == _hash(token), AnnouncedUpload.expires_at > now
    )
    if is_locked:
        query = query.with_for_update().execution_options(populate_existing=True)
    upload = session.scalar(query)
    if upload is None:
        raise UnknownUpload
    return upload


def _make_room(session: Session, user: User, competition: Competition | None, size_bytes: int) -> set[str]:
    """Delete a person's oldest unused files above the limit, and return their blobs."""
    room = FOR_ORGANIZERS if competition is None else FOR_SUBMISSIONS
    is_of_kind = AnnouncedUpload.competition_id.is_not(None)
    mine = session.scalars(
        select(AnnouncedUpload)
        .where(
            AnnouncedUpload.user_id == user.id,
            AnnouncedUpload.used_at.is_(None),
            is_of_kind if competition is not None else ~is_of_kind,
        )
        .order_by(AnnouncedUpload.id.desc())
        .with_for_update()
    )
    forgotten: set[str] = set()
    for count, upload in enumerate(mine.all(), 2):
        size_bytes += upload.size_bytes
        if count > room.count or size_bytes > room.size_bytes:
            forgotten |= blobs_of(upload)
            session.delete(upload)
    session.flush()
    return forgotten | (forget_largest(session, most_bytes=SITE_BYTES) if competition else set())


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
