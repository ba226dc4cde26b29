"""Hints: sent in the background, never in anybody's way."""

import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from pydantic import SecretStr

from grader.settings import Settings
from grader.worker.broker import QUEUE
from grader.worker.hints import Hints

AT_ONCE_SECONDS = 0.15

SEND_AND_FORK = """
import os, sys
from grader.settings import load
from grader.worker.hints import Hints
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
def broker_settings(valkey: Any) -> Settings:
    return Settings(broker_url=SecretStr(valkey.url))


def timed_send(hints: Hints, job_ids: list[int]) -> float:
    start = time.monotonic()
    hints.send(job_ids)
    return time.monotonic() - start


def test_hints_arrive_in_the_queue(valkey: Any, broker_settings: Settings) -> None:
    hints = Hints(broker_settings)
    hints.send([1, 2, 3])
    hints.close()
    assert valkey.client().llen(QUEUE) == 3


def test_a_broker_that_is_gone_delays_and_breaks_nothing(valkey: Any, broker_settings: Settings) -> None:
    valkey.kill()
    hints = Hints(broker_settings)
    assert timed_send(hints, list(range(100))) < AT_ONCE_SECONDS
    hints.close()


def test_a_broker_that_hangs_delays_nobody(valkey: Any, broker_settings: Settings) -> None:
    os.kill(valkey.process.pid, signal.SIGSTOP)
    hints = Hints(broker_settings)
    assert timed_send(hints, list(range(100))) < AT_ONCE_SECONDS
    start = time.monotonic()
    hints.close(timeout_seconds=5)
    assert time.monotonic() - start < 2  # one timeout and no retry, not one for each of a hundred hints
    os.kill(valkey.process.pid, signal.SIGCONT)


def test_hints_that_do_not_fit_are_dropped(valkey: Any, broker_settings: Settings) -> None:
    os.kill(valkey.process.pid, signal.SIGSTOP)
    hints = Hints(broker_settings, max_waiting=2)
    assert timed_send(hints, list(range(1000))) < AT_ONCE_SECONDS
    os.kill(valkey.process.pid, signal.SIGCONT)
    hints.close()
    assert valkey.client().llen(QUEUE) <= 3


def test_hints_go_on_when_the_broker_is_back(valkey: Any, broker_settings: Settings) -> None:
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


def test_without_a_broker_hints_are_silently_not_sent() -> None:
    threads = threading.active_count()
    hints = Hints(Settings(broker_url=None))
    hints.send([1])
    assert threading.active_count() == threads
    hints.close()


def test_a_forked_process_sends_its_own_hints(valkey: Any, broker_settings: Settings) -> None:
    environment = os.environ | broker_settings.environment()
    subprocess.run([sys.executable, "-c", SEND_AND_FORK], env=environment, check=True, timeout=60)
    assert valkey.client().llen(QUEUE) == 4
