"""Content-addressed blobs, named by the sha256 of their bytes: a local folder, or a bucket that speaks S3.

A blob is complete before anything refers to it: the folder writes a temporary file, syncs it, renames it and
syncs the folder; a bucket's PUT of one key is atomic. Storing the same bytes again only makes them young.
"""

import hashlib
import os
import re
import secrets
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO, FileIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, Protocol
from urllib.parse import unquote, urlsplit

from grader.crash_points import reach
from grader.errors import ErrorKind, ParticipantError
from grader.storage import blob_streams, bucket_failures

if TYPE_CHECKING:
    from obstore import ObjectMeta

CHUNK_BYTES = 1 << 20
PIECE_BYTES = 1 << 23  # of a bucket's blob, asked for at once: each piece has the time of one answer
ABANDONED_AFTER_SECONDS = 24 * 3600
YOUNG = timedelta(hours=1)
BUCKET_TIMEOUT = "20s"  # given up within a scoring's time limit: a bucket that hangs is no file's fault
BLOB_NAME = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """The name and the length of a stored blob."""

    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class ListedBlob:
    """A blob as a listing shows it; it was stored, or touched, last at `touched_at`."""

    sha256: str
    size: int
    touched_at: datetime


class BlobTooLarge(ParticipantError):
    """More bytes than the cap allows; nothing was stored."""

    public_name = "blob_too_large"
    kind = ErrorKind.TOO_LARGE

    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"The file is larger than the limit of {max_bytes / 1e6:,.1f} MB.")
        self.max_bytes = max_bytes


class BlobMissing(LookupError):
    """A blob that the database refers to is not in the storage."""

    def __init__(self, sha256: str) -> None:
        super().__init__(f"Blob {sha256} is not in the storage.")
        self.sha256 = sha256


class StorageUnavailable(Exception):
    """The storage does not answer at the moment; that says nothing about its blobs."""


class BlobDamaged(ValueError):
    """A blob's bytes are no longer those it was stored with."""

    def __init__(self, sha256: str) -> None:
        super().__init__(f"Blob {sha256} does not have the bytes it was stored with.")
        self.sha256 = sha256


class Storage(Protocol):
    """The storage of blobs: a local folder or a bucket."""

    def put(self, data: bytes | IO[bytes], *, max_bytes: int | None = None) -> StoredBlob:
        """Store bytes durably and return their name; raise BlobTooLarge past `max_bytes`."""
        ...

    def open(self, sha256: str) -> BinaryIO:
        """Open a blob for reading; raise BlobMissing if it is not there, or StorageUnavailable.

        Reading it raises StorageUnavailable as well, never an OSError, which readers take for damage.
        """
        ...

    def read(self, sha256: str) -> bytes:
        """Return a blob's bytes, checked against its name.

        Raises BlobMissing, BlobDamaged or StorageUnavailable.
        """
        ...

    def exists(self, sha256: str) -> bool:
        """Return whether a blob is there."""
        ...

    def touch(self, sha256: str) -> None:
        """Make a blob as young as one just stored; raise BlobMissing if it is not there."""
        ...

    def blobs(self) -> Iterator[ListedBlob]:
        """Yield all blobs, in no order."""
        ...

    def delete(self, sha256: str) -> None:
        """Remove a blob; nothing happens if it is not there."""
        ...

    def delete_old(self, sha256: str, *, before: datetime) -> bool:
        """Remove a blob that nobody has stored or touched since `before`; False if somebody has."""
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
        """Open a blob for reading; raise BlobMissing if it is not there, or StorageUnavailable."""
        file = self._opened(sha256)

        def read_at(place: int, length: int) -> bytes:
            try:
                return os.pread(file.fileno(), length, place)
            except OSError as error:
                raise StorageUnavailable(f"{error}.") from error

        size = os.fstat(file.fileno()).st_size
        return blob_streams.stream(
            size, read_at, piece_bytes=CHUNK_BYTES, close=file.close, descriptor=file.fileno()
        )

    def read(self, sha256: str) -> bytes:
        """Return a blob's bytes, checked against its name.

        Raises BlobMissing, BlobDamaged or StorageUnavailable.
        """
        with self._opened(sha256) as file:
            try:
                data = file.read()
            except OSError as error:
                raise StorageUnavailable(f"{error}.") from error
        return _checked(data, sha256)

    def exists(self, sha256: str) -> bool:
        """Return whether a blob is there."""
        return self._path(sha256).is_file()

    def touch(self, sha256: str) -> None:
        """Make a blob as young as one just stored; raise BlobMissing if it is not there."""
        try:
            os.utime(self._path(sha256))
        except FileNotFoundError:
            raise BlobMissing(sha256) from None

    def blobs(self) -> Iterator[ListedBlob]:
        """Yield all blobs, in no order."""
        for path in self._root.glob("[0-9a-f][0-9a-f]/*"):
            with suppress(FileNotFoundError):
                if BLOB_NAME.fullmatch(path.name):
                    facts = path.stat()
                    touched_at = datetime.fromtimestamp(facts.st_mtime, UTC)
                    yield ListedBlob(path.name, facts.st_size, touched_at)

    def delete(self, sha256: str) -> None:
        """Remove a blob; nothing happens if it is not there."""
        self._path(sha256).unlink(missing_ok=True)

    def delete_old(self, sha256: str, *, before: datetime) -> bool:
        """Remove a blob that nobody has stored or touched since `before`; False if somebody has.

        It is taken out of the way first: what is stored from then on is another file.
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

    def _opened(self, sha256: str) -> FileIO:
        try:
            return self._path(sha256).open("rb", buffering=0)
        except FileNotFoundError:
            if not self._root.is_dir():
                raise StorageUnavailable(f"{self._root} is not there.") from None
            raise BlobMissing(sha256) from None
        except OSError as error:
            raise StorageUnavailable(f"{error}.") from error

    def _path(self, sha256: str) -> Path:
        return self._root / sha256[:2] / sha256

    def _keep(self, draft: Path, path: Path) -> None:
        path.parent.mkdir(exist_ok=True, mode=0o700)
        draft.replace(path)
        # All the way up, also where the folders were there: who made them may not have synced them yet.
        for folder in (path.parent, self._root, self._root.parent):
            _sync_folder(folder)


class BucketStorage:
    """Blobs as objects `sha256` under a prefix of an S3-compatible bucket."""

    def __init__(self, url: str) -> None:
        from obstore.store import S3Store

        endpoint = bucket_failures.endpoint() or ""
        self._url = url
        self._store = S3Store.from_url(
            url,
            client_options={"allow_http": endpoint.startswith("http://"), "timeout": BUCKET_TIMEOUT},
            retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=5)},
        )

    def put(self, data: bytes | IO[bytes], *, max_bytes: int | None = None) -> StoredBlob:
        """Store bytes durably and return their name; raise BlobTooLarge past `max_bytes`."""
        with tempfile.TemporaryFile() as file:
            blob = _copy(data, file, max_bytes)
            file.seek(0)
            with self._asking():
                self._store.put(blob.sha256, file)  # also if it is there: it is young again
        return blob

    def open(self, sha256: str) -> BinaryIO:
        """Open a blob for reading; raise BlobMissing if it is not there, or StorageUnavailable."""
        size = self._facts(sha256)["size"]
        if size <= PIECE_BYTES:
            return BytesIO(self._bytes(sha256))

        def read_at(place: int, length: int) -> bytes:
            try:
                with self._asking():
                    return bytes(self._store.get_range(sha256, start=place, length=length))
            except FileNotFoundError:
                raise BlobMissing(sha256) from None

        return blob_streams.stream(size, read_at, piece_bytes=PIECE_BYTES)

    def read(self, sha256: str) -> bytes:
        """Return a blob's bytes, checked against its name.

        Raises BlobMissing, BlobDamaged or StorageUnavailable.
        """
        return _checked(self._bytes(sha256), sha256)

    def exists(self, sha256: str) -> bool:
        """Return whether a blob is there."""
        try:
            self._touched_at(sha256)
        except BlobMissing:
            return False
        return True

    def touch(self, sha256: str) -> None:
        """Make a blob as young as one just stored; raise BlobMissing if it is not there."""
        if self._touched_at(sha256) < datetime.now(UTC) - YOUNG:
            with self._asking():
                self._store.put(sha256, self._bytes(sha256))

    def blobs(self) -> Iterator[ListedBlob]:
        """Yield all blobs, in no order."""
        with self._asking():
            for page in self._store.list():
                for found in page:
                    if BLOB_NAME.fullmatch(found["path"]):
                        yield ListedBlob(found["path"], found["size"], found["last_modified"])

    def delete(self, sha256: str) -> None:
        """Remove a blob; nothing happens if it is not there."""
        with self._asking(), suppress(FileNotFoundError):
            self._store.delete(sha256)

    def delete_old(self, sha256: str, *, before: datetime) -> bool:
        """Remove a blob that nobody has stored or touched since `before`; False if somebody has.

        S3 deletes on no condition: whoever is going to name the blob in a row touches it under a lock that
        the caller excludes.
        """
        with suppress(BlobMissing):
            if self._touched_at(sha256) < before:
                self.delete(sha256)
                return True
        return False

    def remove_abandoned(self) -> int:
        """Do nothing: what is spooled here has no name, and a bucket keeps no half of a PUT."""
        return 0

    def _touched_at(self, sha256: str) -> datetime:
        return self._facts(sha256)["last_modified"]

    def _facts(self, sha256: str) -> "ObjectMeta":
        try:
            with self._asking():
                return self._store.head(sha256)
        except FileNotFoundError:
            self._require_bucket()  # HEAD does not say what is missing
            raise BlobMissing(sha256) from None

    def _bytes(self, sha256: str) -> bytes:
        try:
            with self._asking():
                return bytes(self._store.get(sha256).bytes())
        except FileNotFoundError:
            raise BlobMissing(sha256) from None

    def _require_bucket(self) -> None:
        with self._asking():
            next(iter(self._store.list(chunk_size=1)), None)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Recognize a bucket that does not answer or does not exist."""
        from obstore.exceptions import BaseError

        try:
            yield
        except FileNotFoundError as error:
            if not bucket_failures.is_of_the_bucket(error):
                raise
            raise StorageUnavailable(bucket_failures.sentence(error, self._url)) from error
        except BaseError as error:
            raise StorageUnavailable(bucket_failures.sentence(error, self._url)) from error


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
