"""Lists of `grader.client` with several pages, against a server."""

from datetime import timedelta

import pytest

from grader.services.competitions import lookup
from tests.fixtures import crowds

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

MANY = 60  # two pages


def test_every_list_continues_after_its_first_page(service, live_site):
    for number in range(MANY - 1):
        service.competition(f"other-{number}")
    competition = service.competition(max_daily_submissions=MANY)
    for _ in range(MANY):
        service.submit(competition, again=True)
    with service.database.write() as session:
        live, now = lookup.get(session, slug="toxicity"), service.now
        crowds.fill(session, competition=live, teams=MANY, files=MANY, start=now - timedelta(days=9), end=now)
    with live_site.client(competition="toxicity") as client:
        assert len(client.competitions()) == MANY
        assert len(client.submissions().submissions) == MANY
        assert len(client.leaderboard().rows) == MANY
        assert len(client.leaderboard(search="team").rows) == MANY - 4  # four names are Cyrillic
        assert len(client.leaderboard(most=55).rows) == 55
