from dataclasses import replace
from decimal import Decimal

import pytest

from grader.client.records import BoardRow, Leaderboard
from grader.demo.check import disagreements
from grader.demo.oracle import Line


def line(rank: int, team: str, score: str) -> Line:
    term = Decimal("0.9000")
    return Line(rank, team, Decimal(score), term, term, term, term)


def board(*rows: BoardRow) -> Leaderboard:
    return replace(Leaderboard.of({}), rows=rows)


def row(rank: int, team: str, score: float) -> BoardRow:
    terms = dict.fromkeys(("overall_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc"), 0.9)
    return BoardRow.of({"rank": rank, "team": team, "score": score, "terms": terms})


EXPECTED = [line(1, "one", "0.90010"), line(2, "two", "0.90000")]


def test_a_board_with_the_same_figures_and_ranks_agrees():
    assert disagreements(board(row(1, "one", 0.9001), row(2, "two", 0.9)), EXPECTED) == []


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row(1, "one", 0.90011), row(2, "two", 0.9)], "score is 0.90011, and should be 0.90010"),
        ([row(1, "two", 0.9001), row(2, "two", 0.9)], "team is two, and should be one"),
        ([row(2, "one", 0.9001), row(2, "two", 0.9)], "rank is 2, and should be 1"),
        ([row(1, "one", 0.9001)], "1 lines instead of 2"),
    ],
)
def test_every_difference_from_the_independent_computation_is_named(rows, said):
    assert said in " ".join(disagreements(board(*rows), EXPECTED))


def test_a_term_that_differs_in_the_last_displayed_digit_is_named():
    expected = [replace(EXPECTED[0], bpsn_auc=Decimal("0.9001"))]
    assert disagreements(board(row(1, "one", 0.9001)), expected) == [
        "Rank 1: bpsn_auc is 0.9, and should be 0.9001."
    ]
