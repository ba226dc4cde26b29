"""Associations of identities with labels and predictions, for data audits."""

import math

import numpy as np
import pandas as pd
import pytest

from fairboard.bias.analysis import Data
from fairboard.bias.analysis.association import (
    TENTHS,
    co_mentions,
    fractions,
    identities_per_row,
    label_correlations,
    mean_labels,
    mean_scores,
    ppmi,
    ppmi_of_counts,
    prediction_correlations,
)

NAN = np.nan


def draw(seed, blanks=0.2, background="all"):
    rng = np.random.default_rng(seed)
    labels, identities = (
        {name: np.round(rng.random(300), 1) for name in names}
        for names in (("toxic", "insult"), ("cat", "dog", "cow"))
    )
    for values in (*labels.values(), *identities.values()):
        values[rng.random(300) < blanks] = NAN
    return Data.of(labels, identities, background=background), {name: rng.random(300) for name in labels}


@pytest.mark.parametrize("reading", ["fractions", "binarized"])
@pytest.mark.parametrize("background", ["all", "annotated"])
def test_correlations_equal_those_of_numpy(reading, background):
    data, predictions = draw(1, background=background)
    of_labels = label_correlations(data, reading)
    of_predictions = prediction_correlations(data, predictions, reading)
    for identity, mentions in data.identities.items():
        for label, truth in data.labels.items():
            kept = ~np.isnan(truth) & data.considered[identity]
            one, other = np.nan_to_num(mentions)[kept], truth[kept]
            if reading == "binarized":
                one, other = one >= 0.5, other >= 0.5
            assert of_labels.loc[identity, label] == pytest.approx(np.corrcoef(one, other)[0, 1], abs=1e-12)
            expected = np.corrcoef(one, predictions[label][kept])[0, 1]
            assert of_predictions.loc[identity, label] == pytest.approx(expected, abs=1e-12)
    constant = Data.of({"toxic": [0, 1, 1], "once": [1, NAN, NAN]}, {"dog": [0, 0, 0]})
    assert label_correlations(constant).isna().all(axis=None)


@pytest.mark.parametrize("background", ["all", "annotated"])
def test_mean_scores_cover_each_class_inside_and_outside_the_subgroup(background):
    data, predictions = draw(2, background=background)
    found = mean_scores(data, predictions).set_index(["label", "identity", "of"])
    assert len(found) == 2 * 3 * 3
    positive, negative = data.labels["insult"] >= 0.5, data.labels["insult"] < 0.5
    for of, rows in {"positive": positive, "negative": negative, "all": positive | negative}.items():
        line = found.loc["insult", "dog", of]
        for part, kept in (
            ("subgroup", rows & data.members["dog"]),
            ("background", rows & ~data.members["dog"] & data.considered["dog"]),
        ):
            assert line[f"{part}_rows"] == kept.sum()
            assert line[f"{part}_mean"] == pytest.approx(predictions["insult"][kept].mean())
        assert line["difference"] == line["subgroup_mean"] - line["background_mean"]


def test_mean_labels_cover_all_rows_and_each_identity():
    data, _ = draw(7)
    means = mean_labels(data).set_index(["identity", "label"])
    cats = data.labels["insult"][data.members["cat"]]
    line = means.loc["cat", "insult"]
    assert line["mean"] == pytest.approx(np.nanmean(cats))
    assert line["mean_of_positives"] == pytest.approx(cats[cats >= 0.5].mean())
    assert (line["rows"], line["positives"]) == ((~np.isnan(cats)).sum(), (cats >= 0.5).sum())
    overall = mean_labels(data).iloc[0]
    assert pd.isna(overall["identity"]) and overall["mean"] == pytest.approx(np.nanmean(data.labels["toxic"]))


def test_ppmi_is_the_logarithm_of_shares_of_comments_or_pairs():
    data, _ = draw(4, blanks=0)
    members, positive = data.members, data.positive
    comments = ppmi(data)
    for identity, one in members.items():
        for label, other in positive.items():
            expected = max(0, math.log((one & other).mean() / (one.mean() * other.mean())))
            assert comments.loc[identity, label] == pytest.approx(expected, abs=1e-12)
    counts = members.to_numpy(float).T @ positive.to_numpy(float)
    joint = counts / counts.sum()
    expected = np.log(joint / (joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)))
    assert ppmi(data, "pairs").to_numpy() == pytest.approx(np.maximum(expected, 0), abs=1e-12)


def test_ppmi_is_zero_without_co_occurrence_and_undefined_without_occurrence():
    labels = {"toxic": [1, 0], "never": [0, 0]}
    data = Data.of(labels, {"cat": [0, 1], "dog": [0, 0], "cow": [1, 0]})
    for unit in ("comments", "pairs"):
        found = ppmi(data, unit)
        assert math.isnan(found.loc["dog", "toxic"]) and math.isnan(found.loc["cow", "never"])
    assert ppmi(data).loc["cat", "toxic"] == 0
    independent = pd.DataFrame([[3, 9], [7, 21]])
    assert ppmi_of_counts(independent).to_numpy().tolist() == [[0, 0], [0, 0]]


def test_every_tenth_has_its_own_bin_and_blanks_are_counted_separately():
    values = [*np.arange(11) / 10, NAN, 0.49999999999999994]
    data = Data.of({"toxic": values}, {"cat": np.zeros(13)})
    found = fractions(data)
    assert found.loc["toxic", ["rows", "blanks"]].tolist() == [12, 1]
    assert found.loc["toxic", list(TENTHS)].tolist() == [1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1]
    with pytest.raises(ValueError, match="`toxic` must be between 0 and 1, but 1 of 2 values"):
        fractions(Data.of({"toxic": [0.5, 1.5]}, {}))


def test_co_mentions_are_counted_in_rows():
    data, _ = draw(6)
    found, members = co_mentions(data), data.members
    assert found.loc["cat", "cow"] == found.loc["cow", "cat"] == (members["cat"] & members["cow"]).sum()
    per_row = members.sum(axis=1)
    assert identities_per_row(data).tolist() == np.bincount(per_row).tolist()
    means = found.sum(axis=1) / np.diag(found)
    assert means["dog"] == pytest.approx(per_row[members["dog"]].mean())
