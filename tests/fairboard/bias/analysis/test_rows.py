"""Input rows for all analyses."""

import numpy as np
import pytest

from fairboard import MetricSettings
from fairboard.bias.analysis import Rows

NAN = float("nan")


@pytest.fixture
def rows():
    return Rows.of([1, 0.5, 0.4, 0], [0.9, 0.8, 0.7, 0.1], {"cat": [1, 0, NAN, 0.5], "dog": [0, 0, 0, 1]})


def test_labels_and_mentions_start_at_one_half(rows):
    assert rows.positive.tolist() == [True, True, False, False]
    assert rows.members["cat"].tolist() == [True, False, False, True]


def test_blank_identity_is_background_or_excluded(rows):
    annotated = Rows.of(rows.labels, rows.predictions, rows.identities, background="annotated")
    assert rows.background_of("cat").tolist() == [False, True, True, False]
    assert annotated.background_of("cat").tolist() == [False, True, False, False]
    assert annotated.background_of("dog").tolist() == [True, True, True, False]


def test_slice_keeps_all_columns_of_its_rows(rows):
    kept = rows.where(np.array([False, True, True, False]))
    assert kept.labels.tolist() == [0.5, 0.4]
    assert kept.predictions.tolist() == [0.8, 0.7]
    assert np.isnan(kept.identities["cat"]).tolist() == [False, True]
    assert kept.size == 2


def test_selected_identities_and_new_predictions_keep_the_other_columns(rows):
    assert rows.only(["dog"]).names == ("dog",)
    other = rows.predicted([1, 2, 3, 4])
    assert other.predictions.tolist() == [1, 2, 3, 4]
    assert other.labels is rows.labels


def test_thresholds_are_configurable():
    settings = MetricSettings(label_threshold=0.8, identity_threshold=0.1)
    rows = Rows.of([0.7, 0.8], [0, 1], {"cat": [0.1, 0.09]}, settings=settings)
    assert rows.positive.tolist() == [False, True]
    assert rows.members["cat"].tolist() == [True, False]


def test_arrays_are_read_only_copies(rows):
    mine = np.array([1.0, 0.0])
    of_mine = Rows.of(mine, mine, {})
    with pytest.raises(ValueError, match="read-only"):
        of_mine.labels[0] = 0
    mine[0] = 0


@pytest.mark.parametrize(
    ("labels", "predictions", "identities", "background", "message"),
    [
        ([1, NAN], [1, 2], {}, "all", "`labels` must be finite"),
        ([1, 0], [1, np.inf], {}, "all", "`predictions` must be finite"),
        ([1, 0], [1], {}, "all", "`predictions` must have 2 values, not 1"),
        ([1, 0], [1, 2], {"cat": [np.inf, 1]}, "all", r"`identities\['cat'\]` must be finite or blank"),
        ([1, 0], [1, 2], {}, "some", '`background` must be "all" or "annotated"'),
    ],
)
def test_invalid_argument_is_named(labels, predictions, identities, background, message):
    with pytest.raises(ValueError, match=message):
        Rows.of(labels, predictions, identities, background=background)
