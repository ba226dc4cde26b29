"""Receiver of chunked request bodies."""

import re

from waitress.receiver import ChunkedReceiver
from waitress.rfc7230 import CHUNK_EXT_RE
from waitress.utilities import BadRequest

LONGEST_LINE, LONGEST_TRAILER = 1_024, 8_192
# Parsing a chunk takes as long as copying kilobytes. A client may send each line of a file as a chunk.
FREE_CHUNKS = 1_000
SMALLEST_MEAN_BYTES = 8
END = b"\r\n"
_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})(;[^\r\n]*)?\r\n")


class Chunks(ChunkedReceiver):  # type: ignore[misc]
    """A chunked body, which stores the data of all chunks that arrive together at once."""

    count = size = 0  # of the chunks begun
    _missing = 0  # bytes of the current chunk, including its line end
    _rest = b""  # an incomplete line or trailer

    def are_small(self, mean_bytes: int) -> bool:
        """Return whether there are many chunks, with fewer than `mean_bytes` on average."""
        return self.count > FREE_CHUNKS and self.count * mean_bytes > self.size

    def received(self, data: bytes) -> int:
        """Store received data; return the number of bytes that belong to this body."""
        text, at, start, pieces = self._rest + data, 0, -1, []
        while at != start and not (self.completed or self.error):
            start = at
            if self._missing > len(END):
                pieces.append(text[at : at + self._missing - len(END)])
                at += len(pieces[-1])
                self._missing -= len(pieces[-1])
            else:
                at = self._after_trailer(text, at) if self.all_chunks_received else self._after_line(text, at)
        if pieces:
            self.buf.append(b"".join(pieces))
        consumed = at - len(self._rest) if self.completed else len(data)
        self._rest = text[at:]
        return consumed

    def _after_line(self, text: bytes, at: int) -> int:
        """Return the offset after the end of a chunk and the header of the next; `at` if incomplete."""
        if not text.startswith(END[: self._missing], at):
            return at if text[at:] in (b"", END[:1]) else self._fail("A chunk has another length")
        line = _LINE.match(text, at + self._missing)
        if line is None:
            is_incomplete = len(text) - at <= LONGEST_LINE and text.find(END, at + self._missing) < 0
            return at if is_incomplete else self._fail("A chunk header is invalid")
        if line[2] and not CHUNK_EXT_RE.match(line[2]):
            return self._fail("A chunk extension is invalid")
        size = int(line[1], 16)
        self.count, self.size = self.count + 1, self.size + size
        self._missing, self.all_chunks_received = size + len(END), size == 0
        return self._fail("The chunks are too small") if self.are_small(SMALLEST_MEAN_BYTES) else line.end()

    def _after_trailer(self, text: bytes, at: int) -> int:
        """Return the offset after the trailer, or `at` if it is incomplete."""
        if text.startswith(END, at):
            self.completed = True
            return at + len(END)
        end = text.find(2 * END, at)
        if end < 0 and len(text) - at > LONGEST_TRAILER:
            return self._fail("The trailer is too long")
        self.completed = end >= 0
        return end + 2 * len(END) if self.completed else at

    def _fail(self, reason: str) -> int:
        self.error = BadRequest(reason)
        return 0
