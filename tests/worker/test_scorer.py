"""Scoring of single jobs in this process: logged and hidden errors, limited retries."""

import logging
import math
from datetime import UTC, datetime, timedelta

import numpy as np
import psycopg
import pytest
from sqlalchemy import select, update

from grader.models import (
    STANDING_ORDER,
    JobState,
    Score,
    ScoringJob,
    ScoringVersion,
    Split,
    Standing,
    SubmissionStatus,
)
from grader.services.site import leased_rows
from grader.services.submissions import scoring_jobs as jobs
from grader.services.submissions.scoring_jobs import Claim
from grader.worker.scorer import Scorer
from tests.fixtures.service import write_predictions, write_solution

LEASE = timedelta(seconds=40)


def test_internal_exception_is_logged_as_an_incident_and_retried_later(service, caplog):
    accepted = service.submit(service.competition())
    service.storage.delete(accepted.submission.sha256)
    scorer = Scorer(service.database, service.storage, lease=LEASE)
    with caplog.at_level(logging.ERROR):
        assert scorer.run(accepted.job_ids[0])
    assert "Incident" in caplog.text and "BlobMissing" in caplog.text
    with service.database.read() as session:
        job = session.scalars(select(ScoringJob)).one()
    assert (job.state, job.error_count) == (JobState.WAITING, 1)
    assert job.available_at > service.now
    assert not scorer.run(accepted.job_ids[0])
    assert service.submission(accepted).status is SubmissionStatus.PENDING


def test_job_waits_without_a_failed_attempt_while_storage_is_unreadable(service, caplog):
    service.now = datetime.now(UTC)
    accepted = service.submit(service.competition())
    folder = service.settings.data_dir / "blobs"
    away = folder.rename(folder.with_name("unmounted"))
    scorer = Scorer(service.database, service.storage, lease=LEASE)
    for _ in range(5):
        with service.database.write() as session:
            session.execute(update(ScoringJob).values(available_at=service.now))
        assert scorer.run(accepted.job_ids[0])
    assert "The storage or the sandbox is unavailable" in caplog.text
    with service.database.read() as session:
        job = session.scalars(select(ScoringJob)).one()
    assert (job.state, job.attempt_count, job.error_count) == (JobState.WAITING, 0, 0)
    assert job.available_at > service.now
    assert not scorer.run(accepted.job_ids[0])
    away.rename(folder)
    with service.database.write() as session:
        session.execute(update(ScoringJob).values(available_at=service.now))
    assert scorer.run(accepted.job_ids[0])
    assert service.submission(accepted).status is SubmissionStatus.SCORED


def test_score_is_recorded_in_the_same_attempt_after_a_database_error(service, monkeypatch):
    accepted = service.submit(service.competition())
    record, calls = jobs.record, []

    def restart_once(*args, **kwargs) -> bool:
        recorded = record(*args, **kwargs)
        calls.append(recorded)
        if len(calls) == 1:
            raise psycopg.OperationalError("The server was restarted.")
        return recorded

    monkeypatch.setattr(jobs, "record", restart_once)
    assert Scorer(service.database, service.storage, lease=LEASE).run(accepted.job_ids[0])
    assert calls == [True, True]
    assert service.submission(accepted).status is SubmissionStatus.SCORED
    with service.database.read() as session:
        assert session.scalars(select(ScoringJob.attempt_count)).one() == 1


def test_job_finished_by_another_process_is_not_recorded_twice(service, monkeypatch):
    accepted = service.submit(service.competition())
    slow = Scorer(service.database, service.storage, lease=timedelta(seconds=0))
    quick = Scorer(service.database, service.storage, lease=LEASE)
    compute = slow._calculator.outcome

    def overtaken(claim: Claim):
        assert quick.run(accepted.job_ids[0])
        return compute(claim)

    monkeypatch.setattr(slow._calculator, "outcome", overtaken)
    assert not slow.run(accepted.job_ids[0])
    assert service.submission(accepted).status is SubmissionStatus.SCORED


def test_every_final_job_state_has_a_submission_status():
    assert set(jobs.STATUS_OF) == set(JobState) - set(leased_rows.OPEN_STATES)


def test_scores_of_any_metric_are_stored_and_ranked_in_its_direction(service):
    competition = service.competition()
    with service.database.write() as session:
        version = session.get_one(ScoringVersion, competition.live_scoring_version_id)
        version.metric_settings = {"name": "rmse"}
    files = [
        service.submit(competition, user=name, skill=skill, after=timedelta(minutes=minutes))
        for minutes, (name, skill) in enumerate([("ada", 0.0), ("bob", 0.5), ("eva", 0.2)])
    ]
    service.score(*files)
    labels = np.array([line.split(",")[1] == "1" for line in write_solution().decode().split()[1:]])
    public = np.array([line.endswith("Public") for line in write_solution().decode().split()[1:]])
    with service.database.read() as session:
        scores = session.scalars(
            select(Score).where(Score.split == Split.PUBLIC).order_by(Score.submission_id)
        ).all()
        for score, skill in zip(scores, (0.0, 0.5, 0.2), strict=True):
            lines = write_predictions(skill=skill).decode().split()[1:]
            errors = np.array([float(line.split(",")[1]) for line in lines]) - labels
            assert score.score == pytest.approx(np.sqrt(np.mean(errors[public] ** 2)), rel=1e-14)
            assert (score.terms, score.groups) == ({}, {})
            assert float.fromhex(score.evidence["sums"][0]) == math.fsum(errors[public] ** 2)
        by_score = sorted(scores, key=lambda each: each.score)
        ranked = session.scalars(
            select(Standing).where(Standing.split == Split.PUBLIC).order_by(*STANDING_ORDER)
        )
        shown = [(each.submission_id, version.scale.text(each.score_units)) for each in ranked]
        assert shown == [(each.submission_id, f"{each.score:.5f}") for each in by_score]
