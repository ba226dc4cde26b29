"""Intervals by the bootstrap."""

import numpy as np
import pytest

from fairboard import bias_bootstrap, bias_report

RNG = np.random.default_rng(1)
LABELS = RNG.integers(0, 2, 300)
CAT = {"cat": RNG.integers(0, 2, 300)}
PREDICTIONS = LABELS + RNG.normal(size=300)


def test_values_are_those_of_the_report_and_lie_in_their_intervals():
    found = bias_bootstrap(LABELS, PREDICTIONS, CAT, samples=200)
    report = bias_report(LABELS, PREDICTIONS, CAT)
    assert found.loc["", "value"].to_dict() == {"score": report.score, **report.terms}
    cells = found.loc["cat", "value"]
    assert cells.to_dict() == report.to_frame().loc["cat", cells.index].to_dict()
    low, value, high = (found[name] for name in ("low", "value", "high"))
    assert ((low < value) & (value < high) & (high < low + 0.4)).all()
    assert found.equals(bias_bootstrap(LABELS, PREDICTIONS, CAT, samples=200))
    assert not found.equals(bias_bootstrap(LABELS, PREDICTIONS, CAT, samples=200, seed=1))


def test_the_interval_contains_95_percent_of_the_samples():
    found = bias_bootstrap(LABELS, PREDICTIONS, {}, samples=400).loc[("", "overall_auc")]
    rng = np.random.default_rng(0)
    drawn = [rng.integers(0, 300, 300) for _ in range(400)]
    aucs = [bias_report(LABELS[rows], PREDICTIONS[rows], {}).overall_auc for rows in drawn]
    assert [found.low, found.high] == pytest.approx(np.quantile(aucs, [0.025, 0.975]))


def test_a_baseline_gives_differences():
    other = PREDICTIONS + RNG.normal(size=300)
    found = bias_bootstrap(LABELS, PREDICTIONS, CAT, baseline=other, samples=200).loc[("", "score")]
    scores = [bias_report(LABELS, each, CAT).score for each in (PREDICTIONS, other)]
    assert found.value == scores[0] - scores[1]
    assert 0 < found.low < found.value < found.high


def test_rows_of_a_cluster_are_drawn_together():
    repeated = np.repeat(np.arange(300), 4)
    data = LABELS[repeated], PREDICTIONS[repeated], {"cat": CAT["cat"][repeated]}
    authors = np.array([f"author {each}" for each in repeated])
    single, naive, clustered = (
        bias_bootstrap(*each, samples=200, **more).loc[("", "score")]
        for each, more in (((LABELS, PREDICTIONS, CAT), {}), (data, {}), (data, {"cluster": authors}))
    )
    assert clustered.high - clustered.low == pytest.approx(single.high - single.low, rel=0.15)
    assert naive.high - naive.low < 0.7 * (single.high - single.low)


def test_an_undefined_value_has_no_interval():
    found = bias_bootstrap([1, 0, 1, 0], [0.9, 0.1, 0.4, 0.5], {"cat": [1, 0, 1, 0]}, samples=50)
    assert found.loc[("cat", "subgroup_auc")].isna().all()
    with pytest.raises(ValueError, match="cluster"):
        bias_bootstrap([1, 0], [0.9, 0.1], {"cat": [1, 0]}, cluster=[1])
