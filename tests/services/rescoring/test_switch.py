"""Switch to a new scoring version: preconditions and effects."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.models import (
    AuditEntry,
    JobState,
    ScoringJob,
    ScoringVersionState,
    Split,
    Standing,
    Submission,
    SubmissionStatus,
    Team,
)
from grader.services.rescoring.publication import RescoringIncomplete
from tests.fixtures import rescorings
from tests.fixtures.refusals import refused
from tests.fixtures.rescorings import waiting

# None of these rules depends on the database.
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

HOUR = timedelta(hours=1)


@pytest.fixture
def competition(service):
    """A competition with two teams, each with one scored file."""
    competition = service.competition(closes_at=service.now + HOUR)
    service.score(
        *(service.submit(competition, user=name, seed=seed) for seed, name in enumerate(("ada", "bob")))
    )
    return service.reload(competition)


@pytest.fixture
def version(competition, prepare_version):
    """The next version, in preparation, with a waiting job for each file."""
    return prepare_version(competition)


def jobs_of(service, version):
    with service.database.read() as session:
        mine = select(ScoringJob.id).where(ScoringJob.scoring_version_id == version.id)
        return list(session.scalars(mine.order_by(ScoringJob.submission_id)))


def end(service, job_id, state, **values):
    """Mark a job as ended."""
    with service.database.write() as session:
        job = session.get_one(ScoringJob, job_id)
        job.state, job.finished_at = state, service.now + HOUR
        for name, value in values.items():
            setattr(job, name, value)


def publish(service, version, **options):
    return rescorings.publish(service, version, **{"now": service.now + 2 * HOUR} | options)


def roll_back(service, competition, number=1, **options):
    return rescorings.roll_back(service, competition, number, **{"now": service.now + 2 * HOUR} | options)


def statuses(service):
    with service.database.read() as session:
        return list(session.scalars(select(Submission.status).order_by(Submission.id)))


def splits(service, version):
    with service.database.read() as session:
        mine = select(Standing.split).where(Standing.scoring_version_id == version.id)
        found = list(session.scalars(mine))
    return {split: found.count(split) for split in Split}


def test_publication_needs_results_for_all_finished_submissions(service, competition, version):
    # This file was submitted later, so the publication does not wait for it.
    pending = service.submit(competition, user="cleo", seed=9)
    one, other, *_ = jobs_of(service, version)
    with pytest.raises(RescoringIncomplete, match=r"^2 submissions are not yet scored"):
        publish(service, version)
    service.run(one)
    with pytest.raises(RescoringIncomplete, match=r"^1 submission is not yet scored"):
        publish(service, version)
    service.run(other)
    assert publish(service, version).state is ScoringVersionState.LIVE
    assert service.submission(pending).status is SubmissionStatus.PENDING


def test_scores_are_lost_only_with_the_organizers_consent(service, competition, version):
    one, other = jobs_of(service, version)
    end(service, one, JobState.FAILED, incident="7f3a")
    end(service, other, JobState.REJECTED, problems=[{"code": "x"}], notes=[{"code": "y"}])
    with refused("rescoring_loses_scores", match=r"^2 submissions would lose their scores"):
        publish(service, version)
    assert statuses(service) == [SubmissionStatus.SCORED] * 2
    publish(service, version, lose_scores=True)
    assert statuses(service) == [SubmissionStatus.FAILED, SubmissionStatus.REJECTED]
    with service.database.read() as session:
        failed, rejected = session.scalars(select(Submission).order_by(Submission.id))
        (entry,) = session.scalars(select(AuditEntry).where(AuditEntry.action == "rescoring.publish"))
    assert (failed.incident, failed.finished_at, failed.slot_day) == ("7f3a", service.now + HOUR, None)
    assert (rejected.problems, rejected.notes) == ([{"code": "x"}], [{"code": "y"}])
    assert entry.after["lost_scores"] == 2
    # The previous version has these scores. Additional scores are not a loss.
    roll_back(service, competition)
    assert statuses(service) == [SubmissionStatus.SCORED] * 2


def test_actions_during_a_versions_retirement_are_on_its_leaderboard_when_it_returns(
    service, competition, version
):
    service.run(*jobs_of(service, version))
    publish(service, version)
    with service.database.write() as session:
        ada = session.scalars(select(Team).where(Team.name == "ada")).one()
        ada.disqualified_at = service.now
    first = roll_back(service, competition)
    assert first.state is ScoringVersionState.LIVE
    assert splits(service, first)[Split.PUBLIC] == 1
    service.score(service.submit(competition, user="bob", seed=5))
    second = roll_back(service, competition, number=2, reason="No, it is right.")
    assert (second.state, second.reason) == (ScoringVersionState.PREPARING, "No, it is right.")
    assert len(waiting(service, second)) == 1
