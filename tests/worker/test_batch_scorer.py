"""Batch scoring in this process: equal scores from cached ranks and files, no rereads."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from grader.models import JobState, Score, ScoringJob, ScoringVersion, ScoringVersionState, Submission
from grader.worker import scorer as scoring
from grader.worker.rank_cache import RankCache
from grader.worker.scorer import Scorer

pytestmark = pytest.mark.both_databases

LEASE = timedelta(seconds=40)


class Counting:
    """A storage that counts how often each file is read."""

    def __init__(self, storage, sha256s):
        self._storage = storage
        self._sha256s = sha256s
        self.reads = 0

    def read(self, sha256):
        self.reads += sha256 in self._sha256s
        data: bytes = self._storage.read(sha256)
        return data


@pytest.fixture
def ranks(tmp_path):
    return RankCache(tmp_path / "ranks", max_bytes=10**8)


@pytest.fixture
def competition(service, predictions_csv, monkeypatch):
    """A competition with five scored submissions, the last one with a note on its file."""
    monkeypatch.setattr(scoring, "BATCH_SECONDS", 60)  # a busy machine completes a batch, too
    competition = service.competition()
    for number in range(4):
        service.score(service.submit(competition, user=f"user{number}", seed=number))
    noted = service.submit(competition, csv=predictions_csv(skill=5.0))
    service.score(noted)
    assert service.submission(noted).notes
    return service.reload(competition)


def counting(service):
    with service.database.read() as session:
        return Counting(service.storage, set(session.scalars(select(Submission.sha256))))


def results(service, version_id):
    with service.database.read() as session:
        scores = session.scalars(select(Score).where(Score.scoring_version_id == version_id))
        jobs = session.scalars(select(ScoringJob).where(ScoringJob.scoring_version_id == version_id))
        return (
            {(score.submission_id, score.split): (score.score, score.evidence) for score in scores},
            {job.submission_id: (job.state, job.notes) for job in jobs},
        )


def drop(service, version):
    with service.database.write() as session:
        session.get_one(ScoringVersion, version.id).state = ScoringVersionState.DROPPED


def test_kept_ranks_give_identical_scores_without_reading_files(service, competition, prepare_version, ranks):
    live = results(service, competition.live_scoring_version_id)
    for reads in (5, 0):
        version = prepare_version(competition)
        storage = counting(service)
        scorer = Scorer(service.database, storage, lease=LEASE, ranks=ranks)
        assert scorer.run_batch()
        assert not scorer.run_batch()
        assert results(service, version.id) == live
        assert storage.reads == reads
        drop(service, version)


def test_live_scoring_keeps_ranks_for_a_later_rescoring(service, prepare_version, ranks):
    competition = service.competition()
    accepted = service.submit(competition)
    assert Scorer(service.database, service.storage, lease=LEASE, ranks=ranks).run(accepted.job_ids[0])
    version = prepare_version(competition)
    storage = counting(service)
    assert Scorer(service.database, storage, lease=LEASE, ranks=ranks).run_batch()
    assert storage.reads == 0
    assert (
        results(service, version.id)[0].keys()
        == results(service, competition.live_scoring_version_id)[0].keys()
    )


def test_batch_ends_in_time_and_returns_unfinished_jobs(service, competition, prepare_version, monkeypatch):
    version = prepare_version(competition)
    monkeypatch.setattr(scoring, "BATCH_SECONDS", 0)
    scorer = Scorer(service.database, service.storage, lease=LEASE)
    for done in range(1, 6):
        assert scorer.run_batch()
        states = [state for state, _ in results(service, version.id)[1].values()]
        assert states.count(JobState.DONE) == done
        assert states.count(JobState.WAITING) == 5 - done
    assert not scorer.run_batch()
    with service.database.read() as session:
        attempts = select(ScoringJob.attempt_count).where(ScoringJob.scoring_version_id == version.id)
        assert set(session.scalars(attempts)) == {1}


def test_file_that_cannot_be_scored_does_not_affect_others(service, competition, prepare_version):
    version = prepare_version(competition)
    with service.database.read() as session:
        broken = session.scalars(select(Submission).order_by(Submission.id)).first()
    service.storage.delete(broken.sha256)
    assert Scorer(service.database, service.storage, lease=LEASE).run_batch()
    jobs = results(service, version.id)[1]
    assert jobs.pop(broken.id)[0] is JobState.WAITING
    assert {state for state, _ in jobs.values()} == {JobState.DONE}


def test_no_transaction_is_open_while_files_are_read(service, competition, prepare_version):
    open_connections = []

    class Watching(Counting):
        def read(self, sha256: str) -> bytes:
            open_connections.append(service.database.engine.pool.checkedout())
            return super().read(sha256)

    prepare_version(competition)
    accepted = service.submit(competition)
    storage: Any = Watching(service.storage, set())
    assert Scorer(service.database, storage, lease=LEASE).run_batch()
    assert Scorer(service.database, storage, lease=LEASE).run(accepted.job_ids[0])
    assert set(open_connections) == {0}
