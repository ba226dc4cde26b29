"""Browser fixtures: Chromium, and a running site that scores submissions."""

import os
import queue
import threading
import time
from collections.abc import Callable, Sequence

import pytest
from playwright.sync_api import expect
from werkzeug.serving import make_server

from tests.fixtures.patience import HANG_SECONDS
from tests.fixtures.programs import find_program

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-features=PreloadTopChromeWebUI,PreloadTopChromeWebUILessNavigations",
    "--no-first-run",
)
SCORING_DELAY_SECONDS = 0.5

expect.set_options(timeout=1000 * HANG_SECONDS)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    chromium = os.environ.get("FAIRBOARD_TEST_CHROMIUM") or find_program(
        "chromium", "google-chrome", command="apt-get install chromium, or set FAIRBOARD_TEST_CHROMIUM"
    )
    return {**browser_type_launch_args, "executable_path": chromium, "args": list(FLAGS)}


@pytest.fixture(scope="session")
def base_url():
    """None, because every test has its own server; this overrides a deprecated fixture."""


@pytest.fixture
def context(context):
    """A browser context whose timeouts are long enough to fail only on a hang."""
    context.set_default_timeout(1000 * HANG_SECONDS)
    return context


class FollowedHints:
    """Scores the jobs of received hints one by one, as a worker does, after a short delay."""

    def __init__(self):
        self._waiting: queue.Queue[int | None] = queue.Queue()
        self._thread: threading.Thread | None = None

    def send(self, job_ids: Sequence[int]):
        for job_id in job_ids:
            self._waiting.put(job_id)

    def start(self, score: Callable[[int], object]):
        def follow():
            while (job_id := self._waiting.get()) is not None:
                time.sleep(SCORING_DELAY_SECONDS)
                score(job_id)

        self._thread = threading.Thread(target=follow)
        self._thread.start()

    def stop(self):
        self._waiting.put(None)
        if self._thread:
            self._thread.join()


@pytest.fixture
def live(arena):
    """The test site on its own port, with scoring; `arena.address` is its URL."""
    server = make_server("127.0.0.1", 0, arena.app, threaded=True)
    hints = FollowedHints()
    hints.start(arena.scorer.run)
    arena.hints.send = hints.send
    arena.address = f"http://127.0.0.1:{server.port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield arena
    server.shutdown()
    thread.join()
    server.server_close()
    hints.stop()
