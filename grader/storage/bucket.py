"""Blob storage in an S3-compatible bucket, with readable error messages for operators."""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import IO, TYPE_CHECKING, BinaryIO
from urllib.parse import urlsplit

from grader.storage import stores
from grader.storage.stores import BLOB_NAME, BlobMissing, ListedBlob, StorageUnavailable, StoredBlob

if TYPE_CHECKING:
    from obstore import ObjectMeta

PIECE_BYTES = 1 << 23  # size of one request, which has its own timeout
YOUNG = timedelta(hours=1)
BUCKET_TIMEOUT = "20s"  # shorter than the scoring limit, so an unresponsive bucket fails no submission
CODE = re.compile(r"<Code>([\w.]+)</Code>")
STATUS = re.compile(r"status code: (\d{3})")
LONGEST = 300
NO_BUCKET = "NoSuchBucket"
METADATA_SERVICE = "169.254.169.254"
WHOSE_KEYS = "Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"


class BucketStorage:
    """Blobs as objects `sha256` under a prefix of an S3-compatible bucket."""

    def __init__(self, url: str, **configuration: str) -> None:
        """Connect to a bucket; `configuration` (endpoint, region, …) takes precedence over AWS_*."""
        from obstore.store import S3Store

        self._endpoint = configuration.get("endpoint") or default_endpoint()
        endpoint = self._endpoint or ""
        self._url = url
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
            with self._asking():
                # Only files of several pieces need the requests of a multipart upload. An existing blob is
                # replaced, which resets its age.
                self._store.put(blob.sha256, file if blob.size > PIECE_BYTES else file.read())
        return blob

    def open(self, sha256: str) -> BinaryIO:
        """Open a blob for reading; raise BlobMissing or StorageUnavailable."""
        size = self._facts(sha256)["size"]
        if size <= PIECE_BYTES:
            return BytesIO(self._bytes(sha256))

        def read_at(place: int, length: int) -> bytes:
            try:
                with self._asking():
                    return bytes(self._store.get_range(sha256, start=place, length=length))
            except FileNotFoundError:
                raise BlobMissing(sha256) from None

        return stores.stream(size, read_at, piece_bytes=PIECE_BYTES)

    def read(self, sha256: str) -> bytes:
        """Return a blob's verified bytes; raise BlobMissing, BlobDamaged or StorageUnavailable."""
        return stores.checked(self._bytes(sha256), sha256)

    def exists(self, sha256: str) -> bool:
        """Return whether a blob exists."""
        try:
            self._touched_at(sha256)
        except BlobMissing:
            return False
        return True

    def touch(self, sha256: str) -> None:
        """Reset the age of a blob; raise BlobMissing if it does not exist."""
        if self._touched_at(sha256) < datetime.now(UTC) - YOUNG:
            with self._asking():
                self._store.put(sha256, self._bytes(sha256))

    def blobs(self) -> Iterator[ListedBlob]:
        """Yield all blobs in arbitrary order."""
        with self._asking():
            for page in self._store.list():
                for listed in page:
                    if BLOB_NAME.fullmatch(listed["path"]):
                        yield ListedBlob(listed["path"], listed["size"], listed["last_modified"])

    def delete(self, sha256: str) -> None:
        """Delete a blob if it exists."""
        with self._asking(), suppress(FileNotFoundError):
            self._store.delete(sha256)

    def delete_old(self, sha256: str, *, before: datetime) -> bool:
        """Delete a blob unless it was stored or touched since `before`; return whether it was deleted.

        S3 cannot delete conditionally, so callers must exclude writers with a lock.
        """
        with suppress(BlobMissing):
            if self._touched_at(sha256) < before:
                self.delete(sha256)
                return True
        return False

    def remove_abandoned(self) -> int:
        """Do nothing: temporary files have no name, and an incomplete PUT leaves no object."""
        return 0

    def _touched_at(self, sha256: str) -> datetime:
        return self._facts(sha256)["last_modified"]

    def _facts(self, sha256: str) -> "ObjectMeta":
        try:
            with self._asking():
                return self._store.head(sha256)
        except FileNotFoundError:
            self._require_bucket()  # HEAD does not report a missing bucket
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
        """Translate the errors of an unavailable or missing bucket."""
        from obstore.exceptions import BaseError

        try:
            yield
        except FileNotFoundError as error:
            if NO_BUCKET not in CODE.findall(str(error)):
                raise
            raise StorageUnavailable(_sentence(error, self._url, self._endpoint)) from error
        except BaseError as error:
            raise StorageUnavailable(_sentence(error, self._url, self._endpoint)) from error


def default_endpoint() -> str | None:
    """Return the address of the S3 server, or None for Amazon S3."""
    return os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT") or None


def _sentence(error: Exception, url: str, endpoint: str | None) -> str:
    """Return a short message with the remedy; the client's own message is thirty lines long."""
    text = str(error)
    bucket, server = urlsplit(url).netloc, endpoint or "Amazon S3"
    codes, status = CODE.findall(text), STATUS.search(text)
    code = codes[-1] if codes else ""
    if code == NO_BUCKET:
        return f"The bucket {bucket!r} does not exist at {server}. Create it, or correct its name."
    if code in ("InvalidAccessKeyId", "SignatureDoesNotMatch"):
        return f"{server} does not accept these keys ({code}). {WHOSE_KEYS}."
    if METADATA_SERVICE in text:  # the client's fallback if there are no keys
        return (
            f"There are no keys for the bucket {bucket!r}. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
        )
    if status and status[1] in ("401", "403"):
        return (
            f"{server} denies access to the bucket {bucket!r}{_named(code)}. "
            f"{WHOSE_KEYS}, and their permissions."
        )
    if status and status[1] == "301":
        return f"The bucket {bucket!r} is in another region. Correct AWS_REGION."
    if status:
        return f"{server} returned status {status[1]}{_named(code)} for the bucket {bucket!r}."
    if "error sending request" in text or "HTTP error" in text:
        return f"{server} does not respond. Check that it is running and that AWS_ENDPOINT_URL is correct."
    return text.strip().partition("\n")[0][:LONGEST].rstrip(".") + "."


def _named(code: str) -> str:
    return f" ({code})" if code else ""
