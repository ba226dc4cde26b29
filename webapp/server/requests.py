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
from waitress.utilities import BadRequest
from werkzeug.wrappers import Response

from grader import logs

UNASKED_BYTES = 64_000  # larger bodies, or those of unknown length, need the application's approval
# Parsing a chunk takes as long as copying kilobytes, so the headers of all chunks may be as long as the body.
FREE_BYTES = 8_192
LONGEST_LINE = 8_192
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
HEAD = "fairboard.head"
_CODING = b"transfer-encoding:"


@dataclass(slots=True)
class Head:
    """The check of a request's headers: the application sets `limit_bytes` or responds.

    `receiving_bytes` is the size of the bodies that this process is receiving.
    """

    receiving_bytes: int = 0
    limit_bytes: int | None = None


class Request(HTTPRequestParser):  # type: ignore[misc]
    """A waitress request with strict length checks.

    `limit_bytes` is the number of body bytes to store, or None without approval by the application. `answer`
    is the response to a rejected body, and `ids` are the log's ids from the check of the headers.
    """

    expect_continue: bool

    def __init__(self, adj: Any) -> None:
        super().__init__(adj)
        self.limit_bytes: int | None = None
        self.answer: Response | None = None
        self.ids: dict[str, Any] = {}
        self.needs_approval = self.waits_for_continue = False
        self._discarded_bytes = 0

    @cached_property
    def id(self) -> str:
        """The request's id: from a trusted proxy if it is well-formed, otherwise a random one."""
        sent = self.headers.get("X_REQUEST_ID", "") if self.adj.trusted_proxies else ""
        return sent if logs.WELL_FORMED.fullmatch(sent) else secrets.token_hex(8)

    @property
    def method(self) -> str:
        """The method, or `-` if it is unknown, so that no other text of the client is logged as a method."""
        command = getattr(self, "command", "")
        return command if command in METHODS else "-"

    @property
    def announced_bytes(self) -> int:
        """The size of the body to store."""
        return (self.limit_bytes or 0) if self.chunked else min(self.content_length, self.limit_bytes or 0)

    def received(self, data: bytes) -> int:
        """Receive data; return the number of bytes that belong to this request."""
        consumed: int = super().received(data)
        if self.chunked and not self.error:
            self._bound_chunks()
        if self.answer is not None:
            self._discard()
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
        self.needs_approval = self.chunked or self.content_length > UNASKED_BYTES
        self.waits_for_continue = self.expect_continue and self.needs_approval
        # Waitress sends `100 Continue` immediately if this is set.
        self.expect_continue = self.expect_continue and 0 < self.content_length <= UNASKED_BYTES

    def approve(self, limit_bytes: int) -> None:
        """Store a body of at most `limit_bytes`."""
        self.limit_bytes, self.needs_approval = limit_bytes, False
        self.expect_continue, self.waits_for_continue = self.waits_for_continue, False

    def reject(self, answer: Response) -> None:
        """Discard the body. A body that is being sent is read, because clients read responses afterwards."""
        self.answer, self.limit_bytes, self.needs_approval = answer, None, False
        self._discard()
        if self.waits_for_continue:
            self.headers["CONNECTION"] = "close"
            self.completed = True

    def _discard(self) -> None:
        self._discarded_bytes += len(self.body_rcv)
        self.body_rcv.getbuf().close()
        self.body_rcv.buf = OverflowableBuffer(self.adj.max_request_body_size)

    def _bound_chunks(self) -> None:
        """Reject a body over its limit, or one whose chunk headers are too long."""
        receiver = self.body_rcv
        size = self._discarded_bytes + len(receiver)
        longest = max(len(receiver.control_line), len(receiver.trailer))
        if longest > LONGEST_LINE or self.body_bytes_received - size > FREE_BYTES + size:
            self.error, self.completed = BadRequest("The chunk headers are too long"), True
        elif self.limit_bytes is not None and size > self.limit_bytes:
            self.reject(Response("The body is too large.\n", 413, content_type="text/plain"))
