"""Crashes, stalls, repetitions and memory exhaustion in scoring: one result per file."""

import psutil
import pytest
from pydantic import SecretStr
from sqlalchemy import update

from grader.models import JobState, ScoringJob, SubmissionStatus
from grader.worker.scorer import Scorer

on_postgresql = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
SCORE_ONE = (
    "import sys; from grader.settings import load; from grader.worker.scorer import Scorer; "
    "Scorer.of(load()).run(int(sys.argv[1]))"
)
POISON = """
import ctypes, grader.scored_files as scored_files

READ = scored_files.read_submission

def read_submission(data, row_ids, **options):
    if data.endswith(b"# memory"):
        bytearray(64 << 30)
    if data.endswith(b"# segfault"):
        ctypes.string_at(0)
    while data.endswith(b"# loop"):
        pass
    return READ(data, row_ids, **options)

scored_files.read_submission = read_submission
"""


@pytest.fixture
def settings(make_settings, valkey):
    """Settings with which a sweeper claims free jobs immediately."""
    return make_settings(broker_url=SecretStr(valkey.url), sweep_after_seconds=0)


@pytest.fixture
def poison(tmp_path):
    """Environment of processes that crash or hang on a file that ends with a marker."""
    (tmp_path / "sitecustomize.py").write_text(POISON)
    return {"PYTHONPATH": str(tmp_path)}


def children_of(worker):
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
def test_job_is_scored_after_a_crash_at_any_step(
    service, processes, watch, all_is_well, point, state, attempts
):
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
@pytest.mark.long
def test_redelivered_message_does_nothing_if_its_worker_died_after_the_commit(
    service, processes, eventually, watch, all_is_well, valkey, hint
):
    accepted = service.submit(service.competition())
    [job_id] = accepted.job_ids
    worker = processes.worker(service.settings, FAIRBOARD_CRASH_AT="record.after_commit")
    hint(job_id)
    eventually(lambda: watch.states() == [JobState.DONE])
    hint(*[job_id] * 20)
    eventually(lambda: not valkey.client().exists("fairboard.scoring", "unacked"))
    assert worker.poll() is None
    assert (watch.attempts(), watch.score_count()) == ([1], 2)
    all_is_well(accepted)


@on_sqlite
def test_job_of_a_killed_child_waits_for_its_lease_and_the_worker_continues(
    service, processes, snag, eventually, watch, all_is_well, hint
):
    competition = service.competition()
    accepted = service.submit(competition)
    caught = snag(accepted)
    worker = processes.worker(service.settings)
    hint(*accepted.job_ids)
    eventually(caught.holds)
    [child] = children_of(worker)
    child.kill()
    caught.restore()
    another = service.submit(competition, seed=8)
    hint(*another.job_ids)
    eventually(lambda: watch.states() == [JobState.CLAIMED, JobState.DONE])
    watch.let_leases_run_out()
    hint(*accepted.job_ids)
    eventually(watch.all_scored)
    assert watch.attempts() == [2, 1]
    all_is_well(accepted, another)


@on_sqlite
def test_files_that_exhaust_memory_or_time_or_crash_the_process_fail_in_isolation(
    service, make_settings, processes, poison, eventually, watch, all_is_well, predictions_csv
):
    settings = make_settings(
        scoring_time_limit_seconds=2,
        sweep_after_seconds=0,
    )
    competition = service.competition(max_daily_submissions=8)
    kinds = (b"# memory", b"# segfault", b"# loop")
    poisoned = [service.submit(competition, csv=predictions_csv(seed=50) + kind) for kind in kinds]
    with service.database.write() as session:  # As if each file had already been tried many times.
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
    for seed in range(30, 33):  # The failed files no longer use slots.
        service.submit(competition, seed=seed)
