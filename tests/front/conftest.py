import dataclasses
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from grader.supervisor.listener import open_listener
from tests.fixtures.patience import HANG_SECONDS
from webapp.front.asking import HEAD
from webapp.front.bounds import Bounds
from webapp.front.server import Server

# Deadlines that a busy machine does not meet by being busy; tests of deadlines set their own.
BOUNDS = Bounds(
    connections=40, connections_per_address=20, idle_seconds=600, head_seconds=600, grace_seconds=600
)


class Application:
    """A WSGI application that repeats what it was asked, and takes bodies of up to 1 MB at `/upload`."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.heads: list[str] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.may_hash = threading.Event()
        self.may_hash.set()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        path = environ["PATH_INFO"]
        if (head := environ.get(HEAD)) is not None:
            self.heads.append(path)
            if path != "/upload":
                start_response("401 Unauthorized", [("Content-Type", "text/plain"), ("Content-Length", "3")])
                return [b"no\n"]
            head.limit_bytes = 1_000_000
            start_response("204 No Content", [])
            return []
        self.asked.append(path)
        (self.may_hash if path == "/login" else self.may_answer).wait(HANG_SECONDS)
        body = environ["wsgi.input"].read()
        said = f"{environ['REQUEST_METHOD']} {path} {environ['HTTP_HOST']} {len(body)} of "
        text = said.encode() + environ.get("CONTENT_LENGTH", "none").encode()
        if path == "/large":
            text = b"x" * 30_000_000
        start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(text)))])
        return [text]


class Running:
    """A server in a thread of this process."""

    def __init__(self, bounds: Bounds, trusted_proxies: int) -> None:
        self.application = Application()
        listener = open_listener("127.0.0.1", 0)
        listener.setblocking(False)
        self.address = listener.getsockname()
        self.server = Server(
            self.application, listener, threads=2, bounds=bounds, trusted_proxies=trusted_proxies
        )
        self._listener = listener
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            self.server.look()

    def connect(self, sent: bytes = b"", *, address: str = "127.0.0.1") -> socket.socket:
        """Return a connection on which this was sent."""
        client = socket.create_connection(self.address, timeout=HANG_SECONDS, source_address=(address, 0))
        client.sendall(sent)
        return client

    def ask(self, sent: bytes) -> bytes:
        """Return all that comes back before the server closes the connection."""
        with self.connect(sent) as client:
            return everything(client)

    def bound(self, **bounds: Any) -> None:
        """Change bounds of the running server, also of its open connections."""
        self.server.bounds = dataclasses.replace(self.server.bounds, **bounds)
        for channel in self.server.channels:
            channel.bounds = self.server.bounds

    def close(self) -> None:
        self.application.may_answer.set()
        self.application.may_hash.set()
        self._stop.set()
        self._thread.join()
        for channel in self.server.channels:
            channel.handle_close()
        self.server.task_dispatcher.shutdown()
        self.server.password_dispatcher.shutdown()
        self.server.trigger.close()
        self._listener.close()


def everything(client: socket.socket) -> bytes:
    """Return what comes until the other side closes."""
    parts = []
    while part := client.recv(65_536):
        parts.append(part)
    return b"".join(parts)


@pytest.fixture
def make_running() -> Iterator[Callable[..., Running]]:
    """A function that returns a server with other bounds than the usual ones."""
    made: list[Running] = []

    def make(*, trusted_proxies: int = 0, **bounds: Any) -> Running:
        made.append(Running(dataclasses.replace(BOUNDS, **bounds), trusted_proxies))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def running(make_running: Callable[..., Running]) -> Running:
    """A server with the usual bounds."""
    return make_running()
