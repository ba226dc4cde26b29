"""Metrics compared with independent implementations in scikit-learn and scipy."""

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, pmean
from sklearn.metrics import roc_auc_score

from fairboard import bias_report


@pytest.fixture(params=[(0, None), (1, 2), (2, 1)], ids=["few ties", "two decimals", "one decimal"])
def data(request):
    seed, decimals = request.param
    rng = np.random.default_rng(seed)
    rows = 3000
    labels = rng.random(rows) < 0.1
    identities = {f"identity {k}": rng.random(rows) < 0.02 * (k + 2) for k in range(6)}
    y_score = 1 / (1 + np.exp(2 - 2 * labels - rng.normal(size=rows) - identities["identity 1"]))
    return labels, y_score if decimals is None else np.round(y_score, decimals), identities


def test_every_auc_equals_that_of_scikit_learn(data):
    labels, y_score, identities = data
    report = bias_report(labels, y_score, identities)
    assert report.overall_auc == pytest.approx(roc_auc_score(labels, y_score), abs=1e-13)
    for subgroup in report.subgroups:
        inside = identities[subgroup.name]
        subsets = {
            "subgroup_auc": inside,
            "bpsn_auc": inside & ~labels | ~inside & labels,
            "bnsp_auc": inside & labels | ~inside & ~labels,
        }
        for name, rows in subsets.items():
            expected = roc_auc_score(labels[rows], y_score[rows])
            assert getattr(subgroup, name) == pytest.approx(expected, abs=1e-13)


def test_every_gap_follows_from_the_mann_whitney_u_of_scipy(data):
    labels, y_score, identities = data
    for subgroup in bias_report(labels, y_score, identities).subgroups:
        inside = identities[subgroup.name]
        for value, kind in ((subgroup.positive_aeg, labels), (subgroup.negative_aeg, ~labels)):
            background, mentioned = y_score[~inside & kind], y_score[inside & kind]
            u = mannwhitneyu(background, mentioned).statistic
            expected = 0.5 - u / (background.size * mentioned.size)
            assert value == pytest.approx(expected, abs=1e-13)


def test_score_follows_the_formula_of_the_evaluation_page(data):
    report = bias_report(*data)
    means = [
        pmean([getattr(subgroup, name) for subgroup in report.subgroups], -5)
        for name in ("subgroup_auc", "bpsn_auc", "bnsp_auc")
    ]
    assert list(report.terms.values())[1:] == pytest.approx(means, abs=1e-14)
    assert report.score == pytest.approx(0.25 * (report.overall_auc + sum(means)), abs=1e-14)
