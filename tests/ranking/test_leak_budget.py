"""The leak budget: the arithmetic of the reference, its limits, and its order."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.ranking.leak_budget import PublicSubgroup, budget, slope


def test_the_slope_of_the_defaults_with_nine_identities_is_the_known_039() -> None:
    assert slope(-5, 0.25, 9) == pytest.approx(0.388, abs=1e-3)


def test_fifty_positives_at_five_decimals_give_the_known_96_labels_a_file() -> None:
    groups = [PublicSubgroup(f"g{place}", 50 + place, 1000) for place in range(9)]
    found = budget(groups, files=35, power=-5, weight=0.25)
    assert found.labels_per_file == pytest.approx(9.6, abs=0.05)
    assert found.labels == 336
    assert found.steepest.name == "g0"
    assert found.ceiling_bits == pytest.approx(16.6, abs=0.01)
    assert found.files == 35
    assert found.is_large  # 336 labels are a third of 1,000 rows


def test_no_subgroup_gives_away_more_labels_than_it_has_rows() -> None:
    small = PublicSubgroup("small", 17, 83)
    assert budget([small], files=1000, power=-5, weight=0.25).labels == 83


def test_the_smallest_and_the_steepest_subgroup_are_named_and_may_be_two() -> None:
    groups = [PublicSubgroup("a", 40, 90), PublicSubgroup("b", 30, 100), PublicSubgroup("c", 50, 110)]
    found = budget(groups, files=7, power=1, weight=0.5, step=0.25)
    assert (found.steepest.name, found.smallest.name, found.files) == ("b", "a", 7)
    # A slope of 0.5 / 3 moves the score by 1/180 for one positive row of 30, a 45th of a step.
    assert found.labels_per_file == pytest.approx(math.log2(1 + 1 / 45), rel=1e-12)
    assert (found.ceiling_bits, found.labels) == (2.0, 0)
    assert budget(groups[:1], files=2, power=1, weight=0.5, step=2**-40).labels == math.floor(
        2 * math.log2(1 + 0.5 / 40 * 2**40)
    )


def test_the_slope_is_the_power_means_own_and_bounded_where_it_overflows() -> None:
    assert slope(1, 0.5, 4) == pytest.approx(0.5 / 4)
    assert slope(-1, 0.5, 4) == pytest.approx(0.5 * 4)
    assert slope(math.inf, 0.5, 4) == slope(-math.inf, 0.5, 4) == 0.5
    assert slope(-1e-9, 0.5, 4) == 0.5 * math.exp(700)


def test_few_files_on_a_large_split_are_no_warning() -> None:
    group = PublicSubgroup("large", 4000, 20_000)
    assert not budget([group] * 9, files=35, power=-5, weight=0.25).is_large


@given(
    positives=st.integers(1, 10**6),
    power=st.floats(-50, 50) | st.just(math.inf) | st.just(-math.inf),
    count=st.integers(1, 60),
    files=st.integers(0, 10**4),
)
def test_a_file_never_tells_more_than_its_number_can_carry(
    positives: int, power: float, count: int, files: int
) -> None:
    groups = [PublicSubgroup("g", positives, 2 * positives)] * count
    found = budget(groups, files=files, power=power, weight=0.25)
    assert 0 <= found.labels_per_file <= found.ceiling_bits
    assert 0 <= found.labels <= 2 * positives


def test_a_geometric_mean_can_move_without_bound_where_it_has_a_weight() -> None:
    assert slope(0, 0.25, 9) == math.inf
    assert slope(0, 0.0, 9) == 0
