"""Leaderboard summary in each feedback mode: figures, top five, the viewer's rank."""

from datetime import timedelta

import pytest

from grader.services.competitions import lookup
from grader.services.leaderboards import glance
from grader.services.leaderboards.board import board_of
from grader.services.leaderboards.glance import Glance
from grader.services.teams import rosters
from grader.visibility import Feedback, Phase

MINUTE = timedelta(minutes=1)
TEAMS = ("ada", "bob", "cleo", "dan", "eve", "fay", "gil")


@pytest.fixture
def competition(service):
    """A competition in which seven teams have a scored file each."""
    competition = service.competition()
    for number, name in enumerate(TEAMS):
        skill = (number * 3 % 7) / 10
        service.score(service.submit(competition, user=name, seed=number, skill=skill, after=number * MINUTE))
    return service.reload(competition)


def look(service, competition, name=None):
    with service.database.read() as session:
        competition, team = lookup.get(session, slug=competition.slug), None
        if name is not None:
            team = rosters.find_team(session, competition=competition, user=service.users[name])
        return glance.of(session, competition=competition, team=team, now=service.now)


def test_summary_agrees_with_the_leaderboard(service, competition):
    with service.database.read() as session:
        rows = board_of(session, competition=competition, phase=Phase.OPEN).rows
        found = glance.figures(session, competitions=[competition], now=service.now)
    seen = look(service, competition)
    assert [(line.rank, line.team, line.score) for line in seen.top] == [
        (row.rank, row.team, row.score) for row in rows[: glance.TOP]
    ]
    assert (seen.team_count, seen.best, seen.own) == (7, rows[0].score, None)
    assert (found[competition.id].team_count, found[competition.id].best) == (7, rows[0].score)
    for above, row in zip([None, *rows], rows, strict=False):
        own = look(service, competition, row.team).own
        assert own is not None
        assert (own.rank, own.score) == (row.rank, row.score)
        gap = None if above is None else f"{(above.score_units - row.score_units) / 100_000:.5f}"
        assert own.gap == gap


def test_blind_competition_counts_teams_and_shows_no_score(service, competition):
    with service.database.write() as session:
        lookup.get(session, slug=competition.slug).feedback = Feedback.BLIND
    competition = service.reload(competition)
    assert look(service, competition, "ada") == Glance(7)
    with service.database.read() as session:
        found = glance.figures(session, competitions=[competition], now=service.now)
    assert found == {competition.id: Glance(7)}
