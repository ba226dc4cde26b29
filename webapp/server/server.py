"""Event loop of a web process: receives all requests and closes overdue connections."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

from webapp.server.connections import PASSWORD_THREADS, Bounds, Channel

LOOK_SECONDS = 0.5
UNBOUNDED = 1 << 62  # the application sets the body limit

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
        adjustments = Adjustments(
            threads=threads,
            backlog=512,
            recv_bytes=65_536,
            connection_limit=bounds.connections,
            cleanup_interval=LOOK_SECONDS,
            max_request_header_size=32_768,
            max_request_body_size=UNBOUNDED,
            inbuf_overflow=65_536,
            outbuf_overflow=2_000_000,  # leaderboards must work while the disk is full
            # A response to a slow client is stored on disk, so that it does not occupy a thread.
            outbuf_high_watermark=1 << 30,
            channel_timeout=UNBOUNDED,
            log_socket_errors=False,
            ident=None,
            clear_untrusted_proxy_headers=False,  # the application evaluates them by its own settings
            server_name="localhost",
            asyncore_use_poll=True,
        )
        adjustments.trusted_proxies = trusted_proxies
        self.password_dispatcher = ThreadedTaskDispatcher()
        self.password_dispatcher.set_thread_count(PASSWORD_THREADS)
        super().__init__(
            application,
            _sock=listener,
            adj=adjustments,
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
        """The size of the bodies that are being received."""
        receiving = (channel.request for channel in self.channels)
        return sum(request.announced_bytes for request in receiving if request is not None)

    def look(self) -> None:
        """Process network events, waiting at most half a second."""
        wasyncore.loop(timeout=LOOK_SECONDS, use_poll=True, map=self._map, count=1)

    def maintenance(self, now: float) -> None:  # noqa: ARG002 - the clock may be set
        """Close late connections, and waiting ones of an address with too many."""
        moment, counts = time.monotonic(), Counter[str]()
        for channel in self.channels:
            channel.end_if_late(moment)
            if (address := channel.address) is not None:
                counts[address] += 1
                if counts[address] > self.bounds.connections_per_address and channel.is_waiting:
                    channel.will_close = True

    def close_unused(self) -> None:
        """Close the connections that wait for a request."""
        for channel in self.channels:
            if channel.is_waiting and (channel.request is None or not channel.request.headers_finished):
                channel.will_close = True
