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


def test_leaderboard_with_equal_values_and_ranks_passes():
    assert disagreements(board(row(1, "one", 0.9001), row(2, "two", 0.9)), EXPECTED) == []


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row(1, "one", 0.90011), row(2, "two", 0.9)], "score is 0.90011, but should be 0.90010"),
        ([row(1, "two", 0.9001), row(2, "two", 0.9)], "team is two, but should be one"),
        ([row(2, "one", 0.9001), row(2, "two", 0.9)], "rank is 2, but should be 1"),
        ([row(1, "one", 0.9001)], "1 rows instead of 2"),
    ],
)
def test_every_difference_from_the_independent_computation_is_named(rows, said):
    assert said in " ".join(disagreements(board(*rows), EXPECTED))


def test_difference_in_the_last_displayed_digit_of_a_term_is_named():
    expected = [replace(EXPECTED[0], bpsn_auc=Decimal("0.9001"))]
    assert disagreements(board(row(1, "one", 0.9001)), expected) == [
        "Rank 1: bpsn_auc is 0.9, but should be 0.9001."
    ]
