"""Request bodies: forms, uploaded files and their hashes.

The server stores a large body on disk. An uploaded file is read in place, as a part of the body.
"""

import hashlib
import io
import os
import secrets
import shutil
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from flask import Request
from werkzeug.datastructures import FileStorage

from grader.storage import stores
from webapp.http.parameters import Unreadable

FORM_TYPES = ("multipart/form-data", "application/x-www-form-urlencoded")
MEMORY_BYTES = 500_000  # larger files are written to disk
PIECE_BYTES = 1 << 18
EDGE_BYTES = 65_536  # the fields of a form are expected in the first and last bytes of a large body
LONGEST_BOUNDARY = 200
MOST_FIELDS = 2_000
MARGIN_BYTES = 1_024  # longer than a boundary with its line breaks


@dataclass(frozen=True, slots=True)
class StoredBody:
    """A complete body in a temporary file, which exists until the response is complete."""

    file: io.BufferedRandom
    size: int

    def read(self, place: int, length: int) -> bytes:
        """Return the bytes at a position."""
        return os.pread(self.file.fileno(), length, place)

    def part(self, place: int, size: int) -> IO[bytes]:
        """Return a part of the body as a file."""
        return stores.stream(size, lambda at, length: self.read(place + at, length), piece_bytes=PIECE_BYTES)

    def contains(self, text: bytes, start: int, end: int) -> bool:
        """Return whether a text occurs between two positions."""
        pieces = (
            self.read(place, min(PIECE_BYTES + len(text), end - place))
            for place in range(start, end, PIECE_BYTES)
        )
        # Most files do not contain the first character of a boundary, and a search for one byte is fast.
        return any(text[:1] in piece and text in piece for piece in pieces)


class FairboardRequest(Request):
    """A request that reads large files in place and closes its files even if rejected."""

    def _get_file_stream(self, *_: Any, **__: Any) -> IO[bytes]:
        stream = SpooledTemporaryFile(MEMORY_BYTES)  # noqa: SIM115 - `close` closes it
        self.__dict__.setdefault("received", []).append(stream)
        return stream

    def _load_form_data(self) -> None:
        if "form" not in self.__dict__ and self.mimetype == "multipart/form-data":
            self._load_around_file()
        elif self.mimetype == "application/x-www-form-urlencoded":
            require_few_fields(self.get_data())
        super()._load_form_data()

    def _load_around_file(self) -> None:
        """Parse a large form without the middle of its only file; do nothing for other forms.

        The middle contains no boundary. In the parsed bytes, a random mark replaces it, so the position of
        the mark in the file shows where the middle belongs.
        """
        body, boundary = self.stored_body, self.mimetype_params.get("boundary", "").encode(errors="replace")
        if body is None or not 0 < len(boundary) <= LONGEST_BOUNDARY:
            return
        end = body.size - EDGE_BYTES
        if end <= EDGE_BYTES or body.contains(
            b"--" + boundary, EDGE_BYTES - MARGIN_BYTES, end + MARGIN_BYTES
        ):
            return
        mark = secrets.token_bytes(16)
        edges = body.read(0, EDGE_BYTES) + mark + body.read(end, EDGE_BYTES)
        _, form, files = self.make_form_data_parser().parse(
            BytesIO(edges), self.mimetype, len(edges), self.mimetype_params
        )
        file = next(iter(files.values()), None)
        data = file.stream.read() if file is not None else b""
        if file is None or len(list(files.items(multi=True))) > 1 or mark not in data:
            return  # the middle belongs to a field, or there are several files
        file.stream = body.part(EDGE_BYTES - data.index(mark), len(data) - len(mark) + end - EDGE_BYTES)
        self.__dict__.update(stream=BytesIO(), form=form, files=files)

    @cached_property
    def stored_body(self) -> StoredBody | None:
        """The unread body if the server stored it on disk; raises RequestEntityTooLarge."""
        file = self.environ["wsgi.input"]
        _ = self.stream  # checks the length
        if not isinstance(file, io.BufferedRandom) or file.tell():
            return None
        file.flush()
        size = os.fstat(file.fileno()).st_size
        return StoredBody(file, size) if size == self.content_length else None

    @property
    def is_form(self) -> bool:
        """Whether the body is a form, possibly with files."""
        return self.mimetype in FORM_TYPES

    @cached_property
    def body_file(self) -> FileStorage | None:
        """The whole body as a file named by the query parameter `file_name`; None for an empty body."""
        if (body := self.stored_body) is not None:
            stream = body.part(0, body.size)
        else:
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

    def close(self) -> None:
        """Close the files."""
        super().close()
        for stream in self.__dict__.get("received", ()):
            stream.close()


def require_few_fields(text: bytes) -> None:
    """Raise Unreadable for a query or form whose fields would take long to process."""
    if (count := text.count(b"&") + 1) > MOST_FIELDS:
        raise Unreadable("number of fields", count, f"at most {MOST_FIELDS}")


def sha256_of(file: FileStorage) -> str:
    """Return the sha256 of an uploaded file, and rewind it."""
    file.stream.seek(0)
    digest = hashlib.sha256()
    while piece := file.stream.read(PIECE_BYTES):
        digest.update(piece)
    file.stream.seek(0)
    return digest.hexdigest()
