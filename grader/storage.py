"""Content-addressed blobs, named by the sha256 of their bytes: a local folder, or a bucket that speaks S3.

A blob is complete before anything refers to it: the folder writes a temporary file, syncs it, renames it and
syncs the folder; a bucket's PUT of one key is atomic. Storing the same bytes again changes nothing.
"""

import hashlib
import os
import secrets
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, BinaryIO, Protocol
from urllib.parse import unquote, urlsplit

from grader.crash_points import reach
from grader.errors import ParticipantError

CHUNK_BYTES = 1 << 20
ABANDONED_AFTER_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """The name and the length of a stored blob."""

    sha256: str
    size: int


class BlobTooLarge(ParticipantError):
    """More bytes than the cap allows; nothing was stored."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"The file is larger than the limit of {max_bytes / 1e6:,.1f} MB.")
        self.max_bytes = max_bytes


class BlobMissing(LookupError):
    """A blob that the database refers to is not in the storage."""

    def __init__(self, sha256: str) -> None:
        super().__init__(f"Blob {sha256} is not in the storage.")
        self.sha256 = sha256


class BlobDamaged(ValueError):
    """A blob's bytes are no longer those it was stored with."""

    def __init__(self, sha256: str) -> None:
        super().__init__(f"Blob {sha256} does not have the bytes it was stored with.")
        self.sha256 = sha256


class Storage(Protocol):
    """Where blobs lie."""

    def put(self, data: bytes | IO[bytes], *, max_bytes: int | None = None) -> StoredBlob:
        """Store bytes durably and return their name; raise BlobTooLarge past `max_bytes`."""
        ...

    def open(self, sha256: str) -> BinaryIO:
        """Open a blob for reading; raise BlobMissing if it is not there."""
        ...

    def read(self, sha256: str) -> bytes:
        """Return a blob's bytes, checked against its name; raise BlobMissing or BlobDamaged."""
        ...

    def exists(self, sha256: str) -> bool:
        """Tell whether a blob is there."""
        ...

    def delete(self, sha256: str) -> None:
        """Remove a blob; nothing happens if it is not there."""
        ...

    def remove_abandoned(self) -> int:
        """Remove what killed processes left half-written, and return how many there were."""
        ...


def open_storage(url: str) -> Storage:
    """Return the storage at `file:///folder` or `s3://bucket/prefix`; raise ValueError for another scheme.

    A bucket's region, endpoint and credentials come from the usual AWS_* variables.
    """
    parts = urlsplit(url)
    if parts.scheme == "file":
        return LocalStorage(Path(unquote(parts.path)))
    if parts.scheme == "s3":
        return BucketStorage(url)
    raise ValueError(f"The storage URL must start with file:// or s3://, not {parts.scheme or url!r}.")


class LocalStorage:
    """Blobs as files `ab/abcdef…` below a folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._drafts = root / "drafts"

    def put(self, data: bytes | IO[bytes], *, max_bytes: int | None = None) -> StoredBlob:
        """Store bytes durably and return their name; raise BlobTooLarge past `max_bytes`."""
        self._drafts.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = self._drafts / secrets.token_hex(16)
        try:
            with draft.open("xb") as file:
                blob = _copy(data, file, max_bytes)
                file.flush()
                os.fsync(file.fileno())
            reach("blob.before_rename")
            self._keep(draft, self._path(blob.sha256))
        finally:
            draft.unlink(missing_ok=True)
        return blob

    def open(self, sha256: str) -> BinaryIO:
        """Open a blob for reading; raise BlobMissing if it is not there."""
        try:
            return self._path(sha256).open("rb")
        except FileNotFoundError:
            raise BlobMissing(sha256) from None

    def read(self, sha256: str) -> bytes:
        """Return a blob's bytes, checked against its name; raise BlobMissing or BlobDamaged."""
        with self.open(sha256) as file:
            return _checked(file.read(), sha256)

    def exists(self, sha256: str) -> bool:
        """Tell whether a blob is there."""
        return self._path(sha256).is_file()

    def delete(self, sha256: str) -> None:
        """Remove a blob; nothing happens if it is not there."""
        self._path(sha256).unlink(missing_ok=True)

    def remove_abandoned(self) -> int:
        """Remove the drafts that killed processes left a day ago, and return how many there were."""
        oldest = time.time() - ABANDONED_AFTER_SECONDS
        removed = 0
        for draft in self._drafts.glob("*"):
            with suppress(FileNotFoundError):
                if draft.stat().st_mtime < oldest:
                    draft.unlink()
                    removed += 1
        return removed

    def _path(self, sha256: str) -> Path:
        return self._root / sha256[:2] / sha256

    def _keep(self, draft: Path, path: Path) -> None:
        new_folder = not path.parent.exists()
        path.parent.mkdir(exist_ok=True, mode=0o700)
        draft.replace(path)
        _sync_folder(path.parent)
        if new_folder:
            _sync_folder(self._root)


class BucketStorage:
    """Blobs as objects `sha256` under a prefix of an S3-compatible bucket."""

    def __init__(self, url: str) -> None:
        from obstore.store import S3Store

        endpoint = os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT") or ""
        self._store = S3Store.from_url(
            url, client_options={"allow_http": endpoint.startswith("http://"), "timeout": "60s"}
        )

    def put(self, data: bytes | IO[bytes], *, max_bytes: int | None = None) -> StoredBlob:
        """Store bytes durably and return their name; raise BlobTooLarge past `max_bytes`."""
        with tempfile.TemporaryFile() as file:
            blob = _copy(data, file, max_bytes)
            if not self.exists(blob.sha256):
                file.seek(0)
                self._store.put(blob.sha256, file)
        return blob

    def open(self, sha256: str) -> BinaryIO:
        """Open a blob for reading; raise BlobMissing if it is not there."""
        return BytesIO(self._bytes(sha256))

    def read(self, sha256: str) -> bytes:
        """Return a blob's bytes, checked against its name; raise BlobMissing or BlobDamaged."""
        return _checked(self._bytes(sha256), sha256)

    def exists(self, sha256: str) -> bool:
        """Tell whether a blob is there."""
        try:
            self._store.head(sha256)
        except FileNotFoundError:
            return False
        return True

    def delete(self, sha256: str) -> None:
        """Remove a blob; nothing happens if it is not there."""
        with suppress(FileNotFoundError):
            self._store.delete(sha256)

    def remove_abandoned(self) -> int:
        """Do nothing: what is spooled here has no name, and a bucket keeps no half of a PUT."""
        return 0

    def _bytes(self, sha256: str) -> bytes:
        try:
            return bytes(self._store.get(sha256).bytes())
        except FileNotFoundError:
            raise BlobMissing(sha256) from None


def _copy(data: bytes | IO[bytes], target: IO[bytes], max_bytes: int | None) -> StoredBlob:
    source = BytesIO(data) if isinstance(data, bytes) else data
    digest, size = hashlib.sha256(), 0
    while chunk := source.read(CHUNK_BYTES):
        size += len(chunk)
        if max_bytes is not None and size > max_bytes:
            raise BlobTooLarge(max_bytes)
        digest.update(chunk)
        target.write(chunk)
    return StoredBlob(digest.hexdigest(), size)


def _checked(data: bytes, sha256: str) -> bytes:
    if hashlib.sha256(data).hexdigest() != sha256:
        raise BlobDamaged(sha256)
    return data


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
