"""Labels and identities without predictions."""

import numpy as np
import pytest

from fairboard import MetricSettings
from fairboard.bias.analysis.annotations import Annotations

NAN = float("nan")


@pytest.fixture
def annotations():
    return Annotations.of(
        {"toxic": [1, 0.5, 0.4, 0], "insult": [NAN, 1, 0, NAN]},
        {"cat": [1, NAN, 0, 0.5], "dog": [0, 0, 0, 1]},
    )


def test_labels_and_mentions_start_at_one_half(annotations):
    assert annotations.positive["toxic"].tolist() == [True, True, False, False]
    assert annotations.members["cat"].tolist() == [True, False, False, True]
    assert annotations.sizes() == {"cat": 2, "dog": 1}


def test_thresholds_are_configurable():
    settings = MetricSettings(label_threshold=0.8, identity_threshold=0.1)
    annotations = Annotations.of({"toxic": [0.7, 0.8]}, {"cat": [0.1, 0.09]}, settings=settings)
    assert annotations.positive["toxic"].tolist() == [False, True]
    assert annotations.members["cat"].tolist() == [True, False]


def test_rows_without_a_label_are_excluded_for_that_label(annotations):
    rows = annotations.rows("insult", [4, 3, 2, 1])
    assert rows.labels.tolist() == [1, 0]
    assert rows.predictions.tolist() == [3, 2]
    assert np.isnan(rows.identities["cat"]).tolist() == [True, False]
    assert annotations.rows("toxic", [4, 3, 2, 1]).size == 4


def test_blank_identity_is_background_or_excluded(annotations):
    assert annotations.considered["cat"].all()
    strict = Annotations.of(annotations.labels, annotations.identities, background="annotated")
    assert strict.considered["cat"].tolist() == [True, False, True, True]
    assert strict.rows("toxic", [1, 2, 3, 4]).background == "annotated"


def test_rows_can_be_selected_by_mask_or_index(annotations):
    assert annotations.at(np.array([3, 0])).labels["toxic"].tolist() == [0, 1]
    assert annotations.at(annotations.positive["toxic"]).size == 2


@pytest.mark.parametrize(
    ("labels", "identities", "background", "message"),
    [
        ({}, {}, "all", "`labels` must contain at least one label"),
        ({"toxic": [1, np.inf]}, {}, "all", r"`labels\['toxic'\]` must be finite or blank"),
        ({"toxic": [1, 0]}, {"cat": [1]}, "all", r"`identities\['cat'\]` must have 2 values, not 1"),
        ({"toxic": [1, 0]}, {}, "none", '`background` must be "all" or "annotated"'),
    ],
)
def test_invalid_argument_is_named(labels, identities, background, message):
    with pytest.raises(ValueError, match=message):
        Annotations.of(labels, identities, background=background)


def test_invalid_predictions_are_named_by_their_label(annotations):
    with pytest.raises(ValueError, match=r"`predictions\['insult'\]` must be finite"):
        annotations.rows("insult", [1, NAN, 2, 3])
    with pytest.raises(ValueError, match=r"`predictions\['toxic'\]` must have 4 values, not 1"):
        annotations.rows("toxic", [1])
