"""Client connections: size and time limits."""

import json
import logging
import resource
import time
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from waitress.channel import HTTPChannel
from waitress.task import ErrorTask, WSGITask
from waitress.utilities import InternalServerError
from werkzeug.wrappers import Response

from grader import logs
from grader.hosts import network
from grader.services.identity import passwords
from webapp.server.requests import HEAD, Head, Request, TooLate

OPEN_FILES = 65_536
FILES_FOR_OTHERS = 256  # reserved for the database, the blobs and the checker
FILES_FOR_EACH = 3  # the connection, its body and its response
# Requests that hash a password (login, sign-up) have their own threads. When many users log in together,
# these requests wait for several seconds, but uploads and pages do not. A test compares the paths with the
# forms.
PASSWORD_PATHS = (
    *("/login", "/sign-up", "/setup", "/reset"),
    *("/account/password", "/account/email", "/account/delete", "/account/second-factors"),
)
# One thread for each attempt in one of the two queues, and some threads that reject further requests.
PASSWORD_THREADS = 2 * passwords.MOST_WAITING + 4
MOST_PIPELINED = 100
PARSED_BYTES = 16_384  # parsing this many bytes of the smallest chunks takes 10 ms
REQUEST_ID = "X-Request-ID"
SENTENCES = {
    400: "The request could not be understood.",
    408: "The request took too long to be received.",
    413: "The request is too large.",
    431: "The request's headers are too large.",
    501: "This transfer encoding is not supported.",
}
PROBES = frozenset({"/livez", "/readyz", "/healthz"})  # monitoring calls these every few seconds
log = logging.getLogger(__name__)
access = logging.getLogger("webapp.access")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits per connection, address and process."""

    idle_seconds: float = 15  # until the first byte of a request, on a new or a kept-alive connection
    head_seconds: float = 10  # from the first byte of a request to the end of its headers
    grace_seconds: float = 30  # time before the rate of a body or response is checked
    slowest_bytes_per_second: int = 8_000  # average rate since the start: 50 MB may take 1 h 45 min
    head_bytes: int = 32_768
    unasked_bytes: int = 64_000  # larger bodies, or those of unknown length, need the application's approval
    drained_bytes: int = 256_000_000  # read from a rejected body so that the client receives the response
    connections: int = 4_000
    # 200 users at one address, with six connections each, fit into two processes.
    connections_per_address: int = 1_000

    def is_too_slow(self, seconds: float, size_bytes: int) -> bool:
        """Return whether `size_bytes` in `seconds` is slower than any usable connection."""
        return seconds > self.grace_seconds + size_bytes / self.slowest_bytes_per_second


def of_this_process() -> Bounds:
    """Raise this process's limit on open files, and return the connection limits that it permits."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    default = Bounds().connections
    open_files = most if soft == resource.RLIM_INFINITY else soft
    connections = max(64, min(default, (open_files - FILES_FOR_OTHERS) // FILES_FOR_EACH))
    return Bounds(connections=connections, connections_per_address=connections // 4)


def hashes_a_password(method: str, path: str) -> bool:
    """Return whether a request may have to wait for a password-hashing slot."""
    return method == "POST" and any(path == each or path.startswith(f"{each}/") for each in PASSWORD_PATHS)


class Logged:
    """A task whose request is logged with its id, route, status, duration and size."""

    channel: Any
    request: Request
    response_headers: list[tuple[str, str]]
    status: str

    def service(self) -> None:
        """Send the response with the request's id, and log it."""
        request, channel = self.request, self.channel
        began, sent_before = time.perf_counter(), channel.written_bytes
        self.response_headers.append((REQUEST_ID, request.id))
        with logs.bound(**{"request": request.id} | request.ids):
            try:
                super().service()  # type: ignore[misc]
            finally:
                status = int(self.status[:3])
                access.log(
                    logging.DEBUG if status < 400 and logs.ids().get("route") in PROBES else logging.INFO,
                    "request",
                    extra={
                        "method": request.method,
                        "status": status,
                        "duration_ms": round((time.perf_counter() - began) * 1000, 2),
                        "bytes": channel.written_bytes - sent_before,
                    },
                )


class HttpRefusal(Logged, ErrorTask):  # type: ignore[misc]
    """A response to an incomplete or invalid request, in the format of all API errors."""

    def execute(self) -> None:
        """Write the response and close the connection."""
        error = self.request.error
        name = error.reason.lower().replace(" ", "_")
        message = SENTENCES.get(error.code, f"{error.reason}.")
        body = json.dumps({"code": error.code, "error": name, "message": message}).encode() + b"\n"
        self.status = f"{error.code} {error.reason}"
        self.response_headers += [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
        ]
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)


class RequestWork(Logged, WSGITask):  # type: ignore[misc]
    """A request on a worker thread. If its response is known, the application is not called."""

    def execute(self) -> None:
        """Send the response."""
        answer = self.request.answer
        if answer is None:
            self.get_environment()
            self.request.path = "(path)"  # waitress logs it if the application raises, but it may be a secret
            super().execute()
            return
        body = answer.get_data()
        self.complete, self.status, self.content_length = True, answer.status, len(body)
        answer.headers.pop("Content-Length", None)
        self.response_headers += answer.headers.items()
        self.write(body)


class HeadCheck:
    """A task that checks a request's headers on a worker thread."""

    def __init__(self, channel: "Channel", request: Request) -> None:
        self._channel, self._request = channel, request

    def service(self) -> None:
        """Check the headers, and resume the connection."""
        self._channel.ask(self._request)

    def cancel(self) -> None:
        """Close the connection."""
        self._channel.cancel()


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection with deadlines."""

    task_class = RequestWork
    error_task_class = HttpRefusal
    parser_class = Request
    request: Request | None
    will_close: bool

    def __init__(self, server: Any, *args: Any, **options: Any) -> None:
        self.bounds: Bounds = server.bounds
        self.is_asking = False
        self.began = time.monotonic()  # start of the current phase: silence, head or body
        self._rest = b""
        self._part = ""
        self._takes_no_more = False
        self._sending_since = 0.0
        self._sent = self._sent_before = 0
        self.written_bytes = 0  # of all responses, including those that are still buffered
        super().__init__(server, *args, **options)
        # Behind a proxy, the client's address is known only from the headers.
        self.address: str | None = None if server.trusted_proxies else network(self.addr[0])

    @property
    def is_waiting(self) -> bool:
        """Whether the connection only waits for data from the client."""
        return not (self.requests or self.is_asking or self.total_outbufs_len)

    @property
    def is_idle(self) -> bool:
        """Whether the client has not started a request."""
        return self.is_waiting and self.request is None

    @property
    def hashes_a_password(self) -> bool:
        """Whether the next request may have to wait for a password-hashing slot."""
        next_: Request = self.requests[0]
        return not next_.error and hashes_a_password(next_.command, next_.path)

    def recv(self, buffer_size: int) -> bytes:
        """Receive data, at most `PARSED_BYTES` of a chunked body."""
        is_chunked = self.request is not None and self.request.chunked
        data: bytes = super().recv(PARSED_BYTES if is_chunked else buffer_size)
        return data

    def readable(self) -> bool:
        """Return whether more data may be received now."""
        return not (self.is_asking or self._takes_no_more) and bool(super().readable())

    def send(self, data: bytes, do_close: bool = True) -> int:
        """Send as much as the client accepts, and count it."""
        sent: int = super().send(data, do_close=do_close)
        self._sent += sent or 0
        return sent

    def write_soon(self, data: Any) -> int:
        """Buffer a part of a response, and count it."""
        written: int = super().write_soon(data)
        self.written_bytes += written or 0
        return written

    def received(self, data: bytes) -> bool:
        """Process received data; pass complete requests and large bodies' headers to threads."""
        with self.requests_lock:
            if self.will_close or self.close_when_flushed:
                return False
            self._rest += data
            self._take_in()
        return True

    def ask(self, request: Request) -> None:
        """Let the application set the body limit; then process the data that follows."""
        with logs.bound(request=request.id):
            try:
                self._put_question(request)
            except Exception:
                log.exception("Could not check the headers of a request.")
                request.error, request.completed = InternalServerError(""), True
            request.ids = logs.ids()
        # The lock keeps data in order: later data must follow the data received during the check.
        with self.requests_lock:
            self.is_asking = False
            self._begin("body")  # the time taken by the check does not count against the client
            self._take_up(request)
            self._take_in()
        self.server.pull_trigger()

    def end_if_late(self, now: float) -> None:
        """Close the connection if the client exceeds a time limit."""
        if self.total_outbufs_len:
            self._end_if_reader_is_late(now)
            return
        self._sending_since = 0.0
        if not self.is_waiting or self.will_close:
            return
        self._note_part()
        seconds = now - self.began
        if self.request is None:
            self.will_close = seconds > self.bounds.idle_seconds
        elif not self.request.headers_finished:
            if seconds > self.bounds.head_seconds:
                self._refuse_as_late()
        elif self.bounds.is_too_slow(seconds, self.request.body_bytes_received):
            self._refuse_as_late()

    def _take_in(self) -> None:
        while self._rest and not self.is_asking and not self._takes_no_more:
            if self.request is None:
                self.request = self.parser_class(self.adj)
            self._rest = self._rest[self.request.received(self._rest[:PARSED_BYTES]) :]
            self._take_up(self.request)
            if len(self.requests) > MOST_PIPELINED:
                self.will_close = self._takes_no_more = True

    def _take_up(self, request: Request) -> None:
        """Update the request's state after receiving data."""
        self._note_part()
        if request.headers_finished and self.server.trusted_proxies:
            # The address may differ for each request.
            self.address = self.server.visitor_of(request, self.addr[0])
        if request.wants_word:
            self.is_asking = True
            self.server.add_task(HeadCheck(self, request))
        elif request.waits_for_continue and not request.completed and not self.requests:
            request.waits_for_continue = False
            if request.is_kept:
                self.send_continue()
            else:
                request.end_here()  # the body is not accepted, and the client has not sent it
        if request.completed:
            self.sent_continue = False
            self.request, self._part = None, ""
            self._takes_no_more = request.ended_early
            if not request.empty:
                self.requests.append(request)
                if len(self.requests) == 1:
                    self.server.add_task(self)

    def _put_question(self, request: Request) -> None:
        task = self.task_class(self, request)
        head = Head(receiving_bytes=self.server.announced_bytes)
        environ = {**task.get_environment(), "wsgi.input": BytesIO(), HEAD: head}
        answer = Response.from_app(self.server.application, environ, buffered=True)
        if head.limit_bytes is not None:
            request.keep(head.limit_bytes)
        else:
            request.answer = answer
            request.forget()

    def _note_part(self) -> None:
        """Restart the deadline when the phase changes."""
        part = "silence"
        if self.request is not None:
            part = "body" if self.request.headers_finished else "head"
        if not self.is_waiting:
            part = "work"
        if part != self._part:
            self._begin(part)

    def _begin(self, part: str) -> None:
        self._part, self.began = part, time.monotonic()

    def _end_if_reader_is_late(self, now: float) -> None:
        if not self._sending_since:
            self._sending_since, self._sent_before = now, self._sent
        if self.bounds.is_too_slow(now - self._sending_since, self._sent - self._sent_before):
            self.handle_close()  # The socket never becomes writable, so waitress would never close it.

    def _refuse_as_late(self) -> None:
        with self.requests_lock:
            if self.is_asking:
                return
            if self.request is not None:
                self.request.close()
            self.request = None
            late = self.parser_class(self.adj)
            late.version, late.error = "1.1", TooLate("")
            self.requests.append(late)
            self.server.add_task(self)
