"""Broker faults: outages, flushes, restarts, duplicate messages."""

import psutil
import pytest
from pydantic import SecretStr

from grader.worker.broker import QUEUE, Hints

# Each test takes seconds, so tests that do not depend on the database run on only one.
on_postgresql = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


@pytest.fixture
def settings(make_settings, valkey):
    return make_settings(broker_url=SecretStr(valkey.url), sweep_after_seconds=0)


@on_postgresql
def test_job_delivered_fifty_times_is_scored_once(service, processes, eventually, watch, valkey):
    accepted = service.submit(service.competition())
    hints = Hints(service.settings)
    hints.send(list(accepted.job_ids) * 50)
    worker = processes.worker(service.settings, concurrency=2)
    eventually(lambda: watch.all_scored() and not valkey.client().llen(QUEUE))
    limit = service.settings.scoring_memory_mb << 20
    scoring = [process for process in psutil.Process(worker.pid).children() if process.is_running()]
    assert [process.rlimit(psutil.RLIMIT_AS)[0] for process in scoring] == [limit, limit]
    assert watch.score_count() == 2
    assert watch.attempts() == [1]
