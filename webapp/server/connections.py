"""Client connections: checks of headers, time limits, access log."""

import logging
import time
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from waitress.channel import HTTPChannel
from waitress.task import ErrorTask, WSGITask
from werkzeug.wrappers import Response

from grader import logs
from grader.hosts import client_address, network
from grader.services.identity import passwords
from webapp.server.requests import HEAD, Head, Request

# Requests that hash a password (login, sign-up) have their own threads. When many users log in together,
# these requests wait for several seconds, but uploads and pages do not. A test compares the paths with the
# forms.
PASSWORD_PATHS = (
    *("/login", "/sign-up", "/setup", "/reset"),
    *("/account/password", "/account/email", "/account/delete", "/account/second-factors"),
)
# One thread for each attempt in one of the two queues, and some threads that reject further requests.
PASSWORD_THREADS = 2 * passwords.MOST_WAITING + 4
REQUEST_ID = "X-Request-ID"
PROBES = frozenset({"/livez", "/readyz", "/healthz"})  # monitoring calls these every few seconds
access = logging.getLogger("webapp.access")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits per connection, address and process."""

    idle_seconds: float = 15  # until the first byte of a request, on a new or a kept-alive connection
    head_seconds: float = 10  # from the first byte of a request to the end of its headers
    grace_seconds: float = 30  # time before the rate of a body or response is checked
    slowest_bytes_per_second: int = 8_000  # average rate since the start: 50 MB may take 1 h 45 min
    connections: int = 4_000
    # 200 users at one address, with six connections each, fit into two processes.
    connections_per_address: int = 1_000

    def is_too_slow(self, seconds: float, size_bytes: int) -> bool:
        """Return whether `size_bytes` in `seconds` is slower than any usable connection."""
        return seconds > self.grace_seconds + size_bytes / self.slowest_bytes_per_second


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


class InvalidRequest(Logged, ErrorTask):  # type: ignore[misc]
    """The response of waitress to an invalid request."""


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
    """A task that lets the application check a request's headers on a worker thread."""

    def __init__(self, channel: "Channel", request: Request) -> None:
        self._channel, self._request = channel, request

    def service(self) -> None:
        """Approve or reject the body, and resume the connection."""
        channel, request = self._channel, self._request
        head = Head(receiving_bytes=channel.server.announced_bytes)
        with logs.bound(request=request.id):
            environ = RequestWork(channel, request).get_environment()
            environ |= {"wsgi.input": BytesIO(), HEAD: head}
            try:
                answer = Response.from_app(channel.server.application, environ, buffered=True)
            except Exception:
                channel.cancel()
                raise
            request.ids = logs.ids()
        with channel.requests_lock:
            if head.limit_bytes is None:
                request.reject(answer)
            else:
                request.approve(head.limit_bytes)
            channel.resume()
        channel.server.pull_trigger()

    def cancel(self) -> None:
        """Close the connection."""
        self._channel.cancel()


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection with deadlines."""

    task_class = RequestWork
    error_task_class = InvalidRequest
    parser_class = Request
    request: Request | None
    will_close: bool

    def __init__(self, server: Any, *args: Any, **options: Any) -> None:
        self.is_asking = False
        self.written_bytes = 0  # of all responses, including those that are still buffered
        self._phase: Any = None  # idle, head, body, work or response, and of which request
        self._began = 0.0
        self._sent_bytes = self._sent_before = 0
        super().__init__(server, *args, **options)

    @property
    def is_waiting(self) -> bool:
        """Whether the connection only waits for data from the client."""
        return not (self.requests or self.is_asking or self.total_outbufs_len)

    @property
    def address(self) -> str | None:
        """The client's address; behind a proxy, it is known only from the headers of a request."""
        peer, proxies = self.addr[0], self.server.adj.trusted_proxies
        if proxies:
            if self.request is None or not self.request.headers_finished:
                return None
            forwarded_for = self.request.headers.get("X_FORWARDED_FOR", "")
            peer = client_address(peer, forwarded_for, proxies=proxies)
        return network(peer)

    @property
    def hashes_a_password(self) -> bool:
        """Whether the next request may have to wait for a password-hashing slot."""
        next_: Request = self.requests[0]
        return not next_.error and hashes_a_password(next_.command, next_.path)

    def readable(self) -> bool:
        """Return whether more data may be received now."""
        return not self.is_asking and bool(super().readable())

    def send(self, data: bytes, do_close: bool = True) -> int:
        """Send as much as the client accepts, and count it."""
        sent: int = super().send(data, do_close=do_close)
        self._sent_bytes += sent or 0
        return sent

    def write_soon(self, data: Any) -> int:
        """Buffer a part of a response, and count it."""
        written: int = super().write_soon(data)
        self.written_bytes += written or 0
        return written

    def received(self, data: bytes) -> bool:
        """Process received data; pass complete requests and large bodies' headers to threads."""
        is_open: bool = super().received(data)
        if self.request is not None and self.request.needs_approval:
            self.is_asking = True
            self.server.add_task(HeadCheck(self, self.request))
        return is_open

    def resume(self) -> None:
        """Receive the body after the check of its headers, or respond if the request ends here."""
        self.is_asking = False
        request = self.request
        if request is not None and request.completed:
            self.request = None
            self.requests.append(request)
            if len(self.requests) == 1:
                self.server.add_task(self)
        elif request is not None and request.expect_continue and not self.requests:
            self.send_continue()

    def end_if_late(self, now: float) -> None:
        """Close the connection if the client exceeds a time limit."""
        request, bounds = self.request, self.server.bounds
        has_head = request is not None and request.headers_finished
        is_sending = self.total_outbufs_len > 0
        phase = (request, has_head, self.is_waiting, is_sending, self.written_bytes)
        if phase != self._phase:
            self._phase, self._began, self._sent_before = phase, now, self._sent_bytes
        seconds = now - self._began
        if is_sending:
            if bounds.is_too_slow(seconds, self._sent_bytes - self._sent_before):
                self.handle_close()  # The socket never becomes writable, so waitress would never close it.
        elif not self.is_waiting:
            return
        elif request is None:
            self.will_close = seconds > bounds.idle_seconds
        elif not has_head:
            self.will_close = seconds > bounds.head_seconds
        else:
            self.will_close = bounds.is_too_slow(seconds, request.body_bytes_received)
