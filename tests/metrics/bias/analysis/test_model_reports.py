"""Intervals, comparisons, confusion counts and identities from terms, from the arguments of `bias_report`."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import confusion_matrix, precision_score, recall_score

from fairboard import (
    MetricSettings,
    bias_intervals,
    bias_report,
    compare_models,
    confusion_report,
    identities_from_text,
    prepare,
)
from grader.metrics.bias.analysis.influence import Measured, Sets
from grader.metrics.bias.analysis.intervals import uncertainty_report
from grader.metrics.bias.analysis.paired_differences import paired_report

DICE = np.random.default_rng(26)
LABELS = DICE.random(400) < 0.4
SCORES = LABELS + DICE.normal(size=400)
OTHERS = LABELS + DICE.normal(size=400)
IDENTITIES = {"cat": DICE.random(400) < 0.3, "dog": DICE.random(400) < 0.2}
AUTHORS = DICE.integers(0, 80, size=400)
FRAME = {"y": np.where(LABELS, "toxic", "fine"), "s": SCORES, "b": OTHERS, "a": AUTHORS, **IDENTITIES}
SPLIT = prepare(LABELS, IDENTITIES, in_score=["cat"])
SETTINGS = MetricSettings(power=-2)
OPTIONS = {"positive": "toxic", "settings": SETTINGS, "in_score": ["cat"], "level": 0.9}


def test_intervals_are_those_of_the_uncertainty_report():
    found = bias_intervals("y", "s", ["cat", "dog"], data=pl.DataFrame(FRAME), **OPTIONS)
    assert found == uncertainty_report(Sets(SPLIT), SCORES, SETTINGS, level=0.9)
    assert found.report == bias_report(LABELS, SCORES, IDENTITIES, settings=SETTINGS, in_score=["cat"])


@pytest.mark.parametrize("cluster", ["a", AUTHORS, [f"author {number:02}" for number in AUTHORS]])
def test_intervals_and_comparisons_accept_clusters_as_a_column_or_an_array(cluster):
    sets = Sets.clustered(SPLIT, AUTHORS)
    options = {"data": pd.DataFrame(FRAME), "cluster": cluster, **OPTIONS}
    found = bias_intervals("y", "s", ["cat", "dog"], **options)
    assert found == uncertainty_report(sets, SCORES, SETTINGS, level=0.9)
    compared = compare_models("y", "s", "b", ["cat", "dog"], **options)
    candidate, baseline = (Measured.of(sets, scores, SETTINGS) for scores in (SCORES, OTHERS))
    assert compared.as_dict() == paired_report(sets, candidate, baseline, level=0.9).as_dict()


def test_difference_to_the_same_model_is_tied():
    found = compare_models(LABELS, SCORES, SCORES, IDENTITIES)
    assert found.score.difference == 0
    assert found.score.is_tied


def test_problems_of_cluster_and_baseline_are_reported_together():
    with pytest.raises(ValueError, match="`baseline` must have 400 values") as caught:
        compare_models(LABELS, SCORES, [1.0], IDENTITIES, cluster=AUTHORS[1:])
    assert "`cluster` must have 400 values, not 399." in str(caught.value)


@pytest.mark.parametrize("threshold", [-10, 0.5, float(SCORES[7]), 10])
def test_confusion_counts_equal_those_of_scikit_learn(threshold):
    found = confusion_report(LABELS, SCORES, IDENTITIES, threshold=threshold)
    sets = {
        "cat": (found.subgroups["cat"], IDENTITIES["cat"]),
        "not cat": (found.backgrounds["cat"], ~IDENTITIES["cat"]),
    }
    for counts, rows in [*sets.values(), (found.overall, np.full(400, True))]:
        truth, predicted = LABELS[rows], SCORES[rows] >= threshold
        matrix = confusion_matrix(truth, predicted, labels=[False, True])
        assert matrix.tolist() == [
            [counts.true_negatives, counts.false_positives],
            [counts.false_negatives, counts.true_positives],
        ]
        assert counts.true_positive_rate == recall_score(truth, predicted)
        assert counts.false_positive_rate == pytest.approx(
            recall_score(~truth, predicted) if predicted.any() else 0
        )
        if predicted.any():
            assert counts.precision == precision_score(truth, predicted)
        else:
            assert counts.precision is None


def test_threshold_must_be_finite():
    with pytest.raises(ValueError, match="`threshold` must be finite, not nan"):
        confusion_report(LABELS, SCORES, IDENTITIES, threshold=float("nan"))


def test_terms_match_whole_words_in_any_case():
    texts = [
        "Black cats",
        "blackboard",
        "AFRICAN  american",
        "African-American!",
        "he's gay.",
        "STRASSE",
        None,
    ]
    terms = {"black": ["black", "african american"], "gay": "gay", "street": ["straße"]}
    expected = {
        "black": [True, False, True, True, False, False, False],
        "gay": [False, False, False, False, True, False, False],
        "street": [False, False, False, False, False, True, False],
    }
    for make in (list, pd.Series, pl.Series):
        found = identities_from_text(make(texts), terms)
        assert {name: mask.tolist() for name, mask in found.items()} == expected
    assert identities_from_text(["c++ é"], ["c++", "é", "C"]).keys() == {"c++", "é", "C"}
    assert [bool(mask[0]) for mask in identities_from_text(["c++ e\u0301"], ["c++", "é", "d"]).values()] == [
        *(True, True, False)
    ]


def test_problems_of_texts_and_terms_are_reported_together():
    with pytest.raises(ValueError, match="`texts` must be texts, but 1 of 2 values are not") as caught:
        identities_from_text(
            pd.Series(["a", 5], dtype=object), {"cat": [], "dog": ["dog", " "], "cow": ["cow"]}
        )
    assert len(str(caught.value).splitlines()) == 3
