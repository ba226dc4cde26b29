"""Labels and identities of rows, and exact counts of all comparisons."""

import numpy as np
import pytest

from fairboard import MetricSettings
from fairboard.bias.analysis import Data
from fairboard.bias.analysis.data import by_label, count
from fairboard.bias.analysis.table import overall_aucs

NAN = np.nan
CELLS = {
    "subgroup_auc": "pn",
    "bpsn_auc": "Pn",
    "bnsp_auc": "pN",
    "positive_aeg": "Pp",
    "negative_aeg": "Nn",
    "background_auc": "PN",
}


@pytest.fixture
def data():
    labels = {"toxic": [1, 0.5, 0.4, 0], "insult": [NAN, 1, 0, NAN]}
    return Data.of(labels, {"cat": [1, NAN, 0, 0.5], "dog": [0, 0, 0, 1]})


def draw(seed, background="all", size=120):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, size)
    identities = {name: rng.choice([0, 1, NAN], size) for name in ("cat", "dog")}
    return Data.of(labels, identities, background=background), rng.integers(0, 9, size) + labels


def test_labels_and_mentions_start_at_the_thresholds(data):
    assert (data.label, data.positive["toxic"].tolist()) == ("toxic", [True, True, False, False])
    assert data.members["cat"].tolist() == [True, False, False, True]
    assert data.sizes() == {"cat": 2, "dog": 1}
    settings = MetricSettings(label_threshold=0.8, identity_threshold=0.1)
    other = Data.of([0.7, 0.8], {"cat": [0.1, 0.09]}, settings=settings)
    assert (other.positive["label"].tolist(), other.members["cat"].tolist()) == ([False, True], [True, False])


@pytest.mark.parametrize(
    ("labels", "identities", "background", "name"),
    [
        ({}, {}, "all", "labels"),
        ({"toxic": [1, np.inf]}, {}, "all", "labels"),
        ({"toxic": [1, 0]}, {"cat": [1]}, "all", "identities"),
        ({"toxic": [1, 0]}, {1: [1, 0], "1": [0, 0]}, "all", "identities"),
        ({"toxic": [1, 0]}, {}, "none", "background"),
    ],
)
def test_invalid_argument_is_named(labels, identities, background, name):
    with pytest.raises(ValueError, match=f"`{name}"):
        Data.of(labels, identities, background=background)


@pytest.mark.parametrize("predictions", [{"insult": [1, NAN, 2, 3]}, {"toxic": [1]}, {"rude": [1] * 4}])
def test_invalid_predictions_are_rejected(data, predictions):
    with pytest.raises(ValueError, match="`predictions"):
        by_label(data, predictions)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("background", ["all", "annotated"])
def test_counts_equal_a_comparison_of_every_pair(seed, background):
    data, predictions = draw(seed, background)
    counted = count(data, predictions)
    for name, cells in counted.items():
        kept, inside = data.considered[name], data.members[name]
        of = {
            letter: predictions[kept & mask & (data.positive["label"] == positive)]
            for mask, letters in ((inside, "pn"), (~inside, "PN"))
            for letter, positive in zip(letters, (True, False), strict=True)
        }
        for cell, (first, second) in CELLS.items():
            wins = sum(2 * (one > other) + (one == other) for one in of[first] for other in of[second])
            assert tuple(cells[cell]) == (wins, of[first].size, of[second].size)


def test_rows_without_a_label_are_left_out(data):
    assert count(data, [4, 3, 2, 1], "insult")["cat"]["bnsp_auc"].first == 0
    assert overall_aucs(data, {"insult": [4, 3, 2, 1]})["insult"] == 1
