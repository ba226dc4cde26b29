"""Bodies of requests: files hashed as they arrive, and the fingerprint of a request."""

import hashlib
import json
import shutil
from contextlib import suppress
from functools import cached_property
from tempfile import SpooledTemporaryFile
from typing import IO, Any, cast

from flask import Request
from werkzeug.datastructures import FileStorage

FORM_TYPES = ("multipart/form-data", "application/x-www-form-urlencoded")
MEMORY_BYTES = 500_000  # of a file; a larger one is written to the disk


class ReceivedFile(SpooledTemporaryFile[bytes]):
    """A file of a request with its sha256, so that no second read is needed for it."""

    def __init__(self) -> None:
        super().__init__(MEMORY_BYTES)
        self._hash = hashlib.sha256()

    def write(self, data: Any) -> int:
        """Append bytes."""
        self._hash.update(data)
        return super().write(data)

    @property
    def sha256(self) -> str:
        """The sha256 of the bytes received so far."""
        return self._hash.hexdigest()


class FairboardRequest(Request):
    """A request that hashes its files as they arrive and closes them, also after a rejected body."""

    def _get_file_stream(self, *_: Any, **__: Any) -> IO[bytes]:
        stream = ReceivedFile()
        self.__dict__.setdefault("received", []).append(stream)
        return stream

    @property
    def is_form(self) -> bool:
        """Whether the body is a form, whose fields include its files."""
        return self.mimetype in FORM_TYPES

    @cached_property
    def body_file(self) -> FileStorage | None:
        """The whole body as a file named by the query parameter `file_name`; None for an empty body."""
        stream = self._get_file_stream()
        shutil.copyfileobj(self.stream, stream)
        if not stream.tell():
            return None
        stream.seek(0)
        return FileStorage(stream, filename=self.args.get("file_name") or "body")

    @property
    def sent_file(self) -> FileStorage | None:
        """The form field `file`, or the whole body if it is neither a form nor JSON."""
        return self.files.get("file") if self.is_form or self.is_json else self.body_file

    def fingerprint(self, *, takes_file: bool) -> str:
        """Return a hash that is equal for two requests with the same operation, fields and files.

        It does not depend on a form's encoding, whose boundary differs each time, or on JSON's key order.
        """
        sent: object
        if self.is_form:
            files = [
                (name, str(file.filename), sha256_of(file)) for name, file in self.files.items(multi=True)
            ]
            sent = [sorted(self.form.items(multi=True)), sorted(files)]
        elif takes_file:
            sent = self.body_file and sha256_of(self.body_file)
        else:
            sent = hashlib.sha256(self.get_data()).hexdigest()
            with suppress(ValueError, RecursionError):  # invalid JSON; the operation rejects it
                sent = json.dumps(json.loads(self.get_data()), sort_keys=True)
        operation = [self.method, self.path, sorted(self.args.items(multi=True))]
        return hashlib.sha256(json.dumps([operation, sent]).encode()).hexdigest()

    def close(self) -> None:
        """Close the files."""
        super().close()
        for stream in self.__dict__.get("received", ()):
            stream.close()


def sha256_of(file: FileStorage) -> str:
    """Return the sha256 of a file of the current request."""
    return cast(ReceivedFile, file.stream).sha256
