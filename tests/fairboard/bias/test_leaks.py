"""Label leaks through row numbers or ids: detection without false alarms."""

import numpy as np
import pytest

from fairboard import bias_report
from fairboard.bias.leaks import Verdict, group_leak, order_leak

ROWS = 4000


@pytest.mark.parametrize(
    ("rows", "chance"),
    [(800, "0.5 ± 0.041"), (16, "0.5 ± 0.298"), (6, "any AUC, because there are too few rows")],
)
def test_chance_interval_stays_within_the_range_of_an_auc(rows, chance):
    assert order_leak(np.arange(rows), np.arange(rows) % 2 == 0).chance == chance


@pytest.mark.parametrize("descends", [False, True])
def test_rows_sorted_by_label_are_a_leak(descends):
    hidden = np.arange(ROWS) >= ROWS // 2
    found = order_leak((10**17 + np.arange(ROWS))[:: -1 if descends else 1], hidden)
    assert (found.auc, found.verdict) == (0.0 if descends else 1.0, Verdict.LEAK)


def test_random_labels_are_clean_a_hundred_times():
    generator = np.random.default_rng(1)
    rows = np.arange(ROWS)
    for share in (0.5, 0.1, 0.01):
        for _ in range(100):
            assert order_leak(rows, generator.random(ROWS) < share).verdict is Verdict.CLEAN


def test_small_but_significant_order_is_noteworthy_but_no_leak():
    generator = np.random.default_rng(2)
    rows = np.arange(50_000)
    hidden = generator.random(50_000) < 0.5 + 0.12 * (rows / 50_000 - 0.5)
    found = order_leak(rows, hidden)
    assert 0.5 < found.auc < 0.55
    assert found.verdict is Verdict.NOTEWORTHY


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_bit_that_no_order_reveals_is_a_leak_as_groups(share):
    ids = np.arange(ROWS)
    hidden = ids % 10 < 10 * share
    assert order_leak(ids, hidden).verdict is Verdict.CLEAN
    found = group_leak(ids % 10, hidden)
    assert (found.auc, found.verdict) == (1.0, Verdict.LEAK)


@pytest.mark.parametrize("group_count", [2, 16, 100, 256])
@pytest.mark.parametrize("share", [0.5, 0.05])
def test_random_groups_are_clean_despite_their_optimal_order(group_count, share):
    generator = np.random.default_rng(3)
    for _ in range(100):
        codes = generator.integers(0, group_count, ROWS)
        assert group_leak(codes, generator.random(ROWS) < share).verdict is Verdict.CLEAN


def test_one_group_or_one_class_has_no_leak():
    assert group_leak(np.zeros(9, int), np.arange(9) > 4) is None
    assert group_leak(np.arange(9), np.zeros(9, bool)) is order_leak(np.arange(9), np.zeros(9, bool)) is None


def test_the_auc_of_groups_is_that_of_their_shares():
    codes, hidden = np.array([7, 7, 7, 3, 3, 3, 9, 9]), np.array([1, 0, 0, 1, 1, 0, 0, 0], bool)
    found = group_leak(codes, hidden)
    shares = np.array([hidden[codes == code].mean() for code in codes])
    assert found.auc == bias_report(hidden, shares, {}).overall_auc == 12 / 15
    assert found.chance.startswith("any AUC")  # sqrt(2 * 9 / (12 * 3 * 5)) for three groups
