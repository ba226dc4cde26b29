"""Complete lists of the SQL statements for scoring a submission."""

import pytest

from grader.models import Competition, User
from grader.worker.scorer import Scorer
from tests.fixtures.service import LEASE
from tests.fixtures.statements import Statements, expected, recorded

pytestmark = pytest.mark.both_databases

A_BETTER_SCORE = """
write
    select clock_timestamp
    select scoring_job, submission, scoring_version, solution
    update scoring_job
    select solution
write
    select clock_timestamp
    lock competition, scoring_version, scoring_job
    lock scoring_job, submission, user_account
    insert score
    update submission
    update scoring_job
    insert mail
    lock team
    select standing
    update standing
    insert content_state
"""
THE_FIRST_SCORE_OF_A_TEAM = """
write
    select clock_timestamp
    select scoring_job, submission, scoring_version, solution
    update scoring_job
    select solution
write
    select clock_timestamp
    lock competition, scoring_version, scoring_job
    lock scoring_job, submission, user_account
    insert score
    update submission
    update scoring_job
    insert mail
    lock team
    select standing
    insert standing
    insert content_state
"""
A_REJECTION = """
write
    select clock_timestamp
    select scoring_job, submission, scoring_version, solution
    update scoring_job
    select solution
write
    select clock_timestamp
    lock competition, scoring_version, scoring_job
    lock scoring_job, submission, user_account
    update submission
    update scoring_job
    insert mail
    lock submission, team
    select submission
    insert content_state
"""


def run(service, accepted) -> Statements:
    scorer = Scorer(service.database, service.storage, lease=LEASE)
    [job_id] = accepted.job_ids
    with recorded(service.database) as sent:
        assert scorer.run(job_id)
    return sent


@pytest.fixture
def competition(service) -> Competition:
    """A competition in which a user with an e-mail address has a score."""
    ada = service.user("ada")
    with service.database.write() as session:
        known = session.get_one(User, ada.id)
        known.email, known.email_verified_at = "ada@example.org", service.now
    competition: Competition = service.competition()
    return competition


def test_statements_for_a_teams_new_best_score(service, competition):
    service.score(service.submit(competition))
    sent = run(service, service.submit(competition, skill=5.0))
    assert str(sent) == expected(A_BETTER_SCORE, service.database)


def test_statements_for_a_teams_first_score(service, competition):
    sent = run(service, service.submit(competition))
    assert str(sent) == expected(THE_FIRST_SCORE_OF_A_TEAM, service.database)


def test_statements_for_a_rejection(service, competition):
    sent = run(service, service.submit(competition, csv=b"nothing"))
    assert str(sent) == expected(A_REJECTION, service.database)
