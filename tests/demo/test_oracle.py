from decimal import Decimal
from pathlib import Path

import pytest

from grader.client.records import Leaderboard
from grader.demo.oracle import Line, leaderboards
from grader.demo.run import disagreements

SOLUTION = """id,target,a,b,Usage
1,1,1,0,Public
2,0,1,0,Public
3,1,0,1,Public
4,0,0,1,Public
5,1,1,1,Private
6,0,1,1,Private
7,1,,,Private
8,0,,,Private
9,1,0,0,Ignored
"""


@pytest.fixture
def solution(tmp_path: Path) -> Path:
    path = tmp_path / "solution.csv"
    path.write_text(SOLUTION)
    return path


@pytest.fixture
def entry(tmp_path: Path):
    def write(team: str, predictions: list[float]) -> tuple[str, Path]:
        path = tmp_path / f"{team}-{len(list(tmp_path.iterdir()))}.csv"
        lines = [f"{at},{value}" for at, value in enumerate(predictions, start=1)]
        path.write_text("\n".join(["id,prediction", *lines]))
        return team, path

    return write


PERFECT = [1, 0, 1, 0, 1, 0, 1, 0, 0]
INVERTED = [0, 1, 0, 1, 0, 1, 0, 1, 1]
PUBLIC_ONLY = [1, 0, 1, 0, 0.5, 0.5, 0.5, 0.5, 0.5]
CONSTANT = [0.5] * 9


def test_leaderboard_is_sorted_by_score_and_ties_go_to_the_earlier_file(solution, entry):
    entries = [entry("second", CONSTANT), entry("third", CONSTANT), entry("first", PERFECT)]
    lines = leaderboards(solution, entries)["public"]
    assert [(line.rank, line.team) for line in lines] == [(1, "first"), (2, "second"), (3, "third")]
    assert [str(line.score) for line in lines] == ["1.00000", "0.50000", "0.50000"]
    assert str(lines[0].bpsn_auc) == "1.0000"


def test_team_is_ranked_by_its_best_public_file(solution, entry):
    (line,) = leaderboards(solution, [entry("t", CONSTANT), entry("t", PERFECT)])["public"]
    assert line.score == 1


def test_team_is_ranked_privately_by_the_better_of_its_two_best_public_files(solution, entry):
    only_privately_good = [*CONSTANT[:4], *PERFECT[4:]]
    entries = [entry("t", only_privately_good), entry("t", PUBLIC_ONLY), entry("t", PUBLIC_ONLY)]
    (line,) = leaderboards(solution, entries)["private"]
    assert line.score == Decimal("0.5")


def test_auc_of_zero_makes_its_power_mean_zero(solution, entry):
    (line,) = leaderboards(solution, [entry("t", INVERTED)])["public"]
    assert line.score == 0


@pytest.mark.parametrize(
    ("score", "ranks"), [("0.90001", (1, 2)), ("0.9", (2, 1)), ("0.9", (1,))], ids=["score", "ranks", "rows"]
)
def test_every_difference_from_the_independent_computation_is_named(score: str, ranks: tuple[int, ...]):
    terms = dict.fromkeys(("overall_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc"), 0.8)

    def board(score: str, *ranks: int) -> Leaderboard:
        rows = [{"rank": rank, "team": "t", "score": float(score), "terms": terms} for rank in (*ranks, None)]
        return Leaderboard.of({"rows": rows})

    expected = [Line(rank, "t", Decimal("0.9"), *[Decimal("0.8")] * 4) for rank in (1, 2)]
    assert disagreements(board("0.9", 1, 2), expected) == []
    assert disagreements(board(score, *ranks), expected)
