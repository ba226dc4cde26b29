"""HTTP request parser with separate limits for headers and bodies.

The application runs all checks that need no body: login, disk space, rate limits. The body of a rejected
request is never stored.
"""

import secrets
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from waitress.buffers import OverflowableBuffer
from waitress.parser import HTTPRequestParser, ParsingError, get_header_lines
from waitress.receiver import ChunkedReceiver
from waitress.utilities import BadRequest, Error
from werkzeug.wrappers import Response

from grader import logs

LONGEST_LINE, LONGEST_TRAILER = 1_024, 8_192
# Parsing a chunk takes as long as copying kilobytes. A client may send each line of a file as a chunk, so the
# headers of all chunks may be as long as those of chunks of 8 bytes.
FREE_BYTES = 8_192
MOST_PER_BYTE = 5 / 8
MOST_PER_DISCARDED_BYTE = 7 / 1_024  # up to this share, a rejected body is read to its end
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
HEAD = "fairboard.head"
_CODING = b"transfer-encoding:"


@dataclass(slots=True)
class Head:
    """The check of a request's headers: the application sets `limit_bytes` or responds.

    `receiving_bytes` is the number of bytes that other requests of this process may still store.
    """

    receiving_bytes: int = 0
    limit_bytes: int | None = None


class TooLate(Error):  # type: ignore[misc]
    """A request that was not received in time."""

    code = 408
    reason = "Request Timeout"


class Nowhere:
    """A sink that counts the bytes of a rejected body."""

    def __init__(self, size: int) -> None:
        self.size = size

    def append(self, data: bytes) -> None:
        """Discard the bytes."""
        self.size += len(data)

    def __len__(self) -> int:
        return self.size

    def close(self) -> None:
        """Do nothing."""


class Request(HTTPRequestParser):  # type: ignore[misc]
    """A waitress request with strict length checks.

    `limit_bytes` is the number of body bytes to store, or None until the application sets it. `answer` is the
    application's response to the headers of a rejected body.
    """

    expect_continue: bool

    def __init__(self, adj: Any) -> None:
        super().__init__(adj)
        self.limit_bytes: int | None = None
        self.answer: Response | None = None
        self.ids: dict[str, Any] = {}  # ids for the log from the check of the headers
        self.waits_for_continue = False
        self.is_kept = True
        self.ended_early = False

    @cached_property
    def id(self) -> str:
        """The request's id: from a trusted proxy if it is well-formed, otherwise a random one."""
        sent = self.headers.get("X_REQUEST_ID", "") if self.adj.trusts_proxies else ""
        return sent if logs.WELL_FORMED.fullmatch(sent) else secrets.token_hex(8)

    @property
    def method(self) -> str:
        """The method, or `-` if it is unknown, so that no other text of the client is logged as a method."""
        command = getattr(self, "command", "")
        return command if command in METHODS else "-"

    @property
    def wants_word(self) -> bool:
        """Whether the application must set a limit before more of the body is received."""
        return (
            self.headers_finished
            and not self.completed
            and self.limit_bytes is None
            and (self.chunked or self.content_length > self.adj.unasked_bytes)
        )

    @property
    def announced_bytes(self) -> int:
        """The number of bytes of the body that may still be stored."""
        most = self.limit_bytes or 0
        return (most if self.chunked else min(self.content_length, most)) if self.is_kept else 0

    def received(self, data: bytes) -> int:
        """Receive data; return the number of bytes that belong to this request."""
        if self.body_rcv is None:
            consumed: int = super().received(data)
            if self.headers_finished and not self.completed and self.expect_continue:
                self.waits_for_continue, self.expect_continue = True, False
            return consumed
        consumed = super().received(data)
        if self.chunked and not self.error:
            self._bound_chunks(self.body_rcv)
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the headers; raise ParsingError for an ambiguous length."""
        try:
            super().parse_header(header_plus)
        except ValueError:
            raise ParsingError("The request target is not a URL") from None
        if self.chunked:
            lines = get_header_lines(header_plus.partition(b"\r\n")[2])
            codings = [each.lower() for each in lines if each.lower().startswith(_CODING)]
            if [each.removeprefix(_CODING).strip(b" \t") for each in codings] != [b"chunked"]:
                raise ParsingError("There are several transfer encodings")
        has_coding = self.chunked or "TRANSFER_ENCODING" in self.headers
        if has_coding and ("CONTENT_LENGTH" in self.headers or not self.chunked):
            raise ParsingError("The request has two lengths")
        if self.version == "1.1" and "HOST" not in self.headers:
            raise ParsingError("There is no Host header")
        if "," in self.headers.get("HOST", ""):
            raise ParsingError("There are two Host headers")
        if self.proxy_netloc:  # The client uses this server as its proxy (RFC 9112, 3.2.2).
            self.headers["HOST"] = self.proxy_netloc

    def keep(self, limit_bytes: int) -> None:
        """Store the body if it fits into `limit_bytes`; otherwise read and discard it."""
        self.limit_bytes = limit_bytes
        if not self.chunked and self.content_length > limit_bytes:
            self.forget()

    def forget(self) -> None:
        """Read and discard the rest of the body, because the client reads the response only afterwards."""
        self.is_kept = False
        stored = self.body_rcv.getbuf()
        self.body_rcv.buf = Nowhere(len(stored))
        stored.close()
        if self.limit_bytes is None:
            self.limit_bytes = 0
        if self.content_length > self.adj.drained_bytes:
            self.end_here()

    def get_body_stream(self) -> Any:
        """Return the body, empty if it was not stored."""
        if self.is_kept:
            return super().get_body_stream()
        return OverflowableBuffer(1).getfile()

    def end_here(self) -> None:
        """Respond without reading the rest of the body, and close the connection."""
        self.headers["CONNECTION"] = "close"
        self.connection_close = self.completed = self.ended_early = True

    def _bound_chunks(self, receiver: ChunkedReceiver) -> None:
        """Discard a body over its limit; reject one whose chunk headers are too long."""
        if self.is_kept and self.limit_bytes is not None and len(receiver) > self.limit_bytes:
            self.forget()
        headers_bytes = self.body_bytes_received - len(receiver)
        most = MOST_PER_BYTE if self.is_kept else MOST_PER_DISCARDED_BYTE
        is_costly = headers_bytes > FREE_BYTES + most * len(receiver)
        is_too_long = len(receiver.control_line) > LONGEST_LINE or len(receiver.trailer) > LONGEST_TRAILER
        if is_too_long or (self.is_kept and is_costly):
            self.error, self.completed = BadRequest("The chunk headers are too long"), True
        elif not self.is_kept:
            if is_costly or self.body_bytes_received > self.adj.drained_bytes:
                self.end_here()
            # The application must receive a length above the limit.
            if self.completed:
                self.headers["CONTENT_LENGTH"] = str(max(len(receiver), (self.limit_bytes or 0) + 1))
