"""Blob storage in an S3-compatible bucket, with readable error messages for operators."""

import io
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import IO, TYPE_CHECKING, Any

from grader.storage import stores
from grader.storage.stores import BLOB_NAME, BlobMissing, ListedBlob, StorageUnavailable, StoredBlob

if TYPE_CHECKING:
    from obstore import ObjectMeta

PIECE_BYTES = 1 << 23  # size of one request, which has its own timeout
YOUNG = timedelta(hours=1)
BUCKET_TIMEOUT = "20s"  # shorter than the scoring limit, so an unresponsive bucket fails no submission
CODE = re.compile(r"<Code>([\w.]+)</Code>")
STATUS = re.compile(r"status code: (\d{3})")
NO_BUCKET = "NoSuchBucket"
METADATA_SERVICE = "169.254.169.254"  # the client's fallback if there are no keys


class BucketStorage:
    """Blobs as objects `sha256` under a prefix of an S3-compatible bucket."""

    def __init__(self, url: str, **configuration: str) -> None:
        """Connect to a bucket; `configuration` (endpoint, region, …) takes precedence over AWS_*."""
        from obstore.store import S3Store

        endpoint = configuration.get("endpoint") or os.environ.get("AWS_ENDPOINT_URL", "")
        self._place = f"the bucket {url} at {endpoint or 'Amazon S3'}"
        self._store = S3Store.from_url(
            url,
            **configuration,  # type: ignore[arg-type]
            client_options={"allow_http": endpoint.startswith("http://"), "timeout": BUCKET_TIMEOUT},
            retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=5)},
        )

    def put(
        self, data: bytes | IO[bytes], *, max_bytes: int | None = None, sha256: str | None = None
    ) -> StoredBlob:
        """Store bytes durably and return their name; raise BlobTooLarge beyond `max_bytes`."""
        with tempfile.TemporaryFile() as file:
            blob = stores.copy_bytes(data, file, max_bytes, sha256)
            file.seek(0)
            with self.asking():
                # Only files of several pieces need the requests of a multipart upload. An existing blob is
                # replaced, which resets its age.
                self._store.put(blob.sha256, file if blob.size > PIECE_BYTES else file.read())
        return blob

    def open(self, sha256: str) -> io.BufferedReader:
        """Open a blob for reading; raise BlobMissing or StorageUnavailable."""
        import obstore

        with self.asking(sha256):
            reader = obstore.open_reader(self._store, sha256, buffer_size=PIECE_BYTES)
        return io.BufferedReader(_ObjectReader(self, reader), PIECE_BYTES)

    def read(self, sha256: str) -> bytes:
        """Return a blob's verified bytes; raise BlobMissing, BlobDamaged or StorageUnavailable."""
        return stores.checked(self._bytes(sha256), sha256)

    def exists(self, sha256: str) -> bool:
        """Return whether a blob exists."""
        with suppress(BlobMissing):
            return bool(self._facts(sha256))
        return False

    def touch(self, sha256: str) -> None:
        """Reset the age of a blob; raise BlobMissing if it does not exist."""
        if self._facts(sha256)["last_modified"] < datetime.now(UTC) - YOUNG:
            data = self._bytes(sha256)
            with self.asking():
                self._store.put(sha256, data)

    def blobs(self) -> Iterator[ListedBlob]:
        """Yield all blobs in arbitrary order."""
        with self.asking():
            for page in self._store.list():
                for listed in page:
                    if BLOB_NAME.fullmatch(listed["path"]):
                        yield ListedBlob(listed["path"], listed["size"], listed["last_modified"])

    def delete(self, sha256: str) -> None:
        """Delete a blob if it exists."""
        with suppress(BlobMissing), self.asking(sha256):
            self._store.delete(sha256)

    def delete_old(self, sha256: str, *, before: datetime) -> bool:
        """Delete a blob unless it was stored or touched since `before`; return whether it was deleted.

        S3 cannot delete conditionally, so callers must exclude writers with a lock.
        """
        with suppress(BlobMissing):
            if self._facts(sha256)["last_modified"] < before:
                self.delete(sha256)
                return True
        return False

    def remove_abandoned(self) -> None:
        """Do nothing: temporary files have no name, and an incomplete PUT leaves no object."""

    def fault(self) -> str | None:
        """Return why blobs cannot be written and read, or None; store and delete a small one."""
        try:
            probe = self.put(os.urandom(16)).sha256  # another process may be testing the bucket
            self.read(probe)
            self.delete(probe)
        except StorageUnavailable as error:
            return str(error)
        return None

    def _facts(self, sha256: str) -> "ObjectMeta":
        with self.asking(sha256):
            return self._store.head(sha256)

    def _bytes(self, sha256: str) -> bytes:
        with self.asking(sha256):
            return bytes(self._store.get(sha256).bytes())

    @contextmanager
    def asking(self, sha256: str = "") -> Iterator[None]:
        """Translate the errors of a missing blob, and of an unavailable or missing bucket."""
        from obstore.exceptions import BaseError

        try:
            yield
        except (OSError, BaseError) as error:
            codes = CODE.findall(str(error))
            if isinstance(error, FileNotFoundError) and NO_BUCKET not in codes:
                if not codes:  # the response to HEAD does not report a missing bucket
                    with self.asking():
                        next(iter(self._store.list(chunk_size=1)), None)
                raise BlobMissing(sha256) from None
            raise StorageUnavailable(self._sentence(str(error))) from error

    def _sentence(self, error: str) -> str:
        """Return a short message with the remedy; the client's own message is thirty lines long."""
        answers = list(dict.fromkeys(STATUS.findall(error) + CODE.findall(error)))
        if NO_BUCKET in answers:
            return f"There is no {self._place.removeprefix('the ')}. Create it, or correct its name."
        if METADATA_SERVICE in error:
            return f"There are no keys for {self._place}. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
        if answers:
            advice = "Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and the permissions."
            return f"The request to {self._place} failed ({', '.join(answers)}). {advice}"
        return f"There is no response from {self._place}. Check that it is running and AWS_ENDPOINT_URL."


class _ObjectReader(io.RawIOBase):
    """A blob, which is read in pieces; its errors are no OSError, which readers would treat as damage."""

    def __init__(self, storage: BucketStorage, reader: Any) -> None:
        self._storage, self._reader = storage, reader

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._reader.seek(offset, whence))

    def readinto(self, buffer: Any) -> int:
        with self._storage.asking():
            data = self._reader.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
