"""Certificate: available after the reveal, for teams with a private rank."""

import pytest
from sqlalchemy import select

from grader.models import Team

HERE = "/competitions/toxicity"


@pytest.fixture
def get(arena):
    """Return a visitor's response for the certificate of a team."""
    arena.competition()
    for name, noise in (("<b>Ann</b>", 1), ("Bob", 3)):
        arena.submit(arena.person(name), arena.truth.predictions(noise=noise))
    arena.score_all()

    def run(name: str):
        with arena.database.read() as session:
            team_id = session.scalar(select(Team.id).where(Team.name == name))
        return arena.app.test_client().get(f"{HERE}/teams/{team_id}/certificate")

    return run


def test_a_certificate_shows_the_private_rank_after_the_reveal(arena, get):
    assert get("Bob").status_code == 403
    arena.reveal()
    page = get("<b>Ann</b>").text
    assert '<p class="place">1st <small>of 2 teams</small></p>' in page
    assert "<bdi>&lt;b&gt;Ann&lt;/b&gt;</bdi>" in page and f"{HERE}/leaderboard/private" in page
