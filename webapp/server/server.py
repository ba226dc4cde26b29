"""Event loop of a web process: receive from all connections, close late ones."""

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

from webapp.server.connections import PASSWORD_THREADS, Bounds, Channel
from webapp.server.requests import Request

LOOK_SECONDS = 0.5
RECEIVE_BYTES = 131_072
KEPT_IN_MEMORY_BYTES = 262_144
LARGEST_PAGE_BYTES = 2_000_000  # boards go on while the disk is full
# An answer that its reader takes slowly lies on the disk, not on a thread.
WAITING_ANSWER_BYTES = 1 << 30
UNBOUNDED = 1 << 62  # the application says how large a body may be
MOST_ACCEPTED = 64
MANY_CONNECTIONS = 100
PAUSE_SECONDS = 0.002
NEW_SECONDS = 1

logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # it would log each request that waits


class Server(TcpWSGIServer):  # type: ignore[misc]
    """Waitress on a socket that listens already, with bounds."""

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
            adj=_adjustments(threads, bounds),
            sockinfo=(listener.family, listener.type, listener.proto, listener.getsockname()),
            bind_socket=False,
        )

    def add_task(self, task: Any) -> None:
        """Hand work to a thread of its lane."""
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
        """How much the bodies that are being received may still write to the disk."""
        receiving = (channel.request for channel in self.channels)
        return sum(request.announced_bytes for request in receiving if request is not None)

    def visitor_of(self, request: Request, peer: str) -> str:
        """Return whose request it is, as far as the trusted proxies say."""
        named = [each.strip() for each in request.headers.get("X_FORWARDED_FOR", "").split(",")]
        return named[-self.trusted_proxies] if len(named) >= self.trusted_proxies and named[0] else peer

    def look(self) -> None:
        """Wait for something to happen, half a second at most, and do it."""
        wasyncore.loop(timeout=LOOK_SECONDS, use_poll=True, map=self._map, count=1)
        if len(self._map) > MANY_CONNECTIONS:
            time.sleep(
                PAUSE_SECONDS
            )  # each look asks all of them: who drips must not make it look all the time

    def maintenance(self, now: float) -> None:  # noqa: ARG002 - the clock may be set
        """End what is late, and what an address has too much of."""
        moment = time.monotonic()
        for channel in self.channels:
            channel.end_if_late(moment)
        self._end_surplus()  # behind a proxy a head says whose a connection is

    def handle_accept(self) -> None:
        """Take a connection, in the place of one that waits where there are too many."""
        before = -1
        for _ in range(MOST_ACCEPTED):
            if before == (before := len(self.active_channels)):
                break
            super().handle_accept()
        if len(self.active_channels) > self.bounds.connections_per_address:
            self._end_surplus()

    def stop_accepting(self) -> None:
        """Take no further connection, and close those of which nothing is being worked on or received."""
        self.accepting = False
        self.close_unused()

    def close_unused(self) -> None:
        """Close the connections that wait for a request."""
        for channel in self.channels:
            if channel.is_waiting and (channel.request is None or not channel.request.headers_finished):
                channel.will_close = True

    def _end_surplus(self) -> None:
        """End what waits for longest, of each address that has too many, and of those with the most."""
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
                return  # all of them are being worked on
            count -= 1


def _end(group: list[Channel], surplus: int, now: float) -> int:
    """End as many of these connections as are too many, the unused ones first; return how many."""
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


def _adjustments(threads: int, bounds: Bounds) -> Adjustments:
    adjustments = Adjustments(
        threads=threads,
        backlog=512,
        recv_bytes=RECEIVE_BYTES,
        connection_limit=UNBOUNDED,  # `handle_accept` makes room
        cleanup_interval=LOOK_SECONDS,
        max_request_header_size=bounds.head_bytes,
        max_request_body_size=UNBOUNDED,
        inbuf_overflow=KEPT_IN_MEMORY_BYTES,
        outbuf_overflow=LARGEST_PAGE_BYTES,
        outbuf_high_watermark=WAITING_ANSWER_BYTES,
        channel_timeout=UNBOUNDED,
        log_socket_errors=False,
        ident=None,
        clear_untrusted_proxy_headers=False,  # the application believes as many proxies as the settings say
        server_name="localhost",
        asyncore_use_poll=True,
    )
    adjustments.unasked_bytes, adjustments.drained_bytes = bounds.unasked_bytes, bounds.drained_bytes
    return adjustments
