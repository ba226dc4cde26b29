"""Waiting requests on real servers: immediate events, and shutdown without delay."""

import http.client
import signal
import threading
from typing import Any

import psutil
import pytest

from tests.fixtures.patience import eventually
from tests.fixtures.web import Web

# These tests concern the server, so one database is sufficient.
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
EVENTS = "/api/v1/competitions/toxicity/events"


def open_stream(web: Web, token: str) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    """Open a stream of events and return the response."""
    connection = http.client.HTTPConnection(*web.address)
    connection.request("GET", EVENTS, headers={"Authorization": f"Bearer {token}"})
    return connection, connection.getresponse()


def read_event(answer: http.client.HTTPResponse, name: str):
    """Read to the end of the next event with this name."""
    while (line := answer.readline()) != f"event: {name}\n".encode():
        assert line, f"The stream ended before the event '{name}'."
    while (line := answer.readline()) != b"\n":
        assert line, f"The stream ended within the event '{name}'."


def test_events_arrive_one_by_one_during_the_stream(service, web: Web, make_token):
    competition = service.competition()
    web.start("--workers", "1")
    accepted = service.submit(competition, user="ada")
    connection, answer = open_stream(web, make_token())
    read_event(answer, "submission")
    read_event(answer, "board")
    service.now = service.now.replace(year=2999)  # The fixed time of the other tests is in the past.
    service.score(accepted)
    read_event(answer, "board")
    connection.close()


def test_stopping_or_reloading_server_ends_streams_cleanly(service, web: Web, make_token):
    competition = service.competition()
    accepted = service.submit(competition, user="ada")
    child = web.start("--workers", "1")
    token = make_token()
    connection, answer = open_stream(web, token)
    read_event(answer, "board")
    waited: list[Any] = []
    path = f"/api/v1/submissions/{accepted.submission.id}?wait=60"
    thread = threading.Thread(target=lambda: waited.append(web.caller(token).get(path)))
    thread.start()
    (worker,) = web.workers(child)
    eventually(lambda: len(connections_of(worker)) >= 2, "the second request")
    psutil.Process(child.pid).send_signal(signal.SIGHUP)
    answer.read()  # This raises IncompleteRead if the worker was killed.
    connection.close()
    thread.join()
    assert (waited[0].status, waited[0].data["status"]) == (200, "pending")
    eventually(
        lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE, "the end of the worker"
    )
    web.stop(child)


def connections_of(process: psutil.Process) -> list[Any]:
    return [each for each in process.net_connections() if each.status == psutil.CONN_ESTABLISHED]


def test_disconnected_client_frees_its_slot(service, web: Web, make_token):
    service.competition()
    web.start("--workers", "1")
    token = make_token()
    streams = [open_stream(web, token) for _ in range(2)]
    assert [answer.status for _, answer in streams] == [200, 200]
    assert status_of_another(web, token) == 503
    for connection, answer in streams:
        answer.close()
        connection.close()
    eventually(lambda: status_of_another(web, token) == 200, "a free slot")


def status_of_another(web: Web, token: str) -> int:
    connection, answer = open_stream(web, token)
    answer.close()
    connection.close()
    return answer.status
