"""Waiting requests on real servers: shutdown without delay, free slots after disconnections."""

import signal
import threading
from typing import Any

import psutil
import pytest

from tests.fixtures.patience import eventually
from tests.fixtures.web import Web

# These tests concern the server, so one database is sufficient.
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def test_reloading_server_answers_waiting_requests(service, web: Web, make_token):
    accepted = service.submit(service.competition(), user="ada")
    child = web.start("--workers", "1")
    answers: list[Any] = []
    path = f"/api/v1/submissions/{accepted.submission.id}?wait=60"
    caller = web.caller(make_token())
    thread = threading.Thread(target=lambda: answers.append(caller.get(path)))
    thread.start()
    (worker,) = web.workers(child)
    eventually(lambda: connections_of(worker), "the waiting request")
    psutil.Process(child.pid).send_signal(signal.SIGHUP)
    thread.join()
    assert (answers[0].status, answers[0].data["status"]) == (200, "pending")
    eventually(
        lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE, "the end of the worker"
    )
    web.stop(child)


def connections_of(process: psutil.Process) -> list[Any]:
    return [each for each in process.net_connections() if each.status == psutil.CONN_ESTABLISHED]
