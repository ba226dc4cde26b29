"""Hints to workers, sent in the background without delaying requests."""

import os
import signal
import subprocess
import sys
import threading

import pytest
from celery import Celery
from pydantic import SecretStr
from redis.connection import UnixDomainSocketConnection

from grader.settings import Settings
from grader.worker.broker import QUEUE, Hints
from tests.fixtures.patience import HANG_SECONDS

SEND_AND_FORK = """
import os, sys
from grader.settings import load
from grader.worker.broker import Hints
hints = Hints(load())
hints.send([1])
hints.close()
hints.send([2])
child = os.fork()
hints.send([3])
hints.close()
if child:
    sys.exit(os.waitpid(child, 0)[1])
os._exit(0)
"""


@pytest.fixture
def broker_settings(valkey) -> Settings:
    return Settings(broker_url=SecretStr(valkey.url))


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of the thread that attempted to send each hint."""
    threads: list[str] = []
    send_task = Celery.send_task

    def send(*arguments, **options):
        threads.append(threading.current_thread().name)
        return send_task(*arguments, **options)

    monkeypatch.setattr(Celery, "send_task", send)
    return threads


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every attempted connection to the broker."""
    tried: list[object] = []
    connect = UnixDomainSocketConnection._connect

    def try_to(connection):
        tried.append(connection)
        return connect(connection)

    monkeypatch.setattr(UnixDomainSocketConnection, "_connect", try_to)
    return tried


def test_hints_arrive_in_the_queue(valkey, broker_settings: Settings):
    hints = Hints(broker_settings)
    hints.send([1, 2, 3])
    hints.close()
    assert valkey.client().llen(QUEUE) == 3


def test_unavailable_broker_delays_and_breaks_nothing(valkey, broker_settings: Settings, tries: list[str]):
    valkey.kill()
    hints = Hints(broker_settings)
    hints.send(list(range(100)))
    hints.close(timeout_seconds=HANG_SECONDS)
    assert set(tries) == {"hints"}


def test_unresponsive_broker_delays_nothing(
    valkey, broker_settings: Settings, tries: list[str], connections: list[object]
):
    os.kill(valkey.process.pid, signal.SIGSTOP)
    hints = Hints(broker_settings)
    hints.send(list(range(100)))
    hints.close(timeout_seconds=HANG_SECONDS)
    assert set(tries) == {"hints"}
    # Waiting hints are dropped together: a hundred hints do not cause a hundred timeouts.
    assert len(tries) < 50
    assert len(connections) == len(tries)  # There are no retries.
    os.kill(valkey.process.pid, signal.SIGCONT)


def test_excess_hints_are_dropped(valkey, broker_settings: Settings):
    os.kill(valkey.process.pid, signal.SIGSTOP)
    hints = Hints(broker_settings, max_waiting=2)
    hints.send(list(range(1000)))
    os.kill(valkey.process.pid, signal.SIGCONT)
    hints.close()
    assert valkey.client().llen(QUEUE) <= 3


def test_hints_resume_when_the_broker_returns(valkey, broker_settings: Settings):
    hints = Hints(broker_settings)
    hints.send([1])
    hints.close()
    valkey.kill()
    hints.send([2])
    hints.close()
    valkey.start()
    hints.send([3])
    hints.close()
    assert valkey.client().llen(QUEUE) == 1


def test_hints_without_a_broker_are_silently_dropped():
    threads = threading.active_count()
    hints = Hints(Settings(broker_url=None))
    hints.send([1])
    assert threading.active_count() == threads
    hints.close()


def test_forked_process_sends_its_own_hints(valkey, broker_settings: Settings):
    environment = os.environ | broker_settings.environment()
    subprocess.run([sys.executable, "-c", SEND_AND_FORK], env=environment, check=True, timeout=HANG_SECONDS)
    assert valkey.client().llen(QUEUE) == 4
