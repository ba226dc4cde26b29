"""Rolling restart under traffic, messages of another release, client retries."""

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psutil
import pytest
from pydantic import SecretStr

from grader.models import JobState
from grader.worker import broker
from tests.fixtures.front_server import everything
from tests.fixtures.patience import HANG_SECONDS, eventually
from tests.fixtures.web import BOUNDARY, form

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
THREADS = 3


@pytest.fixture
def settings(make_settings):
    return make_settings(web_workers=1, web_threads=8, disk_reserve_mb=0)


@dataclass
class Traffic:
    """Uploads and reads continuously until the block ends; failures are recorded."""

    web: Any
    tokens: list[str]
    predictions_csv: Any
    sent: dict[int, bytes] = field(default_factory=dict)
    broken: list[Any] = field(default_factory=list)

    def __post_init__(self):
        self._stop = threading.Event()

    def __enter__(self):
        self._pool = ThreadPoolExecutor(THREADS)
        self._running = [self._pool.submit(self._run, number) for number in range(THREADS)]
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._pool.shutdown()
        for each in self._running:
            each.result()

    def wait_for_more(self, count=THREADS):
        """Wait until this many more files are accepted."""
        before = len(self.sent)
        eventually(lambda: len(self.sent) >= before + count, lambda: f"more files ({self.broken})")

    def _run(self, number):
        caller = self.web.caller(self.tokens[number % len(self.tokens)])
        for each in range(100_000):
            if self._stop.is_set():
                return
            content = self.predictions_csv(seed=100_000 * number + each)
            answer = self._ask(caller.send, content, key=f"{number} {each}")
            if answer.status in (200, 201):
                self.sent[answer.data["id"]] = content
            else:
                self.broken.append(answer)
            board = self._ask(caller.get, "/api/v1/competitions/toxicity/leaderboard")
            if board.status != 200:
                self.broken.append(board)

    def _ask(self, request, *arguments, **options):
        """Send a request; if the connection is lost before the response, retry over a new one."""
        try:
            return request(*arguments, **options)
        except ConnectionError:
            return request(*arguments, **options)


@pytest.fixture
def traffic(service, web, make_token, predictions_csv):
    service.competition(max_pending_submissions=100_000)
    return Traffic(web, [make_token(name) for name in ("ada", "bob")], predictions_csv)


@on_sqlite
@pytest.mark.long
def test_web_servers_are_replaced_under_traffic_and_pending_uploads_complete(
    service, web, traffic, make_token, predictions_csv, all_is_well
):
    old = web.start()
    content = predictions_csv(seed=999)
    with half_sent(web, make_token("eve"), content) as finish, traffic:
        traffic.wait_for_more()
        web.start()
        process = psutil.Process(old.process.pid)
        old.request_stop()
        time.sleep(0.5)
        # The server waits for the upload in progress.
        assert process.is_running()
        traffic.sent[finish()] = content
        process.wait(HANG_SECONDS)
        traffic.wait_for_more()
        web.start()
        web.stop(web.children[1])
        traffic.wait_for_more()
    assert traffic.broken == []
    all_is_well(sent=traffic.sent)


@contextmanager
def half_sent(web, token, content):
    """Send half of an upload; yield a function that sends the rest and returns the submission's id."""
    body = form(content)
    head = (
        "POST /api/v1/competitions/toxicity/submissions HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: multipart/form-data; boundary={BOUNDARY}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    ).encode()
    with socket.create_connection(web.address, timeout=HANG_SECONDS) as connection:
        connection.sendall(head + body[: len(body) // 2])

        def finish() -> int:
            connection.sendall(body[len(body) // 2 :])
            answer = everything(connection)
            assert answer.startswith(b"HTTP/1.1 201 "), answer
            return int(answer.partition(b'"id":')[2].split(b",")[0])

        yield finish


@on_sqlite
def test_worker_ignores_messages_of_another_release(
    service, make_settings, valkey, processes, eventually, watch
):
    settings = make_settings(broker_url=SecretStr(valkey.url), sweep_after_seconds=0)
    competition = service.competition()
    service.submit(competition, seed=0)
    worker = processes.worker(settings)
    # A worker requests all waiting jobs once, when it starts. This has already happened, so from now on it
    # depends on messages.
    eventually(lambda: watch.states() == [JobState.DONE])
    strange, ordinary = (service.submit(competition, seed=seed) for seed in (1, 2))
    with broker.create_app(settings) as app:
        app.send_task("fairboard.of_another_release", [1], ignore_result=True)
        app.send_task(broker.TASK, strange.job_ids, {"colour": "red"}, ignore_result=True)
        app.send_task(broker.TASK, ordinary.job_ids, ignore_result=True)
    eventually(lambda: watch.states() == [JobState.DONE, JobState.WAITING, JobState.DONE])
    assert worker.poll() is None
    processes.sweeper(settings)  # The sweeper needs no messages.
    eventually(watch.all_scored)
    assert watch.attempts() == [1, 1, 1]
