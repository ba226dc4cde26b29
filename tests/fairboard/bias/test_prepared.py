"""Prepared splits: positive labels and identity mentions."""

import pickle

import numpy as np
import pytest

from fairboard import MetricSettings, PreparedSplit, count_pairs, prepare

JUST_BELOW_HALF = 0.49999999999999994


def test_label_of_exactly_one_half_is_positive():
    split = prepare([0.5, JUST_BELOW_HALF, 0.3 + 0.2, 1.0, 0.0], {})
    assert split.labels.tolist() == [True, False, True, True, False]


def test_identity_is_mentioned_from_one_half_and_never_in_a_blank():
    split = prepare([1, 1, 1, 1], {"cat": [0.5, JUST_BELOW_HALF, np.nan, 1.0]})
    assert split.members[0].tolist() == [0, 3]


def test_blank_counts_as_background_like_a_zero():
    y_score = [0.9, 0.1, 0.8, 0.3, 0.2]
    blank = prepare([1, 0, 1, 0, 1], {"cat": [1, 1, np.nan, np.nan, 0]})
    zero = prepare([1, 0, 1, 0, 1], {"cat": [1, 1, 0, 0, 0]})
    assert count_pairs(blank, y_score) == count_pairs(zero, y_score)


def test_thresholds_are_configurable():
    settings = MetricSettings(label_threshold=0.8, identity_threshold=0.1)
    split = prepare([0.7, 0.8], {"cat": [0.1, 0.09]}, settings=settings)
    assert split.labels.tolist() == [False, True]
    assert split.members[0].tolist() == [0]


@pytest.mark.parametrize("values", [[True, False], [1, 0], np.array([1, 0], np.int8)])
def test_booleans_and_integers_are_valid_labels(values):
    assert prepare(values, {"cat": values}).labels.tolist() == [True, False]


def test_nullable_columns_are_valid_labels_and_identities():
    import pandas as pd

    labels = pd.Series([1, 0, 1], dtype="Int64")
    identity = pd.Series([True, None, False], dtype="boolean")
    split = prepare(labels, {"cat": identity})
    assert split.labels.tolist() == [True, False, True]
    assert split.members[0].tolist() == [0]


@pytest.fixture
def split() -> PreparedSplit:
    rng = np.random.default_rng(3)
    identities = {"cat": rng.random(101), "ein Hund": rng.random(101) * 1.2, "nobody": np.zeros(101)}
    return prepare(rng.random(101), identities, in_score=["cat"])


def test_pickled_split_has_the_same_counts(split):
    y_score = np.random.default_rng(4).random(101)
    before = count_pairs(split, y_score)
    again = pickle.loads(pickle.dumps(split))
    assert (again.names, again.in_score) == (split.names, (True, False, False))
    assert count_pairs(again, y_score) == before


def test_prepared_split_is_immutable(split):
    with pytest.raises(ValueError, match="read-only"):
        split.labels[0] = True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, np.nan], {}), "`labels` must be finite, but 1 of 2 values are not; .* position 1"),
        (([[1, 0]], {}), "`labels` must be one-dimensional"),
        ((["yes", "no"], {}), "`labels` must contain numbers or booleans"),
        (([1, 0], {"cat": [1]}), r"`identities\['cat'\]` must have 2 values, not 1"),
        (([1, 0], {"cat": [1, np.inf]}), r"`identities\['cat'\]` must be finite or blank"),
        (([1, 0], {"cat": [1, "no"]}), r"`identities\['cat'\]` must contain numbers"),
        (([1, 0], {"cat": [None, object()]}), r"`identities\['cat'\]` must contain only numbers"),
    ],
)
def test_invalid_argument_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        prepare(*arguments)


def test_unknown_identity_in_the_score_is_rejected():
    with pytest.raises(ValueError, match="unknown identities: dog"):
        prepare([1, 0], {"cat": [1, 0]}, in_score=["dog"])
