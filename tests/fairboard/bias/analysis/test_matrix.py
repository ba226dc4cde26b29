"""Identity-by-label matrices."""

import json

import pytest

from fairboard.bias.analysis.matrix import Matrix

VALUES = {("cat", "toxic"): 0.25, ("cat", "insult"): "there is none.", ("dog", "toxic"): -0.5}


@pytest.fixture
def matrix():
    values = VALUES | {("dog", "insult"): 0.25}
    return Matrix.of("aeg", ["cat", "dog"], ["toxic", "insult"], lambda *place: values[place])


def test_undefined_cell_has_a_reason(matrix):
    assert matrix.value("cat", "insult") is None
    assert matrix.reasons == {("cat", "insult"): "there is none."}
    assert matrix.values == ((0.25, None), (-0.5, 0.25))


def test_extremes_exclude_undefined_cells(matrix):
    assert [cell[:2] for cell in matrix.lowest(2)] == [("dog", "toxic"), ("cat", "toxic")]
    assert [cell[:2] for cell in matrix.highest(2)] == [("cat", "toxic"), ("dog", "insult")]
    assert matrix.furthest(1) == [("dog", "toxic", -0.5)]
    assert len(matrix.highest(10)) == 3


def test_share_within_a_limit_counts_defined_values_only(matrix):
    assert matrix.share_within(0.5) == 2 / 3
    assert matrix.share_within(0.25) == 0
    assert Matrix.of("aeg", [], ["toxic"], lambda *_: 0).share_within(1) is None


def test_difference_covers_common_cells_and_explains_missing_ones(matrix):
    other = Matrix.of("aeg", ["dog", "cow", "cat"], ["toxic", "insult"], lambda *_: 0.125)
    difference = matrix.minus(other)
    assert difference.identities == ("cat", "dog")
    assert difference.values == ((0.125, None), (-0.625, 0.125))
    assert difference.reasons == matrix.reasons
    assert other.minus(matrix).reasons == matrix.reasons


def test_matrix_serializes_to_json_and_prints_as_a_table(matrix):
    assert json.loads(json.dumps(matrix.as_dict()))["undefined"] == [
        {"identity": "cat", "label": "insult", "reason": "there is none."}
    ]
    assert str(matrix).splitlines() == [
        "identity     toxic    insult",
        "cat          0.250         -",
        "dog         -0.500     0.250",
    ]
