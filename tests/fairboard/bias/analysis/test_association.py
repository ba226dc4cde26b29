"""Associations of identities and predictions: correlations, means, AUCs by threshold."""

import numpy as np
import pytest

from fairboard.bias.analysis.annotations import Annotations
from fairboard.bias.analysis.association import (
    mean_scores,
    prediction_correlations,
)
from fairboard.bias.analysis.distributions import deviation, mean

NAN = float("nan")


@pytest.fixture
def drawn():
    rng = np.random.default_rng(11)
    labels = {name: np.round(rng.random(200), 1) for name in ("toxic", "insult")}
    identities = {name: np.round(rng.random(200), 1) for name in ("cat", "dog")}
    labels["insult"][:50] = NAN
    identities["dog"][30:90] = NAN
    return labels, identities, {name: rng.random(200) for name in labels}


@pytest.mark.parametrize("background", ["all", "annotated"])
def test_correlation_uses_the_rows_with_a_label(drawn, background):
    labels, identities, predictions = drawn
    annotations = Annotations.of(labels, identities, background=background)
    for reading in ("fractions", "binarized"):
        found = prediction_correlations(annotations, predictions, reading)
        kept = ~np.isnan(labels["insult"])
        dog = np.nan_to_num(identities["dog"])
        if background == "annotated":
            kept &= ~np.isnan(identities["dog"])
        dog = dog >= 0.5 if reading == "binarized" else dog
        expected = np.corrcoef(dog[kept], predictions["insult"][kept])[0, 1]
        assert found.value("dog", "insult") == pytest.approx(expected, abs=1e-12)


def test_constant_predictions_have_no_correlation(drawn):
    labels, identities, _ = drawn
    found = prediction_correlations(Annotations.of(labels, identities), np.full(200, 0.3))
    assert found.defined() == []
    assert set(found.reasons.values()) == {"the prediction is the same in all rows."}


@pytest.mark.parametrize("background", ["all", "annotated"])
def test_mean_scores_cover_each_class_inside_and_outside_the_subgroup(drawn, background):
    labels, identities, predictions = drawn
    annotations = Annotations.of(labels, identities, background=background)
    found = {(each.label, each.identity, each.of): each for each in mean_scores(annotations, predictions)}
    assert len(found) == 2 * 2 * 3
    positive = labels["insult"] >= 0.5
    negative = labels["insult"] < 0.5
    for of, rows in {"positive": positive, "negative": negative, "all": positive | negative}.items():
        inside = rows & (identities["dog"] >= 0.5)
        outside = rows & ~(identities["dog"] >= 0.5)
        if background == "annotated":
            outside &= ~np.isnan(identities["dog"])
        each = found["insult", "dog", of]
        assert (each.subgroup_rows, each.background_rows) == (inside.sum(), outside.sum())
        assert each.subgroup_mean == pytest.approx(predictions["insult"][inside].mean())
        assert each.background_mean == pytest.approx(predictions["insult"][outside].mean())
        assert each.as_dict()["difference"] == each.subgroup_mean - each.background_mean


def test_means_of_huge_predictions_are_finite():
    annotations = Annotations.of({"toxic": [1, 1, 0, 0]}, {"cat": [1, 1, 0, 0]})
    found = mean_scores(annotations, [1.5e308, 1.5e308, 1e-300, 3e-300])
    assert [each.subgroup_mean for each in found[:2]] == [1.5e308, 1.5e308]
    assert mean_scores(Annotations.of({"toxic": []}, {"cat": []}), [])[0].subgroup_mean is None


def test_mean_is_none_without_rows():
    annotations = Annotations.of({"toxic": [1, 0]}, {"cat": [1, 0]})
    positive = mean_scores(annotations, [0.9, 0.1])[1]
    assert (positive.subgroup_mean, positive.background_mean, positive.difference) == (0.9, None, None)


def test_moments_neither_overflow_nor_underflow():
    assert mean(np.array([1.5e308, 1.5e308])) == 1.5e308
    assert mean(np.array([])) is None
    assert deviation(np.array([1e200, -1e200])) == pytest.approx(2**0.5 * 1e200)
    assert deviation(np.array([1e-200, -1e-200])) == pytest.approx(2**0.5 * 1e-200)
    assert deviation(np.full(7, 0.1)) == 0
    assert deviation(np.array([1.0])) is None
