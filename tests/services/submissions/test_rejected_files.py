"""Deletion of rejected files after a day or above the quota; their rows remain."""

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from grader import db
from grader.models import JobState, ScoringJob, Submission, SubmissionStatus
from grader.services.site import leased_rows
from grader.services.submissions import rejected_files
from grader.services.submissions import scoring_jobs as jobs
from grader.services.submissions.rejected_files import KEPT_FOR, UNTOUCHED_FOR
from grader.storage import blobs
from grader.storage.stores import BlobMissing
from grader.worker.calculator import Calculator
from grader.worker.scorer import Scorer
from tests.fixtures.races import race

SECOND = timedelta(seconds=1)
LEASE = timedelta(seconds=40)


def faulty(number):
    """A file of 1,000 bytes that is rejected."""
    return f"id,prediction\nr0,{number}x\n".encode().ljust(1000, b"-")


def reject(service, *accepted, quota_bytes=10_000):
    scorer = Scorer(service.database, service.storage, lease=LEASE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rejected_files, "QUOTA_BYTES", quota_bytes)
        for each in accepted:
            for job_id in each.job_ids:
                assert scorer.run(job_id)


def make_old(service, age, *, of_blobs=UNTOUCHED_FOR + SECOND):
    """Backdate all rejections and all stored blobs."""
    with service.database.write() as session:
        now = db.now(session)
        session.execute(update(Submission).values(finished_at=now - age))
    touched = time.time() - of_blobs.total_seconds()
    for path in Path(service.settings.data_dir / "blobs").glob("??/*"):
        os.utime(path, (touched, touched))


def delete(service):
    return rejected_files.delete(service.database, service.storage)


def test_rejected_file_is_deleted_after_a_day_and_its_row_with_its_problems_is_kept(service):
    competition = service.competition()
    rejected, scored = service.submit(competition, csv=faulty(1)), service.submit(competition)
    reject(service, rejected, scored)
    make_old(service, KEPT_FOR - 60 * SECOND)
    assert delete(service) == set()
    make_old(service, KEPT_FOR)
    found = service.submission(rejected)
    assert delete(service) == {found.sha256}
    found = service.submission(rejected)
    assert found.status is SubmissionStatus.REJECTED and found.problems and found.file_deleted_at
    assert service.submission(scored).file_deleted_at is None
    with pytest.raises(BlobMissing):
        service.storage.read(found.sha256)
    assert service.storage.exists(service.submission(scored).sha256)


def test_blob_is_kept_for_another_row_or_an_upload_in_progress(service):
    competition = service.competition()
    old, other = (service.submit(competition, csv=faulty(number)) for number in (1, 2))
    reject(service, old, other)
    make_old(service, KEPT_FOR)
    new = service.submit(competition, csv=faulty(1))
    make_old(service, KEPT_FOR)
    service.storage.put(faulty(2))  # The blob's row has not been written yet.
    assert delete(service) == set()
    assert service.submission(old).file_deleted_at is not None
    assert service.submission(new).file_deleted_at is None
    make_old(service, KEPT_FOR)
    assert delete(service) == {service.submission(other).sha256}
    assert service.storage.read(service.submission(new).sha256) == faulty(1)
    stored = {blob.sha256 for blob in service.storage.blobs()}
    with service.database.read() as session:
        assert blobs.missing(session, stored=stored) == [] and blobs.required(session) <= stored


def test_files_beyond_the_hourly_quota_are_not_kept(service):
    competition = service.competition()
    sent = [service.submit(competition, csv=faulty(number)) for number in range(3)]
    scored = service.submit(competition)
    reject(service, *sent, scored, quota_bytes=2000)
    found = [service.submission(each) for each in (*sent, scored)]
    assert [each.file_deleted_at is not None for each in found] == [False, False, True, False]
    assert all(each.problems and each.status is SubmissionStatus.REJECTED for each in found[:3])
    assert found[3].status is SubmissionStatus.SCORED
    make_old(service, timedelta(minutes=61))
    assert delete(service) == {found[2].sha256}
    later = service.submit(competition, csv=faulty(9))
    reject(service, later, quota_bytes=2000)
    assert service.submission(later).file_deleted_at is None


def test_account_has_one_quota_in_all_its_teams_and_others_have_their_own(service):
    first, second = service.competition(), service.competition("second")
    sent = [service.submit(first, csv=faulty(1)), service.submit(second, csv=faulty(2))]
    sent.append(service.submit(second, csv=faulty(3), user="bob"))
    reject(service, *sent, quota_bytes=1500)
    assert [service.submission(each).file_deleted_at is None for each in sent] == [True, False, True]


@pytest.mark.both_databases
def test_simultaneously_rejected_files_are_kept_only_within_the_quota(service, monkeypatch):
    monkeypatch.setattr(rejected_files, "QUOTA_BYTES", 2000)
    competition = service.competition()
    sent = [service.submit(competition, csv=faulty(number)) for number in range(6)]
    scorers = [Scorer(service.database, service.storage, lease=LEASE) for _ in sent]
    race(*(lambda s=s, a=a: s.run(a.job_ids[0]) for s, a in zip(scorers, sent, strict=True)))
    assert sum(service.submission(each).file_deleted_at is None for each in sent) == 2


def test_job_of_a_deleted_file_returns_the_known_problems(service):
    """The job belongs to a scoring version in preparation, which processes the file late."""
    accepted = service.submit(service.competition(), csv=faulty(1))
    reject(service, accepted, quota_bytes=0)
    make_old(service, KEPT_FOR)
    delete(service)
    with service.database.write() as session:
        job = session.get_one(ScoringJob, accepted.job_ids[0])
        job.state, problems = JobState.WAITING, job.submission.problems
        session.flush()
        claim = jobs.claim(session, job_id=job.id, lease=LEASE, now=db.now(session))
    outcome = Calculator(service.storage, None).outcome(claim)
    assert isinstance(outcome, leased_rows.Rejection)
    assert list(outcome.problems) == problems


def test_file_is_kept_until_every_scoring_version_has_read_it(service, monkeypatch):
    accepted = service.submit(service.competition(), csv=faulty(1))
    reject(service, accepted)
    monkeypatch.setattr(rejected_files, "QUOTA_BYTES", 0)
    with service.database.write() as session:
        session.execute(update(ScoringJob).values(state="waiting"))
        submission_id, now = accepted.submission.id, db.now(session)
        assert not rejected_files.release_over_quota(session, submission_id=submission_id, now=now)
    make_old(service, KEPT_FOR)
    assert delete(service) == set()
    assert service.submission(accepted).file_deleted_at is None
