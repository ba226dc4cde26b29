"""Hints to workers, which delay no request for long."""

import os
import signal
import subprocess
import sys
import time

import pytest
from pydantic import SecretStr

from grader.settings import Settings
from grader.worker import broker
from grader.worker.broker import BATCHES, QUEUE, Hints
from tests.fixtures.patience import HANG_SECONDS

SEND_AND_FORK = """
import os, sys
from grader.settings import load
from grader.worker.broker import Hints
hints = Hints(load())
hints.send([1])
child = os.fork()
hints.send([2])
if child:
    sys.exit(os.waitpid(child, 0)[1])
os._exit(0)
"""


@pytest.fixture
def broker_settings(valkey):
    return Settings(broker_url=SecretStr(valkey.url))


@pytest.mark.parametrize("is_suspended", [False, True])
def test_unavailable_broker_delays_a_request_once_and_hints_resume_later(
    valkey, broker_settings, monkeypatch, is_suspended
):
    hints = Hints(broker_settings)
    hints.send([1])
    os.kill(valkey.process.pid, signal.SIGSTOP) if is_suspended else valkey.kill()
    start = time.monotonic()
    hints.send(range(100))
    assert time.monotonic() - start < 10 * broker.HINT_TIMEOUT_SECONDS
    os.kill(valkey.process.pid, signal.SIGCONT) if is_suspended else valkey.start()
    before = valkey.client().llen(QUEUE)
    hints.send([2])
    assert valkey.client().llen(QUEUE) == before
    monkeypatch.setattr(hints, "_silent_until", 0.0)
    hints.send([3, 4])
    assert valkey.client().llen(QUEUE) == before + 2


def test_forked_process_sends_its_own_hints(valkey, broker_settings):
    environment = os.environ | broker_settings.environment()
    subprocess.run([sys.executable, "-c", SEND_AND_FORK], env=environment, check=True, timeout=HANG_SECONDS)
    assert valkey.client().llen(QUEUE) == 3


def test_at_most_one_message_for_a_batch_is_waiting(valkey, broker_settings):
    app = broker.create_app(broker_settings)
    assert [broker.ask_for_batch(app) for _ in range(3)] == [True, False, False]
    assert (valkey.client().llen(BATCHES), valkey.client().llen(QUEUE)) == (1, 0)
    assert sorted([BATCHES, QUEUE])[0] == QUEUE  # Workers take its messages first.
