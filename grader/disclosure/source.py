"""The bytes of a data file under check; storage failures are kept apart from damaged files."""

import io
from typing import IO, Any

from grader.disclosure.budget import CHUNK_BYTES


class NotReadNow(Exception):
    """The bytes cannot be read at the moment, or there is no room to unpack them: the machine's fault."""


class Source(io.RawIOBase):
    """A file whose storage failures are not mistaken for damage, although readers raise the same errors."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def seekable(self) -> bool:
        """Return whether one can go back."""
        return self._file.seekable()

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place; one that is not there is what a damaged file says."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the place."""
        return self._file.tell()

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer; raise NotReadNow."""
        try:
            data = self._file.read(len(buffer))
        except OSError as error:
            raise NotReadNow(str(error)) from error
        buffer[: len(data)] = data
        return len(data)


def copy(stream: IO[bytes], target: IO[bytes]) -> None:
    """Copy a stream to a file of this machine; raise NotReadNow where there is no room for it."""
    while chunk := stream.read(CHUNK_BYTES):  # what this raises is of the stream
        try:
            target.write(chunk)
        except OSError as error:
            raise NotReadNow(str(error)) from error
    try:
        target.flush()
    except OSError as error:
        raise NotReadNow(str(error)) from error
