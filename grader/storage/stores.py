"""Blob storage by SHA-256 hash, and its implementation in a local folder.

A blob is complete before a row refers to it. Local storage writes a temporary file, syncs it, renames it and
syncs the folder. In a bucket, a PUT is atomic. Storing the same bytes again only resets the blob's age.
"""

import hashlib
import io
import os
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Union
from urllib.parse import unquote, urlsplit

from grader.crash_points import reach
from grader.errors import ErrorKind, ParticipantError
from grader.storage import disk

if TYPE_CHECKING:
    from grader.storage.bucket import BucketStorage

COPIED_AT_A_TIME, BATCH = 8, 1000  # blobs
COPIED_BYTES = 1 << 18  # larger pieces are returned to the system after each copy
ABANDONED_AFTER_SECONDS = 24 * 3600
BLOB_NAME = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """The name and size of a stored blob."""

    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class ListedBlob:
    """A blob in a listing; `touched_at` is the last time it was stored or touched."""

    sha256: str
    size: int
    touched_at: datetime


class BlobTooLarge(ParticipantError):
    """The data exceeds the size limit and was not stored."""

    public_name = "blob_too_large"
    kind = ErrorKind.TOO_LARGE

    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"The file exceeds the limit of {max_bytes:,} bytes. Upload a smaller file.")


class BlobMissing(LookupError):
    """A blob is missing from the storage."""

    def __init__(self, sha256: str) -> None:
        super().__init__(f"Blob {sha256} is missing.")


class StorageUnavailable(Exception):
    """The storage is temporarily unavailable."""


class BlobDamaged(ValueError):
    """A blob's bytes do not match its name."""

    def __init__(self, sha256: str) -> None:
        super().__init__(f"Blob {sha256} is damaged: its bytes do not match its name.")


def open_storage(url: str) -> "Storage":
    """Return the storage at `file:///folder` or `s3://bucket/prefix` (with AWS_* variables)."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        return LocalStorage(Path(unquote(parts.path)))
    if parts.scheme == "s3":
        from grader.storage.bucket import BucketStorage

        return BucketStorage(url)
    raise ValueError(f"The storage URL must start with file:// or s3://, not {parts.scheme or url!r}.")


def contains(url: str, target: str) -> bool:
    """Return whether a folder, or a bucket with a prefix, is in the storage at `url`."""
    parts = urlsplit(url)
    if parts.scheme == "file" and not target.startswith("s3://"):
        return Path(target).resolve().is_relative_to(Path(unquote(parts.path)).resolve())
    return f"{target}/".startswith(f"{url.rstrip('/')}/")


Storage = Union["LocalStorage", "BucketStorage"]


class LocalStorage:
    """Blobs as files `ab/abcdef…` below a folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._drafts = root / "drafts"
        self._synced: set[Path] = set()  # folders whose names this process has synced

    def put(
        self, data: bytes | IO[bytes], *, max_bytes: int | None = None, sha256: str | None = None
    ) -> StoredBlob:
        """Store bytes durably and return their name; raise BlobTooLarge beyond `max_bytes`.

        With `sha256`, the caller has computed the hash of exactly these bytes.
        """
        self._drafts.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = self._drafts / secrets.token_hex(16)
        try:
            with draft.open("xb") as file:
                blob = copy_bytes(data, file, max_bytes, sha256)
                file.flush()
                os.fsync(file.fileno())
            reach("blob.before_rename")
            self._keep(draft, self._path(blob.sha256))
        finally:
            draft.unlink(missing_ok=True)
        return blob

    def open(self, sha256: str) -> io.BufferedReader:
        """Open a blob for reading; raise BlobMissing or StorageUnavailable."""
        try:
            return self._path(sha256).open("rb")
        except FileNotFoundError:
            if not self._root.is_dir():
                raise StorageUnavailable(f"The folder {self._root} does not exist.") from None
            raise BlobMissing(sha256) from None
        except OSError as error:
            raise StorageUnavailable(f"{error}.") from error

    def read(self, sha256: str) -> bytes:
        """Return a blob's verified bytes; raise BlobMissing, BlobDamaged or StorageUnavailable."""
        with self.open(sha256) as file:
            try:
                data = file.read()
            except OSError as error:
                raise StorageUnavailable(f"{error}.") from error
        return checked(data, sha256)

    def exists(self, sha256: str) -> bool:
        """Return whether a blob exists."""
        return self._path(sha256).is_file()

    def touch(self, sha256: str) -> None:
        """Reset the age of a blob; raise BlobMissing if it does not exist."""
        try:
            os.utime(self._path(sha256))
        except FileNotFoundError:
            raise BlobMissing(sha256) from None

    def blobs(self) -> Iterator[ListedBlob]:
        """Yield all blobs in arbitrary order."""
        for path in self._root.glob("[0-9a-f][0-9a-f]/*"):
            with suppress(FileNotFoundError):
                if BLOB_NAME.fullmatch(path.name):
                    facts = path.stat()
                    touched_at = datetime.fromtimestamp(facts.st_mtime, UTC)
                    yield ListedBlob(path.name, facts.st_size, touched_at)

    def delete(self, sha256: str) -> None:
        """Delete a blob if it exists."""
        self._path(sha256).unlink(missing_ok=True)

    def delete_old(self, sha256: str, *, before: datetime) -> bool:
        """Delete a blob unless it was stored or touched since `before`; return whether it was deleted.

        The file is moved aside first, so that a blob stored in the meantime is a separate file.
        """
        self._drafts.mkdir(parents=True, exist_ok=True, mode=0o700)
        path, taken = self._path(sha256), self._drafts / secrets.token_hex(16)
        try:
            path.rename(taken)
        except FileNotFoundError:
            return False
        if taken.stat().st_mtime >= before.timestamp():
            taken.replace(path)
            return False
        taken.unlink()
        return True

    def remove_abandoned(self) -> None:
        """Delete incomplete files of killed processes after a day."""
        oldest = time.time() - ABANDONED_AFTER_SECONDS
        for draft in self._drafts.glob("*"):
            with suppress(FileNotFoundError):
                if draft.stat().st_mtime < oldest:
                    draft.unlink()

    def fault(self) -> str | None:
        """Return why blobs cannot be written and read, or None; write nothing."""
        place = disk.existing(self._root)
        if place.is_dir() and os.access(place, os.R_OK | os.W_OK | os.X_OK):
            return None
        return f"{place} is not a folder in which you can write."

    def _path(self, sha256: str) -> Path:
        return self._root / sha256[:2] / sha256

    def _keep(self, draft: Path, path: Path) -> None:
        with suppress(FileExistsError):
            path.parent.mkdir(mode=0o700)
            self._synced = set()  # the parent folders may also be new
        draft.replace(path)
        disk.sync(path.parent)
        # The creator of an existing folder may not have synced its name yet, so each process syncs all names.
        if path.parent not in self._synced:
            existing = set(self._root.iterdir())
            disk.sync(self._root)
            disk.sync(self._root.parent)
            self._synced = existing


def copy_bytes(
    data: bytes | IO[bytes], file: IO[bytes], max_bytes: int | None, sha256: str | None = None
) -> StoredBlob:
    """Copy bytes and return their name, which may be known; raise BlobTooLarge beyond `max_bytes`."""
    source = io.BytesIO(data) if isinstance(data, bytes) else data
    digest, size = hashlib.sha256(), 0
    while chunk := source.read(COPIED_BYTES):
        size += len(chunk)
        if max_bytes is not None and size > max_bytes:
            raise BlobTooLarge(max_bytes)
        if sha256 is None:
            digest.update(chunk)
        file.write(chunk)
    return StoredBlob(sha256 or digest.hexdigest(), size)


def checked(data: bytes, sha256: str) -> bytes:
    """Return a blob's bytes; raise BlobDamaged if they do not match its name."""
    if hashlib.sha256(data).hexdigest() != sha256:
        raise BlobDamaged(sha256)
    return data


def is_intact(storage: Storage, sha256: str) -> bool:
    """Return whether a blob can be read and its bytes match its name; raise StorageUnavailable."""
    with suppress(BlobMissing, OSError), storage.open(sha256) as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == sha256
    return False


def copy(source: Storage, target: Storage, names: Sequence[str]) -> dict[str, int]:
    """Copy blobs, several at a time; return the sizes of those that are neither missing nor damaged."""

    def size_of_copy(sha256: str) -> int | None:
        try:
            with source.open(sha256) as file:
                blob = target.put(file)
        except BlobMissing:
            return None
        return blob.size if blob.sha256 == sha256 else None

    copied: dict[str, int] = {}
    with ThreadPoolExecutor(COPIED_AT_A_TIME) as pool:
        for start in range(0, len(names), BATCH):  # an error cancels the rest of a batch
            batch = names[start : start + BATCH]
            sizes = zip(batch, pool.map(size_of_copy, batch), strict=True)
            copied |= {name: size for name, size in sizes if size is not None}
    return copied
