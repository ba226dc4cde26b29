"""Leaderboards and submission summaries: pages, ranks, ties, private split."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.models import Score, Split, Standing, Submission, SubmissionKind, Team
from grader.ranking import order
from grader.services.leaderboards import submission_results
from grader.services.leaderboards.board import BoardNotRevealed, BoardRequest, board_of
from grader.services.leaderboards.rows import change_settings, to_entry
from grader.services.submissions import decisions
from grader.visibility import Phase, Viewer
from tests.fixtures.refusals import refused

MINUTE = timedelta(minutes=1)
TEAMS = ("ada", "bob", "cleo", "dan", "eve")


@pytest.fixture
def competition(service):
    """A competition in which five teams have two scored files each."""
    competition = service.competition()
    for number, name in enumerate(TEAMS * 2):
        skill = (number * 7 % 10) / 20
        accepted = service.submit(competition, user=name, seed=number, skill=skill, after=number * MINUTE)
        service.score(accepted)
    return service.reload(competition)


def public(service, competition, own_team_id=None, **options):
    with service.database.read() as session:
        asked = {"request": BoardRequest(**options), "own_team_id": own_team_id}
        return board_of(session, competition=competition, phase=Phase.OPEN, **asked)


def private(service, competition, phase, *, viewer=Viewer.PUBLIC, **options):
    with service.database.read() as session:
        return board_of(
            session,
            split=Split.PRIVATE,
            competition=competition,
            phase=phase,
            viewer=viewer,
            request=BoardRequest(**options),
        )


def summary_of(service, submission_id, viewer, phase=Phase.OPEN):
    with service.database.read() as session:
        submission = session.get_one(Submission, submission_id)
        return submission_results.summary(session, submission=submission, viewer=viewer, phase=phase)


@pytest.mark.both_databases
def test_leaderboard_is_the_pure_ranking_of_each_teams_best_entry(service, competition):
    with service.database.read() as session:
        scores = session.execute(
            select(Team.name, Score.score)
            .join_from(Score, Standing, Standing.split == Split.PUBLIC)
            .join(Team, Team.id == Standing.team_id)
            .where(Score.submission_id == Standing.submission_id, Score.split == Split.PUBLIC)
        ).all()
        entries = [to_entry(row) for row in session.scalars(select(Standing))]
    board = public(service, competition)
    assert [row.submission_id for row in board.rows] == [each.submission_id for each in order.rank(entries)]
    assert [row.rank for row in board.rows] == [1, 2, 3, 4, 5]
    assert {row.team: row.score_units for row in board.rows} == {
        name: order.SCALE.units(score) for name, score in scores
    }
    assert all(row.entry_count == 2 and row.rank_change is None for row in board.rows)
    assert all(row.score == order.SCALE.text(row.score_units) for row in board.rows)
    assert all(value == round(value, 4) for row in board.rows for value in row.terms.values())


@pytest.mark.both_databases
def test_pagination_does_not_change_ranks(service, competition):
    whole = public(service, competition).rows
    pages = [public(service, competition, page=page, page_size=2) for page in (1, 2, 3)]
    assert [row for page in pages for row in page.rows] == list(whole)
    assert {page.page_count for page in pages} == {3}
    past = public(service, competition, page=99, page_size=2)
    assert (past.rows, past.page, past.page_count) == ((), 99, 3)
    assert public(service, competition, page=-1, page_size=2).rows == pages[0].rows


def test_private_leaderboard_is_denied_before_the_reveal(service, competition):
    for phase in (Phase.SCHEDULED, Phase.OPEN, Phase.CLOSED):
        for viewer in (Viewer.PUBLIC, Viewer.PARTICIPANT, Viewer.TEAM):
            with pytest.raises(BoardNotRevealed):
                private(service, competition, phase, viewer=viewer)


def test_private_leaderboard_shows_the_better_of_the_two_best_public_files(service, competition):
    third = service.submit(competition, user="ada", seed=99, skill=-0.5, after=20 * MINUTE)
    service.score(third)
    competition = service.reveal(competition)
    board = private(service, competition, Phase.REVEALED)
    with service.database.read() as session:
        scores = session.scalars(select(Score).where(Score.split == Split.PRIVATE)).all()
        mine = {score.submission_id: order.SCALE.units(score.score) for score in scores}
    [ada] = [row for row in board.rows if row.team == "ada"]
    assert ada.score_units == max(mine[1], mine[6])
    assert ada.submission_id != third.submission.id
    public_ranks = {row.team: row.rank for row in public(service, competition).rows}
    assert {row.team: row.rank_change for row in board.rows} == {
        row.team: public_ranks[row.team] - row.rank for row in board.rows
    }
    assert sum(row.rank_change or 0 for row in board.rows) == 0


def test_summary_contains_gain_and_rank(service, competition):
    rows = public(service, competition).rows
    leader = rows[0]
    summary = summary_of(service, leader.submission_id, Viewer.TEAM)
    assert summary.public is not None and summary.public.score == leader.score
    assert (summary.rank, summary.team_count) == (1, 5)
    first, second = [summary_of(service, submission_id, Viewer.TEAM) for submission_id in (1, 6)]
    assert first.public and second.public
    assert first.before is None and first.gain_units is None
    assert second.before.score_units == first.public.score_units
    assert second.gain_units == second.public.score_units - first.public.score_units
    standing = 6 if second.gain_units > 0 else 1
    [ada] = [row for row in rows if row.team == "ada"]
    assert ada.submission_id == standing and {first.rank, second.rank} == {ada.rank}
    assert (first.is_entry, second.is_entry) == (standing == 1, standing == 6)


@pytest.mark.both_databases
@pytest.mark.parametrize("direction", ["highest", "lowest"])
def test_named_leaderboard_is_paged_sorted_searched_and_placed_by_its_value(service, competition, direction):
    changes = {"boards": f"Missed harm = bnsp_auc {direction}"}
    service.act(change_settings, competition=competition, changes=changes)
    marked = service.submit(competition, user="zoe", seed=3, skill=0.2)
    service.score(marked)
    given = {"submission_id": marked.submission.id, "kind": SubmissionKind.BENCHMARK}
    service.act(decisions.mark, competition=competition, **given)
    competition, options = service.reload(competition), {"board": "missed-harm"}

    board = public(service, competition, **options)
    values, ranked = [row.score for row in board.rows], [row for row in board.rows if not row.is_benchmark]
    assert values == sorted(values, reverse=direction == "highest") and len(values) == 6
    assert [row.rank for row in ranked] == [1, 2, 3, 4, 5]
    assert (board.team_count, board.rule.name) == (5, "Missed harm")
    pages = [public(service, competition, **options, page=page, page_size=2) for page in (1, 2, 3)]
    assert [row for page in pages for row in page.rows] == list(board.rows)
    for descending in (True, False):
        rows = public(service, competition, **options, sort="score", descending=descending).rows
        is_best_first = descending is (direction == "highest")
        assert list(rows) == (list(board.rows) if is_best_first else ranked[::-1])
    (row,) = public(service, competition, **options, search="CLE").rows
    assert row == next(each for each in ranked if each.team == "cleo") and row.rank_change is None
    assert pages[0].pinned is None
    last = ranked[-1].team_id
    assert public(service, competition, **options, page_size=2, own_team_id=last).pinned == ranked[-1]
    with refused("unknown_board"):
        public(service, competition, board="missed")
