"""Request bodies: forms, uploaded files and their hashes."""

import hashlib
import shutil
from functools import cached_property
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from flask import Request
from werkzeug.datastructures import FileStorage

from webapp.http.errors import unreadable

FORM_TYPES = ("multipart/form-data", "application/x-www-form-urlencoded")
MEMORY_BYTES = 500_000  # larger files are written to disk
MOST_FIELDS = 2_000


class FairboardRequest(Request):
    """A request that closes its files even if it is rejected."""

    def _get_file_stream(self, *_: Any, **__: Any) -> IO[bytes]:
        stream = SpooledTemporaryFile(MEMORY_BYTES)  # noqa: SIM115 - `close` closes it
        self.__dict__.setdefault("received", []).append(stream)
        return stream

    def _load_form_data(self) -> None:
        if self.mimetype == "application/x-www-form-urlencoded":
            require_few_fields(self.get_data())
        super()._load_form_data()

    @cached_property
    def body_file(self) -> FileStorage | None:
        """The whole body as a file named by the query parameter `file_name`; None for an empty body."""
        stream = self._get_file_stream()
        shutil.copyfileobj(self.stream, stream)
        is_empty = not stream.tell()
        stream.seek(0)
        return None if is_empty else FileStorage(stream, filename=self.args.get("file_name") or "body")

    @property
    def sent_file(self) -> FileStorage | None:
        """The form field `file`, or the whole body if it is neither a form nor JSON."""
        is_form = self.mimetype in FORM_TYPES or self.is_json
        return self.files.get("file") if is_form else self.body_file

    def close(self) -> None:
        """Close the files."""
        super().close()
        for stream in self.__dict__.get("received", ()):
            stream.close()


def require_few_fields(text: bytes) -> None:
    """Raise Refusal for a query or form whose fields would take long to process."""
    if (count := text.count(b"&") + 1) > MOST_FIELDS:
        raise unreadable(f"There are {count:,} fields; the limit is {MOST_FIELDS:,}.")


def sha256_of(file: FileStorage) -> str:
    """Return the sha256 of an uploaded file, and rewind it."""
    file.stream.seek(0)
    digest = hashlib.file_digest(file.stream, "sha256").hexdigest()  # type: ignore[arg-type]
    file.stream.seek(0)
    return digest
