"""Broker faults: outages, flushes, restarts, duplicate messages."""

from collections.abc import Callable

import psutil
import pytest
from pydantic import SecretStr

from grader.models import JobState, SubmissionStatus
from grader.settings import Settings
from grader.worker.broker import QUEUE, Hints

# Each test takes seconds, so tests that do not depend on the database run on only one.
on_postgresql = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def settings(make_settings: Callable[..., Settings], valkey) -> Settings:
    return make_settings(broker_url=SecretStr(valkey.url), sweep_after_seconds=0)


@on_postgresql
@pytest.mark.long
def test_worker_survives_a_broker_restart_and_flushed_hints_are_swept(
    service, valkey, processes, eventually, watch
):
    competition = service.competition()
    flushed = service.submit(competition)
    hints = Hints(service.settings)
    hints.send(flushed.job_ids)
    valkey.client().flushall()
    worker = processes.worker(service.settings)
    first = service.submit(competition, seed=11)
    hints.send(first.job_ids)
    # A worker requests all waiting jobs when it starts.
    eventually(lambda: watch.states() == [JobState.DONE, JobState.DONE])
    valkey.kill()
    service.submit(competition, seed=12)
    valkey.start()
    last = service.submit(competition, seed=13)

    def hinted_again() -> bool:
        hints.send(last.job_ids)  # The first hints after a restart may be lost.
        return watch.states()[3] is JobState.DONE

    eventually(hinted_again)
    assert worker.poll() is None
    processes.sweeper(service.settings)
    eventually(watch.all_scored)
    assert watch.score_count() == 8


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


@on_sqlite
@pytest.mark.long
def test_worker_reconnects_after_broken_connections_and_the_sweeper_covers_silent_ones(
    service,
    valkey,
    wire,
    make_settings,
    make_app,
    processes,
    eventually,
    watch,
):
    near_end = SecretStr(f"redis+socket://{valkey.folder / 'wire.sock'}")
    settings = service.settings.model_copy(update={"broker_url": near_end})
    competition = service.competition()
    hints = Hints(service.settings)  # The web process connects to the broker directly, not through the proxy.
    worker = processes.worker(settings)
    for seed in range(2):
        accepted = service.submit(competition, seed=seed)
        hints.send(accepted.job_ids)
        eventually(lambda accepted=accepted: is_scored(service, accepted, hints))
        wire.reset()
    wire.fall_silent()
    deaf = service.submit(competition, seed=2)
    hints.send(deaf.job_ids)
    site = make_app(service.settings).test_client()
    health = site.get("/healthz").json
    assert health["queue"] == "ok" and health["oldest_pending_seconds"] > 60
    processes.sweeper(service.settings)
    eventually(watch.all_scored)
    assert worker.poll() is None
    assert watch.score_count() == 6
    assert site.get("/healthz").json["oldest_pending_seconds"] is None


def is_scored(service, accepted, hints: Hints) -> bool:
    """Send another hint, because a broken connection may lose one; return whether the file is scored."""
    hints.send(accepted.job_ids)
    return bool(service.submission(accepted).status is SubmissionStatus.SCORED)


@on_postgresql
@pytest.mark.long
def test_several_sweepers_score_every_job_once(service, processes, eventually, watch, valkey):
    competition, sweepers, files = service.competition(), 3, 12
    for number in range(files):
        service.submit(competition, seed=number, user=f"user{number % 4}")
    for _ in range(sweepers):
        processes.sweeper(service.settings)
    eventually(watch.all_scored)
    assert watch.score_count() == 2 * files
    assert watch.attempts() == [1] * files
    # Sweepers score the jobs that they find, without sending messages.
    assert valkey.client().dbsize() == 0
