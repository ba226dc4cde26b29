"""Webhook POST requests, restricted to validated IP addresses.

The host name is resolved once. The deadline covers the entire request, redirects are not followed, and the
response body is not read. TLS verifies the certificate against the host name in the URL.
"""

import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import Any

import httpcore2

from grader.services.webhooks.addresses import Address, Network, may_call

SECONDS = 5.0
MOST_ADDRESSES = 3  # maximum number of addresses tried per name

Resolve = Callable[[str, int], Sequence[str]]


class NoAnswer(Exception):
    """The receiver was unreachable, forbidden or too slow; the error does not reveal which."""


class TimeLimit:
    """The time by which a request must have finished."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the remaining seconds; raise NoAnswer after the deadline."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise NoAnswer
        return left


class PinnedBackend(httpcore2.NetworkBackend):
    """Network backend that connects only to permitted addresses, within a deadline."""

    def __init__(self, *, networks: Sequence[Network], resolve: Resolve, deadline: TimeLimit) -> None:
        self._networks, self._resolve, self._deadline = networks, resolve, deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline applies instead
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to the first reachable address; raise NoAnswer if any address is forbidden."""
        backend, addresses = httpcore2.SyncBackend(), self._addresses(host, port)
        for place, address in enumerate(addresses, 1):
            try:
                stream = backend.connect_tcp(
                    str(address), port, self._deadline.left(), local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if place == len(addresses):
                    raise
            else:
                return _Timed(stream, self._deadline)
        raise NoAnswer

    def _addresses(self, host: str, port: int) -> list[Address]:
        found: queue.SimpleQueue[Sequence[str]] = queue.SimpleQueue()

        def look_up() -> None:
            try:
                found.put(self._resolve(host.strip("[]"), port))
            except (OSError, UnicodeError):
                found.put(())

        # This is a daemon thread because a lookup can outlive the deadline if name servers do not respond.
        threading.Thread(target=look_up, name="resolver", daemon=True).start()
        try:
            texts = found.get(timeout=self._deadline.left())
        except queue.Empty:
            raise NoAnswer from None
        addresses = [ip_address(text) for text in dict.fromkeys(texts)]
        if not all(may_call(address, networks=self._networks) for address in addresses):
            raise NoAnswer
        return addresses[:MOST_ADDRESSES]


class _Timed(httpcore2.NetworkStream):
    """A connection that uses the deadline as the timeout of every operation."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: TimeLimit) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        return self._stream.read(max_bytes, self._deadline.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        self._stream.write(buffer, self._deadline.left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore2.NetworkStream:
        return _Timed(
            self._stream.start_tls(ssl_context, server_hostname, self._deadline.left()), self._deadline
        )

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def addresses_of(host: str, port: int) -> list[str]:
    """Resolve a host name with the system's resolver."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(each[4][0]) for each in found]


def post(
    url: str,
    *,
    body: bytes,
    headers: Mapping[str, str],
    networks: Sequence[Network] = (),
    resolve: Resolve = addresses_of,
    seconds: float = SECONDS,
) -> int:
    """Send a POST request and return the response's status code; raise NoAnswer."""
    deadline = TimeLimit(seconds)
    backend = PinnedBackend(networks=networks, resolve=resolve, deadline=deadline)
    try:
        with (
            httpcore2.ConnectionPool(
                ssl_context=ssl.create_default_context() if url.startswith("https:") else None,
                network_backend=backend,
            ) as pool,
            pool.stream("POST", url, headers=list(headers.items()), content=body) as response,
        ):
            return response.status
    except (httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError, OSError, ValueError):
        raise NoAnswer from None
