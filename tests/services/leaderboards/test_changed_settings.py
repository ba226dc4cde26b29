"""Named leaderboards in several directions, against brute force: rescoring, settings, finals."""

import csv
from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from io import StringIO

import pytest
from sqlalchemy import select, update

from grader.models import MAIN_BOARD, Competition, Score, Split, Standing, Submission
from grader.services.closing import close
from grader.services.competitions import lookup
from grader.services.competitions.metric import NamedMetric, Rules
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.services.leaderboards import rows
from grader.services.rescoring import difference, preparation, versions
from tests.fixtures import rescorings
from tests.fixtures.refusals import refused
from tests.fixtures.rescorings import waiting

pytestmark = pytest.mark.both_databases

HOUR = timedelta(hours=1)
# The values by which the leaderboards rank, where more is better, and their decimals.
BOARDS: dict[str, tuple[str, Callable[[Score], float], int]] = {
    "accuracy": ("overall_auc", lambda score: score.terms["overall_auc"], 4),
    "harm": ("BNSP AUC lowest", lambda score: -score.terms["bnsp_auc"], 4),
    "trade-off": (
        "score - 2 * subgroup lowest",
        lambda score: 2 * score.terms["subgroup_auc"] - score.score,
        5,
    ),
}
SETTING = "\n".join(f"{name.title()} = {value}" for name, (value, _, _) in BOARDS.items())
Ranking = list[tuple[int, int]]  # teams and submissions, best first


@pytest.fixture
def competition(service):
    """A competition with four teams, each with three scored files, of which two compete."""
    competition: Competition = service.competition(boards=SETTING, closes_at=service.now + HOUR)
    sent = [
        service.submit(competition, user=name, seed=seed, skill=seed % 3 / 20, after=timedelta(seconds=seed))
        for seed, name in enumerate(("ada", "bob", "cleo", "dan") * 3)
    ]
    service.score(*sent)
    return service.reload(competition)


def expected(service, competition, split, value, decimals):
    """Return the ranking by the stored scores of the live version."""
    live = service.reload(competition).live_scoring_version_id
    files: dict[int, list[tuple[Submission, dict[Split, Score]]]] = {}
    with service.database.read() as session:
        for submission in session.scalars(select(Submission).order_by(Submission.id)):
            scores = session.scalars(
                select(Score).where(Score.submission_id == submission.id, Score.scoring_version_id == live)
            )
            files.setdefault(submission.team_id, []).append(
                (submission, {each.split: each for each in scores})
            )
    entries = []
    for own in files.values():
        if split is Split.PRIVATE:  # The files with the best public scores compete.
            own = sorted(own, key=lambda file: -round(file[1][Split.PUBLIC].score, 5))[:2]
        entries.append(min((-round(value(scores[split]), decimals), each.id, each) for each, scores in own))
    return [(each.team_id, each.id) for _, _, each in sorted(entries, key=lambda entry: entry[:2])]


def stored(service, competition, split, board=MAIN_BOARD):
    live = service.reload(competition).live_scoring_version_id
    on = Standing.scoring_version_id == live, Standing.split == split, Standing.board == board
    order = Standing.score_units.desc(), Standing.submitted_at, Standing.submission_id
    with service.database.read() as session:
        rows = session.execute(select(Standing.team_id, Standing.submission_id).where(*on).order_by(*order))
        return [(team_id, submission_id) for team_id, submission_id in rows]


def assert_boards(service, competition, *splits):
    """Assert that all leaderboards equal brute force, and return them."""
    found = {}
    for split in splits:
        rules = {MAIN_BOARD: ("", lambda score: score.score, 5), **BOARDS}
        for board, (_, value, decimals) in rules.items():
            found[split, board] = stored(service, competition, split, board)
            assert found[split, board] == expected(service, competition, split, value, decimals), board
            assert len(found[split, board]) == 4
    return found


def competing(table, number):
    """Return the two files of each team that have the best public scores under a version."""
    chosen = defaultdict[int, list[str]](list)
    for row in sorted(table, key=lambda row: (-float(row[f"public_v{number}"]), int(row["submission"]))):
        chosen[int(row["team_id"])].append(row["submission"])
    return {team: set(own[:2]) for team, own in chosen.items()}


def change(service, competition, boards):
    changed: frozenset[str] = service.act(
        rows.change_settings, competition=competition, changes={"boards": boards}
    )
    return changed


def test_three_directions_stay_right_through_a_rescoring_a_rollback_and_the_reveal(
    service, competition, solution_csv
):
    first = assert_boards(service, competition, Split.PUBLIC)
    assert len({str(ranking) for ranking in first.values()}) == 4  # no two leaderboards are equal
    version = rescorings.prepare(service, competition, solution_csv(seed=2))
    service.run(*waiting(service, version))
    with service.database.read() as session:
        current = lookup.get(session, slug=competition.slug)
        compared = difference.versions_of(
            session, competition=current, version=session.merge(version, load=False)
        )
        preview = difference.preview(session, competition=current, versions=compared)
        lines = "".join(difference.submissions_csv(session, competition=current, versions=compared))
    table = list(csv.DictReader(StringIO(lines)))
    sizes = [max(abs(Decimal(row[f"{split}_change"])) for split in Split) for row in table]
    changed = sum(size > 0 for size in sizes)
    assert (preview.scored, preview.changed, preview.largest) == ((12, 12), changed, max(sizes))
    old, new = (competing(table, number) for number in (1, 2))
    assert list(preview.selections) == [team for team in sorted(old) if old[team] != new[team]] != []
    rescorings.publish(service, version)
    second = assert_boards(service, competition, Split.PUBLIC)
    for board in BOARDS:
        before, after = ([team for team, _ in each[Split.PUBLIC, board]] for each in (first, second))
        moved = sum(after.index(team) != place for place, team in enumerate(before))
        assert len(preview.boards[board, Split.PUBLIC].moved) == moved
    service.act(close.settle, competition=competition, after=2 * HOUR)
    settled = assert_boards(service, competition, *Split)
    assert len({str(ranking) for (split, _), ranking in settled.items() if split is Split.PRIVATE}) > 2
    service.act(close.reveal, competition=competition, after=2 * HOUR)
    rescorings.roll_back(service, competition)
    again = assert_boards(service, competition, *Split)
    assert {key: again[key] for key in first} == first


def test_changed_setting_rewrites_the_standings_of_both_versions_in_use(service, competition, solution_csv):
    version = rescorings.prepare(service, competition, solution_csv(seed=2))
    service.run(*waiting(service, version))
    change(service, competition, "")
    with service.database.read() as session:
        assert set(session.scalars(select(Standing.board))) == {MAIN_BOARD}
    change(service, competition, SETTING)
    assert_boards(service, competition, Split.PUBLIC)
    rescorings.publish(service, version)
    assert_boards(service, competition, Split.PUBLIC)
    service.submit(competition, user="ada", seed=99)
    change(service, competition, SETTING.replace("Harm", "Damage"))
    assert stored(service, competition, Split.PUBLIC, "harm") == []
    assert len(stored(service, competition, Split.PUBLIC, "damage")) == 4


def test_file_without_a_value_has_no_rank(service, competition):
    with service.database.write() as session:
        worst = session.scalars(select(Submission.team_id).order_by(Submission.id)).first()
        own = select(Submission.id).where(Submission.team_id == worst)
        session.execute(update(Score).where(Score.submission_id.in_(own)).values(terms={"overall_auc": 0.5}))
    change(service, competition, f"{SETTING}\nOther = score")
    boards = {board: stored(service, competition, Split.PUBLIC, board) for board in (MAIN_BOARD, *BOARDS)}
    assert {board: len(rows) for board, rows in boards.items()} == {
        MAIN_BOARD: 4,
        "accuracy": 4,
        "harm": 3,
        "trade-off": 3,
    }


def test_metric_without_a_needed_value_is_refused_and_the_board_named(service, competition):
    with pytest.raises(
        InvalidCompetition, match=r"line 4 \(Fair\): 'worst group' is not a value of this metric"
    ):
        change(service, competition, f"{SETTING}\nFair = worst group")
    solution = versions._as_stored(lookup.live(competition))
    other = solution.model_copy(update={"rules": Rules(metric=NamedMetric(name="rmse"))})
    with refused("boards_need_values", r"line 1 \(Accuracy\): 'overall_auc' is not a value of this metric"):
        service.act(preparation.prepare, competition=competition, solution=other, reason="Other.")
