"""Confidence intervals: DeLong's variance, its propagation to means, coverage."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.metrics import (
    MetricSettings,
    Weights,
    prepare,
)
from grader.metrics.analysis import intervals
from grader.metrics.analysis.influence import CELLS, Sets
from grader.metrics.analysis.intervals import (
    bootstrap,
    logit_interval,
    percentile_interval,
    quantile,
    uncertainty_report,
)
from grader.metrics.analysis.paired_differences import Measured, paired_report, score_difference

TERMS = ("subgroup_auc", "bpsn_auc", "bnsp_auc")


def draw(
    rows: int, seed: int, *, identities: int = 3, share: float = 0.3, digits: int | None = None
) -> tuple[Any, dict[str, Any], Any]:
    """Generate rows with overlapping identities, some of which shift the predictions."""
    dice = np.random.default_rng(seed)
    labels = dice.random(rows) < 0.4
    mentions = {f"g{number}": dice.random(rows) < share for number in range(identities)}
    pushed = 0.4 * mentions["g0"] - 0.2 * mentions["g1"]
    scores = 1.5 * labels + pushed + dice.normal(size=rows)
    return labels, mentions, scores if digits is None else np.round(scores, digits)


def compared(labels, mentions) -> dict[str, tuple[Any, Any]]:
    return {
        "subgroup_auc": (labels & mentions, ~labels & mentions),
        "bpsn_auc": (labels & ~mentions, ~labels & mentions),
        "bnsp_auc": (labels & mentions, ~labels & ~mentions),
        "positive_aeg": (labels & ~mentions, labels & mentions),
        "negative_aeg": (~labels & ~mentions, ~labels & mentions),
    }


def by_every_pair(scores, first, second) -> tuple[float, float, Any]:
    """Return the AUC, DeLong's variance and influence values from the full matrix of pairs."""
    one, two = scores[first], scores[second]
    wins = (one[:, None] > two[None]) + 0.5 * (one[:, None] == two[None])
    auc, below, above = wins.mean(), wins.mean(axis=1), wins.mean(axis=0)
    influence = np.zeros(scores.size)
    influence[first] = (below - auc) / math.sqrt(one.size * (one.size - 1))
    influence[second] = (above - auc) / math.sqrt(two.size * (two.size - 1))
    return auc, below.var(ddof=1) / one.size + above.var(ddof=1) / two.size, influence


@given(
    seed=st.integers(0, 10**6), digits=st.sampled_from([None, 0, 1]), power=st.sampled_from([-5.0, 0, 1.0])
)
def test_every_standard_error_equals_that_of_the_matrix_of_pairs(seed: int, digits: int | None, power: float):
    labels, mentions, scores = draw(150, seed, digits=digits)
    settings = MetricSettings(power=power, weights=Weights(0.4, 0.3, 0.2, 0.1))
    found = uncertainty_report(Sets(prepare(labels, mentions)), scores, settings)
    total = 0.4 * by_every_pair(scores, labels, ~labels)[2]
    means = {term: np.zeros(scores.size) for term in TERMS}
    for name, members in mentions.items():
        for cell, sets in compared(labels, members).items():
            auc, variance, influence = by_every_pair(scores, *sets)
            assert found.cells[name][cell].standard_error == pytest.approx(math.sqrt(variance), abs=1e-12)
            if cell in TERMS:
                mean = getattr(found.report.power_means, cell)
                means[cell] += (mean / auc) ** (1 - power) / 3 * influence
    for term, weight in zip(TERMS, (0.3, 0.2, 0.1), strict=True):
        error = math.sqrt(means[term] @ means[term])
        assert found.power_means[term].standard_error == pytest.approx(error, abs=1e-12)
        total += weight * means[term]
    assert found.score.standard_error == pytest.approx(math.sqrt(total @ total), abs=1e-12)


def test_undefined_aucs_of_an_identity_do_not_change_the_error_of_its_other_terms():
    labels, mentions, scores = draw(150, 3)
    mentions["g1"] |= labels
    found = uncertainty_report(Sets(prepare(labels, mentions)), scores, MetricSettings(undefined="skip"))
    influence = np.zeros(scores.size)
    for members in mentions.values():
        auc, _, of_identity = by_every_pair(scores, *compared(labels, members)["bnsp_auc"])
        influence += (found.report.power_means.bnsp_auc / auc) ** 6 / 3 * of_identity
    error = math.sqrt(influence @ influence)
    assert found.report.subgroups[1].bpsn_auc is None
    assert found.power_means["bnsp_auc"].standard_error == pytest.approx(error, abs=1e-12)


@given(seed=st.integers(0, 10**6), digits=st.sampled_from([None, 1]))
def test_paired_difference_has_the_error_of_the_influence_differences(seed: int, digits: int | None):
    labels, mentions, scores = draw(150, seed, digits=digits)
    others = scores + np.random.default_rng(seed).normal(size=scores.size)
    sets = Sets(prepare(labels, mentions))
    first, second = Measured.of(sets, scores), Measured.of(sets, others)
    found = paired_report(sets, first, second)
    for name, members in mentions.items():
        for cell, rows in compared(labels, members).items():
            mine, theirs = by_every_pair(scores, *rows)[2], by_every_pair(others, *rows)[2]
            error = math.sqrt(np.square(mine - theirs).sum())
            assert found.cells[name][cell].standard_error == pytest.approx(error, abs=1e-12)
    assert found.score == score_difference(first, second)
    assert first.report.score is not None
    assert second.report.score is not None
    assert found.score.difference == first.report.score - second.report.score


def test_submission_is_tied_with_itself_and_any_monotone_transform():
    labels, mentions, scores = draw(300, 3)
    sets = Sets(prepare(labels, mentions))
    found = score_difference(Measured.of(sets, scores), Measured.of(sets, np.exp(scores)))
    assert (found.difference, found.standard_error, found.p_value) == (0, 0, 1)
    assert found.is_tied


def test_much_worse_submission_is_not_tied():
    labels, mentions, scores = draw(2000, 3)
    sets = Sets(prepare(labels, mentions))
    found = score_difference(Measured.of(sets, scores), Measured.of(sets, -scores))
    assert not found.is_tied
    assert found.p_value is not None
    assert found.p_value < 1e-9


def test_difference_of_similar_submissions_has_a_smaller_error_than_their_scores():
    labels, mentions, scores = draw(2000, 5)
    sets = Sets(prepare(labels, mentions))
    noisy = scores + 0.1 * np.random.default_rng(1).normal(size=scores.size)
    alone = uncertainty_report(sets, scores).score.standard_error
    paired = score_difference(Measured.of(sets, scores), Measured.of(sets, noisy)).standard_error
    assert alone is not None
    assert paired is not None
    assert paired < alone / 3


def test_standard_errors_agree_with_a_stratified_bootstrap():
    labels, mentions, scores = draw(3000, 7)
    split = prepare(labels, mentions)
    found = uncertainty_report(Sets(split), scores)
    drawn = bootstrap(split, scores, repeats=400, seed=1)
    values = np.array([report.score for report in drawn])
    assert found.score.standard_error == pytest.approx(values.std(ddof=1), rel=0.12)
    low, high = percentile_interval(values)
    assert (found.score.low, found.score.high) == pytest.approx((low, high), abs=0.006)
    for place, name in enumerate(mentions):
        for cell in CELLS:
            values = np.array([getattr(report.subgroups[place], cell) for report in drawn])
            assert found.cells[name][cell].standard_error == pytest.approx(values.std(ddof=1), rel=0.15)


def test_logit_interval_stays_in_range_and_is_wider_towards_one_half():
    low, high = logit_interval(0.98, 0.02)
    assert low is not None
    assert high is not None
    assert 0 < low < 0.98 < high < 1
    assert 0.98 - low > high - 0.98
    assert logit_interval(1.0, 0.0) == (None, None)
    assert logit_interval(0.5, 0.0) == (None, None)
    assert quantile(0.95) == pytest.approx(1.959964, abs=1e-6)


def test_undefined_or_single_row_values_have_no_interval():
    found = uncertainty_report(
        Sets(prepare([1, 1, 1, 0, 0, 0], {"lone": [1, 0, 0, 0, 0, 0], "twin": [1, 0, 0, 1, 0, 0]})),
        [0.9, 0.4, 0.7, 0.5, 0.2, 0.1],
    )
    assert found.cells["lone"]["subgroup_auc"].value is None
    assert found.cells["twin"]["subgroup_auc"].value == 1
    assert found.cells["twin"]["subgroup_auc"].standard_error is None
    assert found.score.value is None
    assert found.overall_auc.low is not None


def test_zero_variance_has_no_interval_and_no_decision():
    labels, mentions, scores = draw(300, 3)
    sets = Sets(prepare(labels, mentions))
    constant, perfect = np.zeros(300), labels.astype(float)
    for predictions, gap in ((constant, 0.0), (perfect, 0.0)):
        found = uncertainty_report(sets, predictions)
        for each in (found.score, found.overall_auc, *found.cells["g0"].values()):
            assert (each.standard_error, each.low, each.high, each.is_checked) == (0, None, None, False)
        assert found.cells["g0"]["positive_aeg"].value == gap
    apart = paired_report(sets, Measured.of(sets, perfect), Measured.of(sets, constant))
    assert apart.overall_auc.difference == 0.5
    for each in (apart.score, apart.cells["g0"]["subgroup_auc"]):
        assert (each.low, each.high, each.p_value, each.is_tied) == (None, None, None, None)
    assert scores.size == 300


def test_unchecked_coverage_is_marked_in_reports_and_differences():
    labels, mentions, scores = draw(3000, 9)
    mentions["rare"] = np.arange(3000) < 60
    sets = Sets(prepare(labels, mentions))
    noisy = scores + 0.1 * np.random.default_rng(1).normal(size=scores.size)
    paired = paired_report(sets, Measured.of(sets, scores), Measured.of(sets, noisy))
    for found in (paired, uncertainty_report(sets, scores)):
        assert found.cells["g0"]["subgroup_auc"].is_checked
        assert not found.cells["rare"]["subgroup_auc"].is_checked
        assert found.overall_auc.is_checked
        assert not found.score.is_checked
    worse = paired_report(sets, Measured.of(sets, scores), Measured.of(sets, -scores))
    assert not worse.overall_auc.is_checked


def _coverage(draws: int, rows: int, share: float, *, population: int = 600_000) -> dict[str, float]:
    """Return, for each name, the share of samples whose interval contains the population's value."""
    truth = {name: value for name, (value, _, _) in _intervals(population, 10**6, share).items()}
    held = dict.fromkeys(truth, 0)
    for seed in range(draws):
        for name, (_, low, high) in _intervals(rows, seed, share).items():
            held[name] += low <= truth[name] <= high
    return {name: count / draws for name, count in held.items()}


def _intervals(rows: int, seed: int, share: float) -> dict[str, tuple[float, float, float]]:
    sets, scores = _sets_of(rows, seed, share)
    found = uncertainty_report(sets, scores)
    paired = paired_report(sets, Measured.of(sets, scores), _noisier(rows, seed, share))
    differences = {"difference": paired.score, "bpsn_auc difference of g0": paired.cells["g0"]["bpsn_auc"]}
    estimates: dict[str, Any] = {"score": found.score, "overall_auc": found.overall_auc, **found.power_means}
    estimates |= {f"{cell} of g0": each for cell, each in found.cells["g0"].items()}
    intervals = {name: (each.value, each.low, each.high) for name, each in estimates.items()}
    return intervals | {name: (each.difference, each.low, each.high) for name, each in differences.items()}  # type: ignore[misc]


def _sets_of(rows: int, seed: int, share: float) -> tuple[Sets, Any]:
    labels, mentions, scores = draw(rows, seed, share=share)
    return Sets(prepare(labels, mentions)), scores


def _noisier(rows: int, seed: int, share: float) -> Measured:
    sets, scores = _sets_of(rows, seed, share)
    return Measured.of(sets, scores + np.random.default_rng(seed + 10**7).normal(size=rows))


def test_95_percent_intervals_cover_the_true_value_about_95_times_in_100():
    for name, share in _coverage(200, 1500, 0.3, population=150_000).items():
        assert 0.91 <= share <= 0.985, name


@pytest.mark.long
@pytest.mark.parametrize(("rows", "share"), [(500, 0.3), (1500, 0.3), (1500, 0.1), (6000, 0.05)])
def test_coverage_is_93_to_97_percent_with_at_least_50_rows_per_class(rows: int, share: float):
    for name, held in _coverage(4000, rows, share).items():
        assert 0.93 <= held <= 0.97, name


def test_predictions_of_wrong_length_are_named():
    with pytest.raises(ValueError, match="`y_score` must have 4 values, not 3"):
        uncertainty_report(Sets(prepare([1, 0, 1, 0], {"a": [1, 1, 0, 0]})), [0.1, 0.2, 0.3])


def test_interval_is_checked_within_the_simulated_aucs_and_row_counts():
    (lowest, highest), rows = intervals.CHECKED_AUCS, intervals.CHECKED_ROWS
    for auc, is_checked in ((lowest, True), (lowest - 1e-6, False), (highest, True), (highest + 1e-6, False)):
        assert intervals.is_checked_cell("subgroup_auc", auc, (rows, rows)) is is_checked
    assert not intervals.is_checked_cell("subgroup_auc", highest, (rows - 1, 9 * rows))
    for gap, is_checked in (
        (0.5 - highest, True),
        (0.5 - highest - 1e-6, False),
        (0.0, True),
        (highest - 0.5 + 1e-6, False),
    ):
        assert intervals.is_checked_cell("positive_aeg", gap, (rows, rows)) is is_checked
    assert intervals.is_checked_cell("negative_aeg", highest - 0.5 - 1e-9, (rows, rows))
