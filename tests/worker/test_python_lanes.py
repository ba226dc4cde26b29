"""Scoring with metrics written in Python: outcomes, and other competitions next to an endless loop."""

import threading
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import select

from grader.models import JobState, Score, ScoringJob, Split, Submission, SubmissionStatus
from grader.sandbox import CallLimits, SandboxUnavailable, layers
from grader.services.competitions import lookup
from grader.services.solutions.truth import Truth
from grader.services.submissions import batches, retries
from grader.services.submissions import scoring_jobs as jobs
from grader.worker import calculator
from grader.worker.sweeper import Sweeper
from tests.fixtures.patience import eventually
from tests.fixtures.python_metrics import LEAKY, LOOP, MEAN, use_python_metric
from tests.fixtures.service import write_predictions

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
pytestmark = [on_sqlite, pytest.mark.skipif(bool(layers().refusal), reason=str(layers().refusal))]


def job_of(service, accepted) -> ScoringJob:
    with service.database.read() as session:
        return session.get_one(ScoringJob, accepted.job_ids[0])


def test_file_is_scored_in_the_sandbox(service):
    service.score(service.submit(use_python_metric(service, service.competition(), MEAN)))
    with service.database.read() as session:
        scores = {each.split: each for each in session.scalars(select(Score))}
        solution = lookup.live(lookup.get(session, slug="toxicity")).solution
    truth = Truth.from_bytes(service.storage.read(solution.prepared_sha256))
    assert set(scores) == set(Split)
    assert 0 < scores[Split.PUBLIC].score < np.mean(truth.labels[truth.rows(Split.PUBLIC)])
    assert scores[Split.PUBLIC].evidence["sandbox"] == list(layers().in_force)
    assert "numpy" in scores[Split.PUBLIC].evidence["packages"]


def test_message_of_the_checker_rejects_the_file_and_uses_no_slot(service):
    competition = use_python_metric(service, service.competition(), MEAN)
    csv = write_predictions()
    head, row, rest = csv.decode().split("\n", 2)
    accepted = service.submit(competition, csv=f"{head}\n{row.split(',')[0]},2.0\n{rest}".encode())
    service.score(accepted)
    submission = service.submission(accepted)
    assert (submission.status, submission.slot_day) == (SubmissionStatus.REJECTED, None)
    (problem,) = submission.problems
    assert (problem["code"], problem["message"]) == ("metric_refuses", "Predictions must not exceed 1.5.")


def test_failed_metric_uses_a_slot_is_not_retried_and_shows_its_output_only_to_organizers(service):
    competition = service.competition()
    with service.database.read() as session:
        solution = lookup.live(lookup.get(session, slug=competition.slug)).solution
    truth = Truth.from_bytes(service.storage.read(solution.prepared_sha256))
    labels = truth.labels[truth.rows(Split.PUBLIC)][:8].tolist()
    accepted = service.submit(use_python_metric(service, competition, LEAKY.format(labels=labels)))
    service.score(accepted)
    submission = service.submission(accepted)
    assert submission.status is SubmissionStatus.FAILED
    assert (submission.slot_day, submission.incident) == (service.now.date(), None)
    assert [each["message"] for each in submission.problems] == ["The metric raises an error."]
    assert "labels" not in str(submission.problems)
    with service.database.read() as session:
        assert f"labels: {labels}" in jobs.metric_log(session, session.get_one(Submission, submission.id))
        assert not retries.is_retry_due(session, now=service.now + timedelta(hours=2))


def test_checker_and_both_splits_share_one_time_limit(service):
    slow = MEAN.replace(
        '    if (submission["pred',
        "    import time\n    end = time.process_time() + 0.8\n"
        '    while time.process_time() < end:\n        pass\n    if (submission["pred',
    )
    competition = use_python_metric(service, service.competition(), slow, limits=CallLimits(seconds=2.0))
    accepted = service.submit(competition)
    service.score(accepted)
    submission = service.submission(accepted)
    assert submission.status is SubmissionStatus.FAILED
    assert submission.problems[0]["message"] == "The metric takes too long."


def test_jobs_wait_while_no_sandbox_is_available(service, monkeypatch):
    def refuse(*_):
        raise SandboxUnavailable("there is no seccomp")

    accepted = service.submit(use_python_metric(service, service.competition(), MEAN))
    monkeypatch.setattr(calculator.sandbox(), "begin", refuse)
    service.score(accepted)
    assert job_of(service, accepted).state is JobState.WAITING


def test_only_the_lanes_of_python_metrics_claim_their_jobs(service, prepare_version):
    plain = service.submit(service.competition("plain"))
    other = use_python_metric(service, service.competition("python"), MEAN)
    accepted = service.submit(other)
    with service.database.write() as session:
        everything = {"session": session, "lease": timedelta(seconds=40), "now": service.now}
        found = jobs.waiting(session, older_than=timedelta(), limit=9, now=service.now)
        assert found == list(plain.job_ids)
        assert jobs.claim(job_id=accepted.job_ids[0], is_python=False, **everything) is None
        assert jobs.claim(job_id=plain.job_ids[0], is_python=True, **everything) is None
        assert jobs.claim(job_id=plain.job_ids[0], is_python=False, **everything) is not None
    service.score(accepted)
    prepare_version(other)
    with service.database.read() as session:
        assert batches.unattended(session, now=service.now) is None


@pytest.mark.long
def test_endless_loop_delays_no_other_competition(service):
    """The sweeper alone scores here, as on a site without a worker."""
    service.now = datetime.now(UTC)
    loops = use_python_metric(service, service.competition("loops"), LOOP, limits=CallLimits(seconds=100.0))
    fast = use_python_metric(service, service.competition("fast"), MEAN)
    plain = service.competition("plain")
    looping = [service.submit(loops, user=name, seed=place) for place, name in enumerate(("ada", "bob"))]
    settings = service.settings.model_copy(
        update={"sweep_interval_seconds": 0.1, "sweep_after_seconds": 0.0, "scoring_processes": 1}
    )
    stop = threading.Event()
    sweeper = threading.Thread(target=Sweeper(settings, service.database).run, args=(stop,))
    sweeper.start()
    try:
        eventually(lambda: job_of(service, looping[0]).state is JobState.CLAIMED, "the loop")
        others = [service.submit(each, user="eve", seed=seed) for seed in range(3) for each in (fast, plain)]
        eventually(
            lambda: all(service.submission(each).status is SubmissionStatus.SCORED for each in others),
            "the scores of other competitions",
        )
        assert [job_of(service, each).state for each in looping] == [JobState.CLAIMED, JobState.WAITING]
    finally:
        stop.set()
        sweeper.join()
