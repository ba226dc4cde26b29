"""Identities x labels."""

import json

import pytest

from grader.metrics.analysis.matrix import Matrix

VALUES = {("cat", "toxic"): 0.25, ("cat", "insult"): "there is none.", ("dog", "toxic"): -0.5}


@pytest.fixture
def matrix():
    values = VALUES | {("dog", "insult"): 0.25}
    return Matrix.of("aeg", ["cat", "dog"], ["toxic", "insult"], lambda *place: values[place])


def test_a_cell_without_a_value_says_why(matrix):
    assert matrix.value("cat", "insult") is None
    assert matrix.reasons == {("cat", "insult"): "there is none."}
    assert matrix.values == ((0.25, None), (-0.5, 0.25))


def test_the_lowest_the_highest_and_the_furthest_leave_undefined_cells_out(matrix):
    assert [cell[:2] for cell in matrix.lowest(2)] == [("dog", "toxic"), ("cat", "toxic")]
    assert [cell[:2] for cell in matrix.highest(2)] == [("cat", "toxic"), ("dog", "insult")]
    assert matrix.furthest(1) == [("dog", "toxic", -0.5)]
    assert len(matrix.highest(10)) == 3


def test_the_share_within_a_limit_is_of_the_values_there_are(matrix):
    assert matrix.share_within(0.5) == 2 / 3
    assert matrix.share_within(0.25) == 0
    assert Matrix.of("aeg", [], ["toxic"], lambda *_: 0).share_within(1) is None


def test_a_difference_keeps_what_both_have_and_says_why_a_cell_is_missing(matrix):
    other = Matrix.of("aeg", ["dog", "cow", "cat"], ["toxic", "insult"], lambda *_: 0.125)
    difference = matrix.minus(other)
    assert difference.identities == ("cat", "dog")
    assert difference.values == ((0.125, None), (-0.625, 0.125))
    assert difference.reasons == matrix.reasons
    assert other.minus(matrix).reasons == matrix.reasons


def test_it_is_ready_for_json_and_prints_as_a_table(matrix):
    assert json.loads(json.dumps(matrix.as_dict()))["undefined"] == [
        {"identity": "cat", "label": "insult", "reason": "there is none."}
    ]
    assert str(matrix).splitlines() == [
        "identity     toxic    insult",
        "cat          0.250         -",
        "dog         -0.500     0.250",
    ]
