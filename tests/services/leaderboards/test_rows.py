"""Leaderboard rows: best entries, and updates limited to the requested teams."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from grader.models import (
    MAIN_BOARD,
    Score,
    Split,
    Standing,
    Team,
)
from grader.ranking.order import TeamEntry
from grader.services.competitions import lookup
from grader.services.leaderboards import rows as standing_rows

# None of these rules depends on the database.
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


class World:
    """A competition with two teams, each with two files."""

    def __init__(self, service):
        self.service = service
        self.competition = service.competition(selection_count=1, closes_at=service.now + 60 * MINUTE)
        self.accepted = [
            service.submit(self.competition, user=name, seed=seed, after=seed * MINUTE)
            for seed, name in enumerate(("ada", "bob", "ada", "bob"))
        ]
        self.files = [each.submission.id for each in self.accepted]
        self.ada, self.bob = (each.submission.team_id for each in self.accepted[:2])
        self.live = service.reload(self.competition).live_scoring_version_id

    def score(self):
        """Score all files so that each team's first file is better in public and its second in private."""
        self.service.score(*self.accepted)
        scores = [(Split.PUBLIC, 8), (Split.PUBLIC, 7), (Split.PUBLIC, 6), (Split.PUBLIC, 5)]
        scores += [(Split.PRIVATE, 1), (Split.PRIVATE, 2), (Split.PRIVATE, 3), (Split.PRIVATE, 4)]
        with self.service.database.write() as session:
            for submission_id, (split, tenths) in zip(self.files * 2, scores, strict=True):
                of_file = Score.submission_id == submission_id, Score.split == split
                session.execute(update(Score).where(*of_file).values(score=tenths / 10))

    def entry(self, number, units, team=None):
        """Return an entry for a file, whose number determines the order and the times."""
        team = team or (self.ada, self.bob)[number % 2]
        return TeamEntry(team, self.files[number], units, self.service.now + number * MINUTE)

    def enter(self, *entries):
        with self.service.database.write() as session:
            standing_rows.enter(session, entries={MAIN_BOARD: entries}, scoring_version_id=self.live)

    def rebuild(self, *team_ids):
        with self.service.database.write() as session:
            competition = lookup.get(session, slug="toxicity")
            standing_rows.rebuild(session, competition=competition, team_ids=team_ids)

    def put(self, *entries, split=Split.PUBLIC):
        """Replace all rows of a split."""
        with self.service.database.write() as session:
            for row in session.scalars(select(Standing).where(Standing.split == split)):
                session.delete(row)
            session.flush()
            session.add_all(
                standing_rows.to_row(each, scoring_version_id=self.live, split=split) for each in entries
            )

    def entries(self, split):
        with self.service.database.read() as session:
            found = session.scalars(select(Standing).where(Standing.split == split)).all()
        return {standing_rows.to_entry(row) for row in found}


@pytest.fixture
def world(service):
    return World(service)


def test_best_new_entry_is_kept_and_the_earliest_of_equal_ones(world):
    entries = [world.entry(number, units, world.ada) for number, units in enumerate((5, 9, 9, 7))]
    for order in (entries, entries[::-1], entries[2:] + entries[:2]):
        world.put()
        world.enter(*order)
        assert world.entries(Split.PUBLIC) == {entries[1]}


def test_entry_replaces_only_a_worse_one(world):
    old, others = world.entry(1, 7, world.ada), world.entry(3, 1)
    for units, number, stands in ((6, 1, False), (7, 0, True), (7, 2, False), (8, 3, True)):
        new = world.entry(number, units, world.ada)
        world.put(old, others)
        world.enter(new)
        assert world.entries(Split.PUBLIC) == {new if stands else old, others}


def test_disqualified_team_has_no_entry_and_private_rows_stay_unchanged(world):
    private = world.entry(1, 3)
    world.put()
    world.put(private, split=Split.PRIVATE)
    with world.service.database.write() as session:
        session.get_one(Team, world.ada).disqualified_at = world.service.now
    world.enter(world.entry(0, 9), world.entry(3, 8))
    assert world.entries(Split.PUBLIC) == {world.entry(3, 8)}
    assert world.entries(Split.PRIVATE) == {private}


def test_entry_written_concurrently_by_another_process_is_compared(world):
    old, theirs, ours = (world.entry(number, units) for number, units in ((2, 5), (0, 9), (2, 7)))
    world.put(old)
    with world.service.database.write() as session:
        known = session.scalars(select(Standing)).one()
        session.execute(
            update(Standing).values(score_units=theirs.score_units, submission_id=theirs.submission_id),
            execution_options={"synchronize_session": False},
        )
        assert known.score_units == old.score_units
        standing_rows.enter(session, entries={MAIN_BOARD: [ours]}, scoring_version_id=world.live)
    assert [each.score_units for each in world.entries(Split.PUBLIC)] == [theirs.score_units]


def test_only_requested_teams_are_rewritten(world):
    world.score()
    wrong = world.entry(2, 1), world.entry(3, 1)
    world.put(*wrong)
    world.rebuild(world.ada)
    assert world.entries(Split.PUBLIC) == {world.entry(0, 80_000), wrong[1]}
    world.rebuild(world.ada, world.bob)
    assert world.entries(Split.PUBLIC) == {world.entry(0, 80_000), world.entry(1, 70_000)}
