"""Leak budget: agreement with a reference, order of modes, limits."""

import math
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.feedback.ladder import FEW_ROWS
from grader.feedback.leak_budget import LeakBudget, PublicRows, budget, slope
from grader.metrics import MetricSettings, Weights
from grader.visibility import Feedback, Step

EVERYONE = PublicRows("all", 1567, 20_000)
NINE = [PublicRows(f"g{place}", 50 + place, 1000) for place in range(9)]
FINEST_FIRST = (Feedback.OPEN, Feedback.TERMS, Feedback.SCORE, Feedback.TIERED)


def of(
    feedback: Feedback,
    identities: list[PublicRows] = NINE,
    *,
    files: int = 35,
    step: Step = Step.OF_0_002,
    settings: MetricSettings | None = None,
    everyone: PublicRows = EVERYONE,
) -> LeakBudget:
    return budget(
        identities,
        everyone=everyone,
        settings=settings or MetricSettings(),
        feedback=feedback,
        step=step,
        files=files,
    )


def test_slope_of_the_defaults_with_nine_identities_is_039():
    assert slope(-5, 0.25, 9) == pytest.approx(0.388, abs=1e-3)


def test_fifty_positives_at_five_decimals_leak_about_ten_labels_per_file():
    found = of(Feedback.SCORE)
    first = found.identities[0]
    assert first.labels_per_file == pytest.approx(9.6, abs=0.05)
    assert first.labels == 336
    assert found.weakest is first
    assert found.ceiling_bits == pytest.approx(35 * 16.6, abs=1)
    assert found.is_large  # 336 labels are one third of 1,000 rows.


@pytest.mark.parametrize(("step", "labels"), [(Step.OF_0_001, 3.1), (Step.OF_0_01, 0.8)])
def test_bands_leak_as_much_as_the_reference_with_equal_decimals(step: Step, labels: float):
    found = of(Feedback.TIERED, step=step)
    assert found.identities[0].labels_per_file == pytest.approx(labels, abs=0.05)


def test_open_exceeds_terms_by_the_table_and_terms_exceed_the_score_by_the_means():
    table = 3 * math.log2(1 + 1 / 50 / 0.01)
    means = 3 * math.log2(1 + 9**0.2 / 50 / 0.0001) + math.log2(1 + 1 / 1567 / 0.0001)
    per_file = {mode: of(mode, files=1).identities[0].labels_per_file for mode in FINEST_FIRST}
    assert per_file[Feedback.OPEN] - per_file[Feedback.TERMS] == pytest.approx(table)
    assert per_file[Feedback.TERMS] - per_file[Feedback.SCORE] == pytest.approx(means)


def test_ladder_ceiling_counts_nondecreasing_sequences_of_best_scores():
    for files, step in ((1, Step.OF_0_05), (7, Step.OF_0_05), (40, Step.OF_0_01)):
        levels = 1 + round(1 / float(step))
        sequences = math.comb(files + levels - 1, files)
        assert of(Feedback.LADDER, files=files, step=step).ceiling_bits == pytest.approx(math.log2(sequences))


def test_ladder_leaks_less_with_each_file_for_any_step():
    def bits(files: int) -> float:
        found = of(Feedback.LADDER, [PublicRows("g", 50, 1000)], files=files, step=Step.OF_0_0005)
        return found.identities[0].labels_per_file * files

    assert bits(1) == pytest.approx(math.log2(1 + 1 / FEW_ROWS**2) / 2)
    # The mutual information, computed as a sum over 2,801 points, plus 0.5 bits for a displayed score.
    assert bits(2) - bits(1) == pytest.approx(0.12181 + 0.07865 / 2, abs=1e-4)
    assert bits(301) - bits(300) < 0.06


def test_wide_step_reduces_the_leak_of_a_ladder():
    large = [PublicRows(f"g{place}", 2000, 5000) for place in range(9)]
    bits = [of(Feedback.LADDER, large, files=300, step=step).weakest.labels_per_file for step in Step]
    assert bits == sorted(bits, reverse=True)
    assert bits[-1] < 0.1 * bits[0]


def test_noised_mode_has_the_capacity_of_a_gaussian_channel():
    found = of(Feedback.NOISED, files=1, step=Step.OF_0_05)
    assert found.ceiling_bits == pytest.approx(math.log2(1 + 0.25 / 0.05**2) / 2)
    assert found.identities[0].labels_per_file == pytest.approx(math.log2(1 + (9**0.2 / 200 / 0.05) ** 2) / 2)


def test_rarer_class_counts_for_either_label():
    few_negatives, few_positives = [PublicRows("a", 90, 100)], [PublicRows("a", 10, 100)]
    assert (
        of(Feedback.SCORE, few_negatives, files=1).identities[0].labels_per_file
        == of(Feedback.SCORE, few_positives, files=1).identities[0].labels_per_file
    )


def test_score_of_only_the_overall_auc_also_leaks():
    overall = MetricSettings(weights=Weights(1, 0, 0, 0))
    found = of(Feedback.SCORE, settings=overall, files=1).identities[0]
    assert found.labels_per_file == pytest.approx(math.log2(1 + 1 / 1567 / 1e-5))


def test_warning_starts_above_one_label_in_twenty():
    group = [PublicRows("large", 4000, 20_000)] * 9
    assert not of(Feedback.SCORE, group).is_large
    assert of(Feedback.SCORE, group, files=1000).is_large


def test_smaller_of_two_identities_with_equal_shares_is_weakest():
    groups = [PublicRows("large", 40, 90), PublicRows("small", 30, 80)]
    assert of(Feedback.OPEN, groups, files=1000).weakest.public.name == "small"


def test_slope_equals_that_of_the_power_mean_and_is_unbounded_from_zero_to_one():
    assert slope(1, 0.5, 4) == pytest.approx(0.5 / 4)
    assert slope(-1, 0.5, 4) == pytest.approx(0.5 * 4)
    assert slope(math.inf, 0.5, 4) == slope(-math.inf, 0.5, 4) == 0.5
    assert slope(-1e-9, 0.5, 4) == 0.5 * math.exp(700)
    assert slope(-2.2e-309, 0.5, 4) == 0.5 * math.exp(700) and slope(-2.2e-309, 0.5, 1) == 0.5
    assert slope(0, 0.25, 9) == slope(0.5, 0.25, 9) == math.inf
    assert slope(0, 0.0, 9) == 0


@st.composite
def _rows(draw: st.DrawFn) -> PublicRows:
    positives, negatives = draw(st.integers(1, 10**5)), draw(st.integers(1, 10**5))
    return PublicRows("g", positives, positives + negatives)


COMPETITIONS = {
    "identities": st.lists(_rows(), min_size=1, max_size=12),
    "power": st.floats(-50, 50) | st.sampled_from([math.inf, -math.inf, 0.0, -5.0]),
    "weights": st.sampled_from([Weights(), Weights(1, 0, 0, 0), Weights(0, 0.2, 0.8, 0)]),
    "files": st.integers(0, 10**4),
}


@given(**COMPETITIONS)
def test_budget_is_bounded_and_ordered_by_mode(
    identities: list[PublicRows], power: float, weights: Weights, files: int
):
    everyone = PublicRows("all", sum(g.positives for g in identities), sum(g.rows for g in identities))
    settings = MetricSettings(power=power, weights=weights)

    def found(feedback: Feedback, step: Step = Step.OF_0_002, files: int = files) -> list[tuple[int, int]]:
        made = of(feedback, identities, files=files, step=step, settings=settings, everyone=everyone)
        for each in made.identities:
            # Both values are rounded down.
            assert 0 <= each.labels <= each.ceiling + 1 <= each.public.rows + 1
        return [(each.labels, each.ceiling) for each in made.identities]

    def at_least(more: list[tuple[int, int]], less: list[tuple[int, int]]) -> bool:
        pairs = zip(more, less, strict=True)
        return all(one + 1 >= other for each in pairs for one, other in zip(*each, strict=True))

    for finer, coarser in pairwise(FINEST_FIRST):
        assert at_least(found(finer), found(coarser))
    for coarse in (Feedback.LADDER, Feedback.NOISED):
        assert at_least(found(Feedback.TIERED), found(coarse))
    assert found(Feedback.BLIND) == [(0, 0)] * len(identities)
    for feedback in Feedback:
        assert at_least(found(feedback, files=files + 1), found(feedback))
    for feedback, (small, large) in product(Feedback, pairwise(Step)):
        assert at_least(found(feedback, small), found(feedback, large))
