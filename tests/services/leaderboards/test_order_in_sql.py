"""Ranking order in SQL: agreement of both databases with the pure function."""

import random
from datetime import timedelta

import pytest
from sqlalchemy import Double, delete, literal, select, union_all

from grader.models import STANDING_ORDER, Split, Standing
from grader.ranking import order
from grader.ranking.order import TeamEntry
from grader.services.competitions import lookup
from grader.services.leaderboards import rows
from grader.services.leaderboards.board import _as_displayed
from grader.services.leaderboards.ranks import Standings

pytestmark = pytest.mark.both_databases

NAMES = ("ada", "bob", "cyd", "dan", "eve", "fay", "gus")
SHORTEST = timedelta(microseconds=1)


def draw(chance, sent, now):
    """Return entries for some of the teams; most entries are tied in score or time."""
    scores, times = chance.choice([(1, 1), (1, 3), (2, 2), (3, 1)])
    return [
        TeamEntry(each.team_id, each.id, chance.randrange(scores), now + chance.randrange(times) * SHORTEST)
        for each in chance.sample(sent, chance.randint(1, len(sent)))
    ]


def test_both_databases_order_and_rank_tied_entries_like_the_pure_rule(service):
    competition = service.competition()
    sent = [service.submit(competition, user=name).submission for name in NAMES]
    with service.database.write() as session:
        version_id = lookup.live(lookup.get(session, slug=competition.slug)).id
        on = {"scoring_version_id": version_id, "split": Split.PUBLIC}
        for seed in range(30):
            board = draw(random.Random(seed), sent, service.now)
            session.execute(delete(Standing))
            session.add_all(rows.to_row(entry, **on) for entry in board)
            session.flush()
            expected = order.rank(board)
            in_order = session.scalars(select(Standing).order_by(*STANDING_ORDER))
            assert [rows.to_entry(row) for row in in_order] == list(expected)
            assert Standings(session, **on).ranks() == {
                each.team_id: place for place, each in enumerate(expected, 1)
            }
            found = Standings(session, **on).places_of(expected)
            assert found == list(range(1, len(expected) + 1))


def test_ranking_columns_are_not_nullable_because_databases_sort_nulls_differently():
    columns = Standing.__table__.columns
    assert not any(columns[column.name].nullable for column in order.COLUMNS)


@pytest.mark.parametrize("decimals", [4, 2])
def test_both_databases_round_terms_like_their_display(service, decimals):
    dice = random.Random(decimals)
    ties = [number / 20_000 for number in range(1, 400, 2)] + [0.90625, 0.03125, -0.03125, 2.5, 1e17, -3e200]
    values = ties + [dice.random() for _ in range(100)] + [dice.gauss(0, 1e6) for _ in range(100)]
    table = union_all(*(select(literal(value, Double).label("v")) for value in values)).subquery()
    with service.database.read() as session:
        shown = session.execute(select(table.c.v, _as_displayed(table.c.v, decimals))).all()
    assert [each for _, each in shown] == [round(value, decimals) for value, _ in shown]
    assert sorted(value for value, _ in shown) == sorted(values)
