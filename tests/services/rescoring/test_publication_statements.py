"""SQL statements of a publication, independent of the number of submissions."""

import pytest

from grader.models import Competition, ScoringVersion
from tests.fixtures import rescorings
from tests.fixtures.rescorings import waiting
from tests.fixtures.statements import Statements, expected, recorded

pytestmark = pytest.mark.both_databases

BEGIN = """
write
    select scoring_version
    lock competition
    select competition, scoring_version, solution
    select scoring_version
    select scoring_job, submission
    select solution, scoring_version
    select data_file
    select scoring_job, submission
    update scoring_version
    update scoring_version
    update competition
"""
END = """\
    insert audit_entry
    insert content_state
"""
WHILE_IT_RUNS = BEGIN + END
AFTER_THE_REVEAL = f"""{BEGIN}\
    delete standing
    select submission, score
    select team
    insert standing
{END}"""


@pytest.fixture
def competition(service) -> Competition:
    """A competition with three teams, each with one score."""
    competition: Competition = service.competition()
    for seed, name in enumerate(("ada", "bob", "cleo")):
        service.score(service.submit(competition, user=name, seed=seed))
    return competition


def publish(service, version: ScoringVersion) -> Statements:
    service.run(*waiting(service, version))
    with recorded(service.database) as sent:
        rescorings.publish(service, version)
    return sent


def test_publication_while_the_competition_runs_sends_these_statements(
    service, competition: Competition, prepare_version
):
    sent = publish(service, prepare_version(competition))
    assert str(sent) == expected(WHILE_IT_RUNS, service.database)


def test_publication_after_the_reveal_sends_these_statements(
    service, competition: Competition, prepare_version
):
    service.reveal(competition)
    sent = publish(service, prepare_version(competition))
    assert str(sent) == expected(AFTER_THE_REVEAL, service.database)
