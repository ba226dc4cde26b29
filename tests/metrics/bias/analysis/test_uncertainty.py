"""Confidence intervals: DeLong's variance, its propagation to means, coverage."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from grader.metrics import (
    MetricSettings,
    Weights,
    bias_report,
    prepare,
)
from grader.metrics.bias.analysis.influence import CELLS, Measured, Sets
from grader.metrics.bias.analysis.intervals import (
    CHECKED_CELLS,
    CHECKED_DIFFERENCES,
    CHECKED_MEANS,
    ValidatedRange,
    auc_interval,
    is_checked_cell,
    logit_interval,
    quantile,
    share_interval,
    student_quantile,
    two_sided_p_value,
    uncertainty_report,
)
from grader.metrics.bias.analysis.paired_differences import paired_report, score_difference
from tests.fixtures.bootstrap import bootstrap

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


@given(seed=st.integers(0, 10**6), digits=st.sampled_from([None, 1]))
def test_clustered_errors_are_those_of_the_influences_added_by_cluster(seed: int, digits: int | None):
    labels, mentions, scores = draw(150, seed, digits=digits)
    dice = np.random.default_rng(seed)
    others = scores + dice.normal(size=scores.size)
    clusters = dice.choice(["ann", "bob", "cat", "dan", *map(str, range(60))], size=scores.size)
    split = prepare(labels, mentions)
    sets = Sets.clustered(split, clusters)
    found = uncertainty_report(sets, scores)
    paired = paired_report(sets, Measured.of(sets, scores), Measured.of(sets, others))

    def error(influence: Any) -> float:
        """Return the standard error, for which the deviation of each cluster is that of leaving it out."""
        sizes = {each: (abs(influence[clusters == each]) > 1e-15).sum() for each in set(clusters)}
        counted, total = max(sum(size > 0 for size in sizes.values()), 2), max(sum(sizes.values()), 1)
        left = [
            (1 - 1 / counted) / (1 - min(size / total, 0.9)) * influence[clusters == e].sum()
            for e, size in sizes.items()
        ]
        return math.sqrt(sum(each**2 for each in left))

    def by_cluster(influence: Any, *sets: Any) -> Any:
        """Replace n / (n - 1) of each set by that of its clusters."""
        adapted = influence.copy()
        for rows in sets:
            n, units = rows.sum(), len(set(clusters[rows]))
            adapted[rows] *= math.sqrt(units / (units - 1) * (n - 1) / n)
        return adapted

    means, total = {}, by_cluster(by_every_pair(scores, labels, ~labels)[2], labels, ~labels)
    assert found.overall_auc.standard_error == pytest.approx(error(total), abs=1e-12)
    for name, members in mentions.items():
        for cell, rows in compared(labels, members).items():
            auc, _, mine = by_every_pair(scores, *rows)
            mine, theirs = (by_cluster(each, *rows) for each in (mine, by_every_pair(others, *rows)[2]))
            assert found.cells[name][cell].standard_error == pytest.approx(error(mine), abs=1e-12)
            assert paired.cells[name][cell].standard_error == pytest.approx(error(mine - theirs), abs=1e-12)
            assert not found.cells[name][cell].is_checked
            if cell in TERMS:
                mean = getattr(found.report.power_means, cell)
                means[cell] = means.get(cell, 0) + (mean / auc) ** 6 / 3 * mine
    for term, influence in means.items():
        assert found.power_means[term].standard_error == pytest.approx(error(influence), abs=1e-12)
        total += influence
    assert found.score.standard_error == pytest.approx(error(total / 4), abs=1e-12)
    assert paired.score.standard_error is not None


def test_clustered_intervals_and_p_values_are_those_of_student():
    labels, mentions, scores = draw(400, 8)
    clusters = np.arange(400) % 12
    labels &= clusters < 7
    mentions["g1"] &= clusters < 4
    sets = Sets.clustered(prepare(labels, mentions), clusters)
    others = scores + 0.5 * np.random.default_rng(1).normal(size=400)
    alone = uncertainty_report(sets, scores, level=0.9)
    paired = paired_report(sets, Measured.of(sets, scores), Measured.of(sets, others), level=0.9)

    def effective(rows: Any) -> float:
        sizes = np.bincount(clusters[rows]).astype(float)
        return sizes.sum() ** 2 // (sizes**2).sum()

    def smaller(cell: str, name: str) -> float:
        return min(map(effective, compared(labels, mentions[name])[cell])) - 1

    overall = min(effective(labels), effective(~labels)) - 1
    for each, degrees in (
        (paired.overall_auc, overall),
        (paired.score, overall),
        (paired.power_means["subgroup_auc"], max(smaller("subgroup_auc", name) for name in mentions)),
        (paired.cells["g0"]["negative_aeg"], smaller("negative_aeg", "g0")),
        (paired.cells["g1"]["bpsn_auc"], smaller("bpsn_auc", "g1")),
    ):
        expected = scipy.stats.t.interval(0.9, degrees, each.difference, each.standard_error)
        assert (each.low, each.high) == pytest.approx(expected, rel=1e-4)
        p_value = 2 * scipy.stats.t.sf(abs(each.difference) / each.standard_error, degrees)
        assert each.p_value == pytest.approx(p_value, rel=1e-9)
        assert each.is_tied == (p_value >= 0.1)
    value, error = unbiased(alone), alone.score.standard_error
    assert error is not None
    center, reach = math.log(value / (1 - value)), error / (value * (1 - value))
    expected = scipy.special.expit(scipy.stats.t.interval(0.9, overall, center, reach))
    assert (alone.score.low, alone.score.high) == pytest.approx(tuple(expected), rel=1e-5)


def test_values_that_compare_rows_of_only_one_cluster_have_no_interval():
    labels, mentions, scores = draw(200, 9)
    clusters = np.arange(200) % 20
    mentions["g1"] &= ~labels | (clusters == 3)
    sets = Sets.clustered(prepare(labels, mentions), clusters)
    found = uncertainty_report(sets, scores)
    paired = paired_report(sets, Measured.of(sets, scores), Measured.of(sets, -scores))
    for report in (found, paired):
        for each in (report.score, report.power_means["bnsp_auc"], report.cells["g1"]["subgroup_auc"]):
            assert (each.standard_error, each.low, each.high) == (None, None, None)
        for each in (report.overall_auc, report.power_means["bpsn_auc"], report.cells["g1"]["bpsn_auc"]):
            assert each.low is not None
    assert paired.score.p_value is None
    assert paired.score.difference is not None


def test_clusters_of_one_row_change_no_error_and_copies_of_rows_add_no_information():
    labels, mentions, scores = draw(400, 4)
    split = prepare(labels, mentions)
    plain = uncertainty_report(Sets(split), scores)
    single = uncertainty_report(Sets.clustered(split, np.arange(400)), scores)
    copies = prepare(np.tile(labels, 3), {name: np.tile(each, 3) for name, each in mentions.items()})
    tripled = uncertainty_report(Sets.clustered(copies, np.tile(np.arange(400), 3)), np.tile(scores, 3))
    for found in (single, tripled):
        for mine, expected in (
            (found.score, plain.score),
            (found.overall_auc, plain.overall_auc),
            (found.cells["g0"]["bnsp_auc"], plain.cells["g0"]["bnsp_auc"]),
            (found.cells["g1"]["positive_aeg"], plain.cells["g1"]["positive_aeg"]),
        ):
            assert mine.standard_error == pytest.approx(expected.standard_error, rel=1e-9)
            if mine is not found.score:
                assert (mine.low, mine.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_unusable_clusters_are_rejected():
    split = prepare([1, 0, 1, 0], {"a": [1, 1, 0, 0]})
    with pytest.raises(ValueError, match="`clusters` must have 4 values, not 2"):
        Sets.clustered(split, ["ann", "bob"])
    with pytest.raises(ValueError, match="at least 2 different values"):
        Sets.clustered(split, ["ann"] * 4)


@pytest.mark.parametrize("blank", [None, np.nan, ""])
def test_a_row_without_a_cluster_is_a_cluster_of_its_own(blank: Any):
    split = prepare([1, 0, 1, 0, 1], {})
    assert Sets.clustered(split, ["ann", blank, "ann", blank, 7]).clusters.tolist() == [0, 1, 0, 2, 3]  # type: ignore[union-attr]
    outcomes = np.array([1.0, 0.0, 1.0, 1.0])
    assert share_interval(outcomes, ["ann", blank, "ann", blank]) == share_interval(outcomes, [1, 2, 1, 3])


def unbiased(found: Any, power: float = -5.0) -> float:
    """Return the score minus the second-order bias of its power means."""
    score = found.score.value
    for term, mean in found.power_means.items():
        cells = [each[term] for each in found.cells.values()]
        curvature = sum(
            (mean.value / each.value) ** (1 - power) / len(cells) * each.standard_error**2 / each.value
            for each in cells
        )
        score -= 0.25 * (1 - power) / 2 * (mean.standard_error**2 / mean.value - curvature)
    return score


@pytest.mark.parametrize("power", [-10.0, -1.0, 0.0, 1.0])
def test_interval_of_a_score_is_centered_on_the_score_without_the_bias_of_its_means(power: float):
    labels, mentions, scores = draw(900, 5, identities=9, share=0.1)
    settings = MetricSettings(power=power)
    found = uncertainty_report(Sets(prepare(labels, mentions)), scores, settings)
    center = unbiased(found, power)
    assert (found.score.low, found.score.high) == pytest.approx(
        logit_interval(
            center, found.score.standard_error, degrees=int(min(labels.sum(), (~labels).sum())) - 1
        )
    )
    assert (
        found.score.value
        == found.report.score
        == bias_report(labels, scores, mentions, settings=settings).score
    )
    assert (center > found.score.value + 1e-4) == (power < 1)


@pytest.mark.parametrize(
    ("power", "identities", "is_checked"),
    [
        (-5, 9, True),
        (-10, 3, True),
        (-11, 3, False),
        (1.5, 3, False),
        (-math.inf, 3, False),
        (math.inf, 3, False),
        (-5, 51, False),
        (1, 51, False),
    ],
)
def test_intervals_of_means_are_checked_for_the_simulated_powers_and_numbers_of_identities(
    power: float, identities: int, is_checked: bool
):
    labels, mentions, scores = draw(4000, 1, identities=identities)
    found = uncertainty_report(Sets(prepare(labels, mentions)), scores, MetricSettings(power=power))
    assert [each.is_checked for each in (found.score, *found.power_means.values())] == [is_checked] * 4
    assert found.overall_auc.is_checked


def test_intervals_of_means_with_a_large_bias_are_not_checked():
    labels, mentions, scores = draw(700, 2, identities=40, share=0.1)
    found = uncertainty_report(Sets(prepare(labels, mentions)), scores, MetricSettings(power=-10))
    assert min(each["subgroup_auc"].is_checked for each in found.cells.values())
    assert not found.score.is_checked
    assert not found.power_means["subgroup_auc"].is_checked


@pytest.mark.parametrize(("identities", "share"), [(24, 0.05), (9, 0.1)])
def test_comparisons_of_equally_good_models_rarely_list_a_cell_with_few_positive_rows(
    identities: int, share: float
):
    listed = 0
    for seed in range(20):
        dice = np.random.default_rng(seed)
        labels = dice.random(1200) < 0.08
        mentions = {f"g{number}": dice.random(1200) < share for number in range(identities)}
        common = 1.5 * labels + dice.normal(size=1200)
        sets = Sets(prepare(labels, mentions))
        first, second = (Measured.of(sets, common + 0.5 * dice.normal(size=1200)) for _ in range(2))
        rates = paired_report(sets, first, second).false_discovery_rates()
        listed += any(
            rate is not None and rate <= 0.05 for cells in rates.values() for rate in cells.values()
        )
    assert listed <= 3


def test_false_discovery_rates_agree_with_scipy():
    labels, mentions, scores = draw(400, 6)
    mentions["lone"] = np.arange(400) == np.flatnonzero(labels)[0]
    sets = Sets(prepare(labels, mentions))
    others = scores + 0.5 * np.random.default_rng(1).normal(size=400) + 0.4 * mentions["g1"]
    found = paired_report(sets, Measured.of(sets, scores), Measured.of(sets, others))
    rates = found.false_discovery_rates()
    places = [(name, cell) for name, cells in found.cells.items() for cell in cells]
    tested = [(name, cell) for name, cell in places if found.cells[name][cell].p_value is not None]
    expected = scipy.stats.false_discovery_control([found.cells[name][cell].p_value for name, cell in tested])
    assert [rates[name][cell] for name, cell in tested] == pytest.approx(expected)
    assert all(rates[name][cell] is None for name, cell in places if (name, cell) not in tested)
    assert len(tested) < len(places)


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
    low, high = np.quantile(values, [0.025, 0.975])
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


@given(successes=st.integers(0, 40), failures=st.integers(0, 40))
def test_interval_of_a_share_is_that_of_wilson(successes: int, failures: int):
    outcomes = np.repeat([1.0, 0.0], [successes, failures])
    if not outcomes.size:
        assert share_interval(outcomes) == (None, None)
        return
    expected = scipy.stats.binomtest(successes, outcomes.size).proportion_ci(method="wilson")
    assert share_interval(outcomes) == pytest.approx((expected.low, expected.high), abs=1e-12)
    halves = share_interval(np.append(outcomes, [0.5, 0.5]))
    assert halves == pytest.approx(share_interval(np.append(outcomes, [1.0, 0.0])), abs=1e-12)


def test_interval_of_a_clustered_share_agrees_with_a_bootstrap_of_clusters():
    dice = np.random.default_rng(5)
    rates = dice.beta(2, 1, size=80)
    clusters = np.repeat(np.arange(80), dice.integers(1, 12, 80))
    outcomes = (dice.random(clusters.size) < rates[clusters]).astype(float)
    totals, sizes = np.bincount(clusters, weights=outcomes), np.bincount(clusters)
    drawn = dice.integers(0, 80, (4000, 80))
    expected = tuple(np.quantile(totals[drawn].sum(1) / sizes[drawn].sum(1), (0.025, 0.975)))
    found = share_interval(outcomes, clusters)
    assert found == pytest.approx(expected, abs=0.02)
    alone = share_interval(outcomes)
    assert found[0] < alone[0] < alone[1] < found[1]
    assert share_interval(outcomes, np.zeros(clusters.size)) == (None, None)
    certain = share_interval(np.ones(clusters.size), clusters)
    assert certain == pytest.approx(share_interval(np.ones(80)))


@given(
    positives=st.integers(2, 60),
    negatives=st.integers(2, 60),
    auc=st.fractions(0, 1, max_denominator=3600).map(float),
    share=st.floats(0, 1),
)
def test_auc_interval_contains_its_value_and_mirrors(
    positives: int, negatives: int, auc: float, share: float
):
    sizes = positives, negatives
    variance = share * auc * (1 - auc) / min(sizes)
    low, high = auc_interval(auc, variance, sizes)
    assert 0 <= low <= auc <= high <= 1
    assert low < high
    assert auc_interval(1 - auc, variance, sizes) == pytest.approx((1 - high, 1 - low), abs=1e-12)
    narrower = auc_interval(auc, variance, sizes, 0.8)
    assert low <= narrower[0] <= narrower[1] <= high


def test_auc_interval_approaches_the_logit_interval_for_many_rows():
    labels, mentions, scores = draw(20_000, 11)
    found = uncertainty_report(Sets(prepare(labels, mentions)), scores).overall_auc
    assert found.value is not None
    assert found.standard_error is not None
    assert (found.low, found.high) == pytest.approx(
        logit_interval(found.value, found.standard_error), abs=1e-4
    )


def test_two_sided_p_values_agree_with_scipy():
    for statistic in (0, 1e-6, 0.3, 1, 1.96, 5, 40, 1e6):
        assert two_sided_p_value(statistic) == pytest.approx(2 * scipy.stats.norm.sf(statistic))
        for degrees in (*range(1, 31), 1000, 10**6):
            expected = 2 * scipy.stats.t.sf(statistic, degrees)
            assert two_sided_p_value(-statistic, degrees) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_student_quantiles_agree_with_scipy():
    for level in (0.5, 0.8, 0.9, 0.95, 0.99, 0.999):
        for degrees in (*range(1, 41), 100, 1000):
            expected = scipy.stats.t.ppf((1 + level) / 2, degrees)
            assert student_quantile(level, degrees) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("auc", [0.9, 0.998])
def test_auc_interval_covers_the_true_value_with_four_positive_rows(auc: float):
    dice = np.random.default_rng(4)
    center = scipy.stats.norm.ppf(auc) * math.sqrt(2)
    held = 0
    for _ in range(400):
        positive, negative = center + dice.standard_normal(4), np.sort(dice.standard_normal(300))
        placements = np.searchsorted(negative, positive) / 300
        others = 1 - np.searchsorted(np.sort(positive), negative) / 4
        variance = placements.var(ddof=1) / 4 + others.var(ddof=1) / 300
        low, high = auc_interval(float(placements.mean()), float(variance), (4, 300))
        held += low <= auc <= high
    assert held / 400 >= 0.93


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


def test_zero_variance_gives_intervals_of_aucs_but_not_of_means_and_no_decision():
    labels, mentions, scores = draw(300, 3)
    sets = Sets(prepare(labels, mentions))
    constant, perfect = np.zeros(300), labels.astype(float)
    for predictions, auc in ((constant, 0.5), (perfect, 1.0)):
        found = uncertainty_report(sets, predictions)
        assert (found.score.standard_error, found.score.low, found.score.high) == (0, None, None)
        assert not found.score.is_checked
        for each in (found.overall_auc, found.cells["g0"]["bpsn_auc"]):
            assert (each.value, each.standard_error) == (auc, 0)
            assert each.low is not None
            assert each.high is not None
            assert each.low < auc <= each.high
        gap = found.cells["g0"]["positive_aeg"]
        assert gap.value == 0
        assert gap.low is not None
        assert gap.low < 0
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
    found = uncertainty_report(sets, scores)
    assert found.cells["g0"]["subgroup_auc"].is_checked
    assert found.cells["rare"]["subgroup_auc"].is_checked
    assert found.overall_auc.is_checked
    assert found.score.is_checked
    assert paired.cells["g0"]["subgroup_auc"].is_checked
    assert not paired.cells["rare"]["subgroup_auc"].is_checked
    assert paired.overall_auc.is_checked
    assert not paired.score.is_checked
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
        assert share >= 0.91, name


@pytest.mark.long
@pytest.mark.parametrize(("rows", "share"), [(500, 0.3), (1500, 0.3), (1500, 0.1), (6000, 0.05)])
def test_coverage_is_93_to_99_percent(rows: int, share: float):
    for name, held in _coverage(4000, rows, share).items():
        assert 0.93 <= held <= 0.99, name


def test_predictions_of_wrong_length_are_named():
    with pytest.raises(ValueError, match="`y_score` must have 4 values, not 3"):
        uncertainty_report(Sets(prepare([1, 0, 1, 0], {"a": [1, 1, 0, 0]})), [0.1, 0.2, 0.3])


@pytest.mark.parametrize("within", [CHECKED_CELLS, CHECKED_MEANS, CHECKED_DIFFERENCES])
def test_interval_is_checked_within_the_simulated_aucs_and_row_counts(within: ValidatedRange):
    rows, lowest, highest = within
    for auc, is_checked in ((lowest, True), (lowest - 1e-6, False), (highest, True), (highest + 1e-6, False)):
        assert is_checked_cell("subgroup_auc", auc, (rows, rows), within) is is_checked
    assert not is_checked_cell("subgroup_auc", highest, (rows - 1, 9 * rows), within)
    for gap, is_checked in (
        (0.5 - highest, True),
        (0.5 - highest - 1e-6, False),
        (0.0, True),
        (highest - 0.5 + 1e-6, False),
    ):
        assert is_checked_cell("positive_aeg", gap, (rows, rows), within) is is_checked
    assert is_checked_cell("negative_aeg", highest - 0.5 - 1e-9, (rows, rows), within)
