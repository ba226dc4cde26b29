"""SQL statements of the close, independent of the number of teams."""

import pytest

from grader.models import Competition
from grader.services.audit.log import Actor
from grader.services.closing import close
from tests.fixtures.statements import expected, recorded

pytestmark = pytest.mark.both_databases

TESTS = Actor(None, "tests")
REVEAL = """
write
    lock competition
    select competition, scoring_version, solution
    update competition
    select submission
    delete standing
    select submission, score
    select team
    insert standing
    update competition
    select user_account, team_member, team, standing
    select standing
    select standing
    select mail
    insert mail
    insert audit_entry
    select standing
    insert content_state
"""


@pytest.fixture
def competition(service) -> Competition:
    """A competition with three one-person teams whose users have confirmed addresses."""
    competition: Competition = service.competition()
    for seed, name in enumerate(("ada", "bob", "cleo")):
        service.score(service.submit(competition, user=name, seed=seed))
    service.verify_addresses("ada", "bob", "cleo")
    return competition


def reveal(service, competition: Competition):
    service.act(close.reveal, competition=competition)


def test_reveal_sends_these_statements(service, competition: Competition):
    with recorded(service.database) as sent:
        reveal(service, competition)
    assert str(sent) == expected(REVEAL, service.database)
