import dataclasses
import threading
from typing import Any

import pytest

from tests.fixtures.front_server import BOUNDS, Running
from tests.fixtures.patience import HANG_SECONDS
from webapp.server.requests import HEAD


class Application:
    """A WSGI application that echoes requests and accepts bodies of up to 1 MB at `/upload`."""

    def __init__(self):
        self.asked: list[str] = []
        self.heads: list[str] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.may_hash = threading.Event()
        self.may_hash.set()

    def __call__(self, environ: dict[str, Any], start_response) -> list[bytes]:
        path = environ["PATH_INFO"]
        if (head := environ.get(HEAD)) is not None:
            self.heads.append(path)
            if path != "/upload" or int(environ.get("CONTENT_LENGTH", 0)) > 1_000_000:
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


@pytest.fixture
def make_running():
    """A function that returns a server with the given limits."""
    made: list[Running] = []

    def make(*, trusted_proxies: int = 0, **bounds) -> Running:
        bounds_ = dataclasses.replace(BOUNDS, **bounds)
        made.append(Running(Application(), bounds_, trusted_proxies=trusted_proxies))
        return made[-1]

    yield make
    for each in made:
        each.application.may_answer.set()
        each.application.may_hash.set()
        each.close()


@pytest.fixture
def running(make_running):
    """A server with the default limits."""
    return make_running()
