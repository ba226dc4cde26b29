"""Event loop of a web process: receives all requests and closes overdue connections."""

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

from grader.hosts import client_address, network
from webapp.server.connections import PASSWORD_THREADS, Bounds, Channel
from webapp.server.requests import Request

LOOK_SECONDS = 0.5
RECEIVE_BYTES = 65_536
KEPT_IN_MEMORY_BYTES = 65_536
LARGEST_PAGE_BYTES = 2_000_000  # leaderboards must work while the disk is full
# A response to a slow client is stored on disk, so that it does not occupy a thread.
WAITING_ANSWER_BYTES = 1 << 30
UNBOUNDED = 1 << 62  # the application sets the body limit
MOST_ACCEPTED = 64
MANY_CONNECTIONS = 100
PAUSE_SECONDS = 0.002
NEW_SECONDS = 1

logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # this logger reports each waiting request


class Server(TcpWSGIServer):  # type: ignore[misc]
    """A waitress server on a listening socket, with limits."""

    channel_class = Channel

    def __init__(
        self,
        application: Callable[..., Iterable[bytes]],
        listener: Any,
        *,
        threads: int,
        bounds: Bounds,
        trusted_proxies: int = 0,
    ) -> None:
        self.bounds = bounds
        self.trusted_proxies = trusted_proxies
        dispatcher = ThreadedTaskDispatcher()
        dispatcher.set_thread_count(threads)
        self.password_dispatcher = ThreadedTaskDispatcher()
        self.password_dispatcher.set_thread_count(PASSWORD_THREADS)
        super().__init__(
            application,
            map={},
            _sock=listener,
            dispatcher=dispatcher,
            adj=_adjustments(threads, bounds, trusts_proxies=trusted_proxies > 0),
            sockinfo=(listener.family, listener.type, listener.proto, listener.getsockname()),
            bind_socket=False,
        )

    def add_task(self, task: Any) -> None:
        """Queue a task for the normal threads or for the password threads."""
        dispatcher = self.task_dispatcher
        if isinstance(task, Channel) and task.hashes_a_password:
            dispatcher = self.password_dispatcher
        dispatcher.add_task(task)

    @property
    def channels(self) -> list[Channel]:
        """The open connections."""
        return list(self.active_channels.values())

    @property
    def announced_bytes(self) -> int:
        """The disk space that the bodies being received may still need."""
        receiving = (channel.request for channel in self.channels)
        return sum(request.announced_bytes for request in receiving if request is not None)

    def visitor_of(self, request: Request, peer: str) -> str:
        """Return the client's address or IPv6 network, according to the trusted proxies."""
        forwarded_for = request.headers.get("X_FORWARDED_FOR", "")
        return network(client_address(peer, forwarded_for, proxies=self.trusted_proxies))

    def look(self) -> None:
        """Process network events, waiting at most half a second."""
        wasyncore.loop(timeout=LOOK_SECONDS, use_poll=True, map=self._map, count=1)
        if len(self._map) > MANY_CONNECTIONS:
            # Each iteration polls all connections. Without a pause, slow clients could keep it busy.
            time.sleep(PAUSE_SECONDS)

    def maintenance(self, now: float) -> None:  # noqa: ARG002 - the clock may be set
        """Close late connections and those over the limits."""
        moment = time.monotonic()
        for channel in self.channels:
            channel.end_if_late(moment)
        self._end_surplus()  # behind a proxy, addresses are known only from the headers

    def handle_accept(self) -> None:
        """Accept connections, and close waiting ones if there are too many."""
        before = -1
        for _ in range(MOST_ACCEPTED):
            if before == (before := len(self.active_channels)):
                break
            super().handle_accept()
        if len(self.active_channels) > self.bounds.connections_per_address:
            self._end_surplus()

    def stop_accepting(self) -> None:
        """Stop accepting connections, and close those that are not in use."""
        self.accepting = False
        self.close_unused()

    def close_unused(self) -> None:
        """Close the connections that wait for a request."""
        for channel in self.channels:
            if channel.is_waiting and (channel.request is None or not channel.request.headers_finished):
                channel.will_close = True

    def _end_surplus(self) -> None:
        """Close waiting connections of each address over its limit, then of the largest groups."""
        now = time.monotonic()
        groups: dict[str | None, list[Channel]] = defaultdict(list)
        for channel in self.channels:
            if not channel.will_close:
                is_of_a_proxy = self.trusted_proxies and channel.is_idle
                groups[None if is_of_a_proxy else channel.address].append(channel)
        count = sum(map(len, groups.values()))
        for address, group in groups.items():
            if address is not None:
                count -= _end(group, len(group) - self.bounds.connections_per_address, now)
        while count > self.bounds.connections:
            largest = max(groups.values(), key=len)
            if not _end(largest, 1, now):
                return  # all connections are in use
            count -= 1


def _end(group: list[Channel], surplus: int, now: float) -> int:
    """Close `surplus` waiting connections, unused ones first; return the number closed."""
    if surplus <= 0:
        return 0
    waiting = sorted(
        (channel for channel in group if channel.is_waiting),
        key=lambda channel: (not channel.is_idle or now - channel.began < NEW_SECONDS, channel.began),
    )
    for channel in waiting[:surplus]:
        channel.will_close = True
        group.remove(channel)
    return len(waiting[:surplus])


def _adjustments(threads: int, bounds: Bounds, *, trusts_proxies: bool) -> Adjustments:
    adjustments = Adjustments(
        threads=threads,
        backlog=512,
        recv_bytes=RECEIVE_BYTES,
        connection_limit=UNBOUNDED,  # `handle_accept` closes waiting connections
        cleanup_interval=LOOK_SECONDS,
        max_request_header_size=bounds.head_bytes,
        max_request_body_size=UNBOUNDED,
        inbuf_overflow=KEPT_IN_MEMORY_BYTES,
        outbuf_overflow=LARGEST_PAGE_BYTES,
        outbuf_high_watermark=WAITING_ANSWER_BYTES,
        channel_timeout=UNBOUNDED,
        log_socket_errors=False,
        ident=None,
        clear_untrusted_proxy_headers=False,  # the application evaluates them by its own settings
        server_name="localhost",
        asyncore_use_poll=True,
    )
    adjustments.unasked_bytes, adjustments.drained_bytes = bounds.unasked_bytes, bounds.drained_bytes
    adjustments.trusts_proxies = trusts_proxies
    return adjustments
