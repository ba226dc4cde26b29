"""Client connections: size and time limits."""

import logging
import resource
import time
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from waitress.channel import HTTPChannel
from waitress.task import WSGITask
from waitress.utilities import InternalServerError

from grader.services.accounts import passwords
from webapp.server.requests import Answer, Head, Refusal, Request, TooLate, ask

OPEN_FILES = 65_536
FILES_FOR_OTHERS = 256  # of the database, the blobs, the checker
FILES_FOR_EACH = 3  # the connection, its body, its answer
# Requests that hash a password (login, sign-up) have threads of their own. A crowd that logs in together
# waits for seconds. Uploads and pages do not wait for it. A test compares the paths with the forms.
PASSWORD_PATHS = (
    *("/login", "/sign-up", "/setup", "/reset"),
    *("/account/password", "/account/email", "/account/delete"),
)
# As many as may wait or have their turn, and some that reject those in excess.
_WAITING = passwords.MOST_WAITING + passwords.MOST_KNOWN_WAITING
PASSWORD_THREADS = passwords.AT_ONCE + _WAITING + 4
MOST_PIPELINED = 100
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one connection, one address and one process may take; times in seconds, sizes in bytes."""

    idle_seconds: float = 15  # without a byte of a request: new, or kept alive
    head_seconds: float = 10  # from the first byte of a request to the end of its head
    grace_seconds: float = 30  # of a body and of an answer, before its rate counts
    slowest_bytes_per_second: int = 8_000  # from its beginning: 50 MB may take 1 h 45 min
    head_bytes: int = 32_768
    unasked_bytes: int = 256_000  # a larger body, or one of unknown length, needs the application's word
    drained_bytes: int = 256_000_000  # of a body that is refused, so that its sender sees the answer
    connections: int = 4_000
    connections_per_address: int = 1_000  # a class of 200 behind one address, with six each, is 1,200 in two

    def is_too_slow(self, seconds: float, size_bytes: int) -> bool:
        """Return whether `size_bytes` in `seconds` is slower than anybody's line."""
        return seconds > self.grace_seconds + size_bytes / self.slowest_bytes_per_second


def of_this_process() -> Bounds:
    """Return the bounds that the open files of this process allow, after raising their limit."""
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
    """Return whether a request may have to wait for its turn to hash a password."""
    return method == "POST" and any(path == each or path.startswith(f"{each}/") for each in PASSWORD_PATHS)


class Work(WSGITask):  # type: ignore[misc]
    """A request on a working thread; one whose answer is known already is not given to the application."""

    def execute(self) -> None:
        """Answer the request."""
        answer: Answer | None = self.request.answer
        if answer is None:
            super().execute()
            return
        self.complete, self.status = True, answer.status
        self.response_headers += [each for each in answer.headers if each[0].lower() != "content-length"]
        self.content_length = len(answer.body)
        self.write(answer.body)


class Question:
    """Asks the application about a head, on a working thread."""

    def __init__(self, channel: "Channel", request: Request) -> None:
        self._channel, self._request = channel, request

    def service(self) -> None:
        """Ask, and let the connection continue."""
        self._channel.ask(self._request)

    def cancel(self) -> None:
        """End the connection, as a request that is not worked on."""
        self._channel.cancel()


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection with deadlines."""

    task_class = Work
    error_task_class = Refusal
    parser_class = Request
    request: Request | None
    will_close: bool

    def __init__(self, server: Any, *args: Any, **options: Any) -> None:
        self.bounds: Bounds = server.bounds
        self.is_asking = False
        self.began = time.monotonic()  # of the present part: silence, head, body
        self._rest = b""
        self._part = ""
        self._takes_no_more = False
        self._sending_since = 0.0
        self._sent = self._sent_before = 0
        super().__init__(server, *args, **options)
        # A proxy's connections are its visitors'; whose each is, its head says.
        self.address: str | None = None if server.trusted_proxies else self.addr[0]

    @property
    def is_waiting(self) -> bool:
        """Whether all that happens here is that the client sends, or does not."""
        return not (self.requests or self.is_asking or self.total_outbufs_len)

    @property
    def is_idle(self) -> bool:
        """Whether the client has sent no part of a request yet."""
        return self.is_waiting and self.request is None

    @property
    def hashes_a_password(self) -> bool:
        """Whether the request that is worked on next may wait for its turn to hash a password."""
        next_: Request = self.requests[0]
        return not next_.error and hashes_a_password(next_.command, next_.path)

    def readable(self) -> bool:
        """Return whether more may be read now."""
        return not (self.is_asking or self._takes_no_more) and bool(super().readable())

    def send(self, data: bytes, do_close: bool = True) -> int:
        """Send what the client takes, and count it."""
        sent: int = super().send(data, do_close=do_close)
        self._sent += sent or 0
        return sent

    def received(self, data: bytes) -> bool:
        """Take in a part; hand a request that is whole to a thread, and one that is large to a question."""
        with self.requests_lock:
            if self.will_close or self.close_when_flushed:
                return False
            self._take_in(data)
        return True

    def ask(self, request: Request) -> None:
        """Ask the application how large the body may be, and continue with the part that has been read."""
        try:
            self._put_question(request)
        except Exception:
            log.exception("Could not check the headers of %s.", request.path)
            request.error, request.completed = InternalServerError(""), True
        with self.requests_lock:  # until the rest is taken in, nothing that comes later is
            self.is_asking, rest, self._rest = False, self._rest, b""
            self._begin("body")  # what the question took is not the client's delay
            self._take_up(request)
            self._take_in(rest)
        self.server.pull_trigger()

    def end_if_late(self, now: float) -> None:
        """Close the connection where its client is later than the bounds allow."""
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

    def _take_in(self, data: bytes) -> None:
        while data and not self.is_asking and not self._takes_no_more:
            if self.request is None:
                self.request = self.parser_class(self.adj)
            data = data[self.request.received(data) :]
            self._take_up(self.request)
            if len(self.requests) > MOST_PIPELINED:
                self.will_close = self._takes_no_more = True
        self._rest = data

    def _take_up(self, request: Request) -> None:
        """Do what the request needs after a part of it has arrived."""
        self._note_part()
        if request.headers_finished and self.server.trusted_proxies:
            self.address = self.server.visitor_of(request, self.addr[0])  # of each request another's
        if request.wants_word:
            self.is_asking = True
            self.server.add_task(Question(self, request))
        elif request.waits_for_continue and not request.completed and not self.requests:
            request.waits_for_continue = False
            if request.is_kept:
                self.send_continue()
            else:
                request.end_here()  # its body is not wanted, and has not been sent
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
        environ = {**task.get_environment(), "wsgi.input": BytesIO()}
        head = Head(receiving_bytes=self.server.announced_bytes)
        request.answer = ask(self.server.application, environ, head)
        if request.answer is None:
            request.keep(head.limit_bytes or 0)
        else:
            request.forget()

    def _note_part(self) -> None:
        """Begin a new deadline where another part has begun."""
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
            self.handle_close()  # a socket that takes nothing is never ready to be closed

    def _refuse_as_late(self) -> None:
        with self.requests_lock:
            if self.request is not None:
                self.request.close()
            self.request = None
            late = self.parser_class(self.adj)
            late.version, late.error = "1.1", TooLate("")
            self.requests.append(late)
            self.server.add_task(self)
