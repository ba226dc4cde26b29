"""Standard errors of files that count: which files, when, and repeated after changes."""

import pytest
from sqlalchemy import null, select, update

from grader.models import JobState, OrganizerJob, Score, Split, Submission
from grader.services.leaderboards import standard_errors
from grader.services.submissions import decisions
from grader.worker.organizer_jobs.worker import run_job

TERMS = {"overall_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc"}


@pytest.fixture
def competition(service):
    return service.competition(selection_count=1)


def sent(service, competition, *skills, user="ada"):
    found = [service.submit(competition, seed=n, skill=skill, user=user) for n, skill in enumerate(skills)]
    service.score(*found)
    with service.database.write() as session:
        session.execute(update(Score).values(errors=null()))
    return [each.submission.id for each in found]


def look(service):
    """Do what the sweeper does; return the number of jobs that it ran."""
    with service.database.write() as session:
        standard_errors.request_due(session, now=service.now)
    with service.database.read() as session:
        waiting = session.scalars(select(OrganizerJob.id).where(OrganizerJob.state == JobState.WAITING)).all()
    for job_id in waiting:
        run_job(service.settings, service.database, service.storage, job_id)
    return len(waiting)


def known(service):
    with service.database.read() as session:
        rows = session.execute(select(Score.submission_id, Score.split, Score.errors)).all()
    return {(submission_id, split) for submission_id, split, errors in rows if errors}


def test_before_the_reveal_only_entries_on_the_public_leaderboard_have_errors(service, competition):
    _, high = sent(service, competition, 0.0, 0.5)
    (theirs,) = sent(service, competition, 0.25, user="bob")
    assert look(service) == 1 and look(service) == 0
    assert known(service) == {(high, Split.PUBLIC), (theirs, Split.PUBLIC)}
    with service.database.read() as session:
        score = session.scalars(
            select(Score).where(Score.submission_id == high, Score.split == Split.PUBLIC)
        ).one()
        assert score.errors.keys() == TERMS | {"score"} and 0 < score.errors["score"] < 0.1


def test_after_the_reveal_the_files_that_count_have_errors_on_both_splits(service, competition):
    low, _ = sent(service, competition, 0.0, 0.5)
    (theirs,) = sent(service, competition, 0.25, user="bob")
    with service.database.write() as session:
        session.get_one(Submission, low).is_selected = True
    service.act(decisions.disqualify, competition=competition, team="bob", reason="Two accounts.")
    look(service)
    service.reveal(competition)
    assert (low, Split.PUBLIC) not in known(service)
    look(service)
    assert known(service) >= {(low, split) for split in Split}
    assert theirs not in {submission_id for submission_id, _ in known(service)}
    service.act(decisions.reinstate, competition=competition, team="bob")
    look(service)
    assert known(service) >= {(theirs, split) for split in Split}


def test_a_file_that_cannot_be_read_is_not_tried_again(service, competition):
    (lost,) = sent(service, competition, 1.0)
    with service.database.read() as session:
        service.storage.delete(session.get_one(Submission, lost).sha256)
    assert look(service) == 1 and look(service) == 0
    assert known(service) == set()
