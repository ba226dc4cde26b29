"""Ranks computed in SQL: agreement with the pure ranking for each leaderboard."""

from datetime import timedelta
from itertools import product

import pytest

from grader.models import ScoringVersion, Split
from grader.ranking import order
from grader.ranking.order import TeamEntry
from grader.services.competitions import lookup
from grader.services.leaderboards import rows
from grader.services.leaderboards.ranks import Standings

# The leaderboard tests run on both databases.
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

MINUTE = timedelta(minutes=1)


@pytest.fixture
def board(service, prepare_version):
    """The live version of a competition with entries from five teams; there are other leaderboards too."""
    competition = service.competition()
    sent = [service.submit(competition, user=name).submission for name in ("ada", "bob", "cyd", "dan", "eve")]
    entries = [
        TeamEntry(each.team_id, each.id, units, service.now + minutes * MINUTE)
        for each, (units, minutes) in zip(sent, ((5, 1), (7, 2), (5, 0), (5, 1), (7, 2)), strict=True)
    ]
    other = prepare_version(competition).id
    with service.database.write() as session:
        live = lookup.live(lookup.get(session, slug=competition.slug)).id
        for place, entry in enumerate(entries):
            better = TeamEntry(entry.team_id, entry.submission_id, 10 + place, service.now)
            session.add(rows.to_row(entry, scoring_version_id=live, split=Split.PUBLIC))
            session.add(rows.to_row(better, scoring_version_id=other, split=Split.PUBLIC))
            if place < 4:
                session.add(rows.to_row(better, scoring_version_id=live, split=Split.PRIVATE))
    return service, live, entries


def test_entry_has_the_rank_of_the_pure_ranking_among_the_other_teams(board):
    service, live, entries = board
    tried = [
        TeamEntry(team, submission, units, service.now + minutes * MINUTE)
        for team, units, minutes, submission in product(
            (entries[0].team_id, entries[3].team_id, 99), (5, 6, 7), (0, 1, 2), (1, 2, 4, 5, 6)
        )
    ]
    expected = [
        1
        + sum(order.order(other) < order.order(entry) for other in entries if other.team_id != entry.team_id)
        for entry in tried
    ]
    with service.database.read() as session:
        public = Standings(session, live, Split.PUBLIC)
        found = [
            place
            for first in range(0, len(tried), 60)
            for place in public.places_of(tried[first : first + 60])
        ]
        assert found == expected
        some = range(0, len(tried), 7)
        assert [public.rank_of(tried[each]) for each in some] == found[::7]
        assert public.places_of([]) == []


def test_only_teams_of_the_given_leaderboard_are_counted(board):
    service, live, entries = board
    ranked = {each.team_id: place for place, each in enumerate(order.rank(entries), 1)}
    first, *_, last = (entry.team_id for entry in entries)
    with service.database.read() as session:
        public, private = (Standings(session, live, split) for split in (Split.PUBLIC, Split.PRIVATE))
        assert public.ranks() == ranked
        assert public.ranks([last, 99]) == {last: ranked[last]}
        assert public.ranks([]) == {}
        assert [each.count_teams() for each in (public, private)] == [5, 4]
        assert public.entry_of(first) == entries[0]
        assert public.ranked_entry_of(last) == (entries[4], ranked[last])
        assert private.ranked_entry_of(last) is None
        assert Standings(session, session.query(ScoringVersion).count() + 1, Split.PUBLIC).count_teams() == 0
