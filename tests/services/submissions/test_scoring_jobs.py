"""Scoring jobs: claims, leases, tokens, results, standings, on both databases."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sqlalchemy import func, select

from grader.files import read_solution
from grader.models import Score, ScoringJob, Split, Submission, SubmissionStatus
from grader.services.submissions import scoring_jobs as jobs

pytestmark = pytest.mark.both_databases

LEASE = timedelta(seconds=40)
SECOND = timedelta(seconds=1)

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def claim(service, job_id, *, after=timedelta()):
    return service.act(jobs.claim, job_id=job_id, lease=LEASE, after=after)


def job(service, job_id):
    with service.database.read() as session:
        return session.get_one(ScoringJob, job_id)


@pytest.fixture
def accepted(service):
    return service.submit(service.competition())


def jigsaw_terms(is_positive, predictions, mentions):
    """Return the score's four terms, computed with scikit-learn's AUC on each term's rows."""

    def mean_auc(keeps: Callable[[Any], Any]) -> float:
        kept = [keeps(has) for has in mentions]
        aucs = [roc_auc_score(is_positive[rows], predictions[rows]) for rows in kept]
        return float(np.mean(np.power(aucs, -5.0)) ** (1 / -5.0))

    return {
        "overall_auc": roc_auc_score(is_positive, predictions),
        "subgroup_auc": mean_auc(lambda has: has),
        "bpsn_auc": mean_auc(lambda has: has != is_positive),
        "bnsp_auc": mean_auc(lambda has: has == is_positive),
    }


def test_scored_submission_has_the_scores_of_an_independent_computation(
    service, solution_csv, predictions_csv
):
    accepted = service.submit(service.competition())
    service.score(accepted)
    assert service.submission(accepted).status is SubmissionStatus.SCORED
    solution = read_solution(solution_csv())
    lines = predictions_csv().decode().splitlines()[1:]
    predictions = np.array([float(line.split(",")[1]) for line in lines])
    with service.database.read() as session:
        scores = {score.split: score for score in session.scalars(select(Score))}
    for split, code in ((Split.PUBLIC, 1), (Split.PRIVATE, 2)):
        rows = solution.usage == code
        mentions = [values[rows] >= 0.5 for values in solution.identities.values()]
        expected = jigsaw_terms(solution.labels[rows] >= 0.5, predictions[rows], mentions)
        assert scores[split].terms == pytest.approx(expected, rel=1e-12)
        assert scores[split].score == pytest.approx(sum(expected.values()) / 4, rel=1e-12)
        assert scores[split].evidence["rows"] == 200


def test_rejected_file_shows_all_its_problems_and_has_no_score(service):
    accepted = service.submit(service.competition(), csv=b"id,prediction\nr0,nan\nx,0.5\n")
    service.score(accepted)
    submission = service.submission(accepted)
    assert submission.status is SubmissionStatus.REJECTED
    assert len({problem["code"] for problem in submission.problems}) >= 2
    with service.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Score)) == 0


def test_oldest_pending_submission_excludes_rescorings_and_retries(service, prepare_version):
    def oldest():
        with service.database.read() as session:
            return jobs.oldest_pending(session)

    competition = service.competition()
    accepted = service.submit(competition)
    assert oldest() == service.now
    service.score(accepted)
    assert oldest() is None
    prepare_version(service.reload(competition))
    assert oldest() is None
    failed = service.submit(competition, seed=8)
    assert oldest() == service.now
    with service.database.write() as session:
        session.get_one(Submission, failed.submission.id).status = SubmissionStatus.FAILED
    assert oldest() is None


def test_job_can_be_claimed_from_its_waiting_time_or_the_end_of_its_lease(service, accepted):
    (job_id,) = accepted.job_ids
    moment = timedelta(microseconds=1)
    with service.database.write() as session:
        session.get_one(ScoringJob, job_id).available_at = service.now + 9 * SECOND

    def waits(after: timedelta, older_than: timedelta) -> bool:
        with service.database.read() as session:
            found = jobs.waiting(session, older_than=older_than, limit=10, now=service.now + after)
            return job_id in found

    for older_than in (timedelta(), 5 * SECOND):
        free_at = 9 * SECOND + older_than
        assert [waits(after, older_than) for after in (free_at - moment, free_at)] == [False, True]
    assert claim(service, job_id, after=9 * SECOND - moment) is None
    assert claim(service, job_id, after=9 * SECOND)
    end = 9 * SECOND + LEASE
    assert [waits(after, 5 * SECOND) for after in (end - moment, end)] == [False, True]
    assert claim(service, job_id, after=end - moment) is None
    assert claim(service, job_id, after=end)


@on_sqlite
def test_jobs_of_rescorings_are_not_among_the_waiting_ones_and_the_longest_waiting_is_first(
    service, prepare_version
):
    competition = service.competition()
    service.score(service.submit(competition, seed=1))
    prepare_version(service.reload(competition))
    first, second = (service.submit(competition, seed=seed).job_ids[0] for seed in (3, 4))
    with service.database.write() as session:
        session.get_one(ScoringJob, first).available_at = service.now + SECOND
    with service.database.read() as session:
        options = {"older_than": timedelta(), "now": service.now + 9 * SECOND}
        assert jobs.waiting(session, **options, limit=99) == [second, first]
        assert jobs.waiting(session, **options, limit=1) == [second]


@on_sqlite
def test_claim_contains_its_process_its_lease_and_known_facts_of_a_deleted_file(service, accepted):
    (job_id,) = accepted.job_ids
    held = service.act(jobs.claim, job_id=job_id, lease=LEASE, holder="ada's")
    taken = job(service, job_id)
    assert held is not None and held.known_problems is None and held.other_labels == ()
    assert (held.job_id, held.attempt, held.submission_id) == (job_id, 1, accepted.submission.id)
    assert held.submission_sha256 == accepted.submission.sha256
    assert held.metric_settings["identities"] == ["female", "muslim"]
    assert (taken.token, taken.holder, taken.lease_until) == (held.token, "ada's", service.now + LEASE)
    with service.database.write() as session:
        deleted = session.get_one(Submission, accepted.submission.id)
        deleted.problems, deleted.file_deleted_at = [{"code": "empty"}], service.now
    again = claim(service, job_id, after=LEASE)
    assert again is not None and again.known_problems == ({"code": "empty"},)
    with service.database.read() as session:
        version = session.get_one(ScoringJob, job_id).scoring_version
        solution = version.solution
        assert (again.scoring_version_id, again.row_ids_sha256) == (version.id, solution.row_ids_sha256)
        assert again.prepared_sha256 == solution.prepared_sha256
