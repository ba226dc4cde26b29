"""Scoring that dies at any step, stalls, comes twice or eats its process: every file has one result."""

import contextlib
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import SecretStr
from sqlalchemy import update

from grader.models import JobState, ScoringJob, SubmissionStatus
from grader.settings import Settings
from grader.worker.hints import Hints
from grader.worker.scoring.scorer import Scorer
from tests.fixtures.patience import HANG_SECONDS

LEASE = timedelta(seconds=40)
on_postgresql = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
SCORE_ONE = (
    "import sys; from grader.settings import load; from grader.worker.scoring.scorer import Scorer; "
    "Scorer.of(load()).run(int(sys.argv[1]))"
)
POISON = """
import ctypes, grader.worker.scoring.calculator as calculator

READ = calculator.read_submission

def read_submission(data, row_ids, **options):
    if data.endswith(b"# memory"):
        bytearray(64 << 30)
    if data.endswith(b"# segfault"):
        ctypes.string_at(0)
    while data.endswith(b"# loop"):
        pass
    return READ(data, row_ids, **options)

calculator.read_submission = read_submission
"""


@pytest.fixture
def settings(make_settings: Callable[..., Settings], valkey: Any) -> Settings:
    """Settings under which a sweeper takes at once whatever is free."""
    return make_settings(broker_url=SecretStr(valkey.url), sweep_interval_seconds=0.2, sweep_after_seconds=0)


@pytest.fixture
def poison(tmp_path: Path) -> dict[str, str]:
    """The environment of processes in which some files are poison: so they are marked at their ends."""
    (tmp_path / "sitecustomize.py").write_text(POISON)
    return {"PYTHONPATH": str(tmp_path)}


@pytest.fixture
def all_is_well(service: Any, check_invariants: Any) -> Callable[..., None]:
    """A function that checks the invariants, given everything that was accepted."""

    def check(*accepted: Any, **seen: Any) -> None:
        acknowledged = {each.submission.id: each.submission.sha256 for each in accepted}
        check_invariants(service.database, service.storage, acknowledged=acknowledged, **seen)

    return check


def hint(service: Any, *job_ids: int) -> None:
    hints = Hints(service.settings)
    hints.send(job_ids)
    hints.close()


def children_of(worker: Any) -> list[psutil.Process]:
    return psutil.Process(worker.pid).children()


@pytest.mark.parametrize(
    ("point", "state", "attempts"),
    [
        ("claim.before_commit", JobState.WAITING, 1),
        ("claim.after_commit", JobState.CLAIMED, 2),
        ("record.before_commit", JobState.CLAIMED, 2),
        ("record.after_commit", JobState.DONE, 1),
    ],
)
@on_sqlite
def test_whoever_dies_at_a_step_of_scoring_is_followed_by_another(
    service: Any, processes: Any, watch: Any, all_is_well: Any, point: str, state: JobState, attempts: int
) -> None:
    accepted = service.submit(service.competition())
    [job_id] = accepted.job_ids
    processes.crash(service.settings, "-c", SCORE_ONE, str(job_id), at=point)
    assert watch.states() == [state]
    assert watch.score_count() == (2 if state is JobState.DONE else 0)
    watch.let_leases_run_out()
    assert Scorer.of(service.settings).run(job_id) is (state is not JobState.DONE)
    assert watch.attempts() == [attempts]
    all_is_well(accepted)


@on_postgresql
def test_a_message_that_comes_again_after_its_worker_died_with_the_result_committed_does_nothing(
    service: Any, processes: Any, eventually: Any, watch: Any, all_is_well: Any, valkey: Any
) -> None:
    accepted = service.submit(service.competition())
    [job_id] = accepted.job_ids
    worker = processes.worker(service.settings, FAIRBOARD_CRASH_AT="record.after_commit")
    hint(service, job_id)
    eventually(lambda: watch.states() == [JobState.DONE])
    hint(service, *[job_id] * 20)
    eventually(lambda: not valkey.client().exists("fairboard.scoring", "unacked"))
    assert worker.poll() is None
    assert (watch.attempts(), watch.score_count()) == ([1], 2)
    all_is_well(accepted)


@on_sqlite
def test_a_killed_child_leaves_its_job_to_its_lease_and_the_worker_goes_on(
    service: Any, processes: Any, snag: Any, eventually: Any, watch: Any, all_is_well: Any
) -> None:
    competition = service.competition()
    accepted = service.submit(competition)
    caught = snag(accepted)
    worker = processes.worker(service.settings)
    hint(service, *accepted.job_ids)
    eventually(caught.holds)
    [child] = children_of(worker)
    child.kill()
    caught.restore()
    another = service.submit(competition, seed=8)
    hint(service, *another.job_ids)
    eventually(lambda: watch.states() == [JobState.CLAIMED, JobState.DONE])
    watch.let_leases_run_out()
    hint(service, *accepted.job_ids)
    eventually(watch.all_scored)
    assert watch.attempts() == [2, 1]
    all_is_well(accepted, another)


@on_sqlite
def test_a_child_ends_with_its_worker(
    service: Any, processes: Any, snag: Any, eventually: Any, watch: Any, all_is_well: Any
) -> None:
    accepted = service.submit(service.competition())
    caught = snag(accepted)
    worker = processes.worker(service.settings)
    hint(service, *accepted.job_ids)
    eventually(caught.holds)
    [child] = children_of(worker)
    worker.kill()
    worker.wait()
    eventually(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
    caught.restore()
    watch.let_leases_run_out()
    service.score(accepted)
    assert (watch.attempts(), watch.score_count()) == ([2], 2)
    all_is_well(accepted)


def test_a_job_that_fifty_take_at_once_is_scored_once(service: Any, watch: Any, all_is_well: Any) -> None:
    accepted = service.submit(service.competition())
    start = threading.Barrier(8)

    def take(_: int) -> bool:
        start.wait(HANG_SECONDS)
        return Scorer(service.database, service.storage, lease=LEASE).run(accepted.job_ids[0])

    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(take, range(48)))
    assert sum(taken) == 1
    assert (watch.attempts(), watch.score_count()) == ([1], 2)
    all_is_well(accepted)


@on_sqlite
def test_files_that_eat_memory_time_or_the_process_fail_alone(
    service: Any,
    make_settings: Any,
    processes: Any,
    poison: dict[str, str],
    eventually: Any,
    watch: Any,
    all_is_well: Any,
    predictions_csv: Callable[..., bytes],
) -> None:
    settings = make_settings(
        scoring_time_limit_seconds=2,
        scoring_lease_seconds=3,
        sweep_interval_seconds=0.2,
        sweep_after_seconds=0,
    )
    competition = service.competition(max_daily_submissions=8)
    kinds = (b"# memory", b"# segfault", b"# loop")
    poisoned = [service.submit(competition, csv=predictions_csv(seed=50) + kind) for kind in kinds]
    with service.database.write() as session:  # as if each had been tried often before
        held = update(ScoringJob).where(ScoringJob.submission_id == poisoned[0].submission.id)
        session.execute(held.values(attempt_count=2, error_count=2))
        for each in poisoned[1:]:
            held = update(ScoringJob).where(ScoringJob.submission_id == each.submission.id)
            session.execute(held.values(attempt_count=9))
    healthy = [service.submit(competition, seed=seed) for seed in range(20, 25)]
    processes.sweeper(settings, **poison)
    eventually(lambda: watch.states() == [JobState.FAILED] * 3 + [JobState.DONE] * 5)
    ended = [service.submission(each) for each in poisoned]
    assert all(each.status is SubmissionStatus.FAILED and each.incident for each in ended)
    assert watch.score_count() == 10
    unhealthy = {each.submission.sha256 for each in poisoned}
    all_is_well(*poisoned, *healthy, unhealthy=unhealthy)
    for seed in range(30, 33):  # the slots of what failed are free again
        service.submit(competition, seed=seed)


@pytest.mark.long
@pytest.mark.parametrize("acks_late", [True, False])
@on_sqlite
def test_two_hundred_kills_at_random_lose_nothing(
    service: Any,
    make_settings: Any,
    valkey: Any,
    processes: Any,
    eventually: Any,
    watch: Any,
    all_is_well: Any,
    acks_late: bool,
) -> None:
    settings = make_settings(
        broker_url=SecretStr(valkey.url),
        scoring_time_limit_seconds=5,
        scoring_lease_seconds=6,
        sweep_interval_seconds=0.2,
        sweep_after_seconds=1,
    )
    competition = service.competition()
    chance = random.Random(7)
    hints = Hints(settings)
    starts = [celery_worker, celery_worker, sweeper]
    runs = [start(processes, settings, acks_late=acks_late) for start in starts]
    accepted = []
    for number in range(200):
        accepted += [service.submit(competition, seed=3 * number + more) for more in range(3)]
        hints.send([job_id for each in accepted[-3:] for job_id in each.job_ids])
        place = chance.randrange(len(runs))
        children = psutil.Process(runs[place].pid).children(recursive=True)
        if children and chance.random() < 0.8:
            with contextlib.suppress(psutil.NoSuchProcess):
                chance.choice(children).kill()
        else:
            if chance.random() < 0.5:
                runs[place].kill()  # and its children are to end by themselves
                runs[place].wait()
            else:
                processes.kill(runs[place])
            runs[place] = starts[place](processes, settings, acks_late=acks_late)
        time.sleep(chance.random() / 2)
    hints.close()
    eventually(watch.all_scored)
    all_is_well(*accepted)


def celery_worker(processes: Any, settings: Settings, *, acks_late: bool) -> Any:
    program = (
        "from grader.worker.app import celery_app as app\n"
        f"app.conf.task_acks_late = {acks_late}\n"
        "app.worker_main(['worker', '--concurrency', '2', '--loglevel', 'ERROR', '--without-mingle'])"
    )
    return processes.python(settings, "-c", program)


def sweeper(processes: Any, settings: Settings, *, acks_late: bool) -> Any:
    return processes.sweeper(settings)
