"""Simulation of Table 2 (Borkan et al., 2019) and Table 1 (note on pinned AUC).

The simulation uses twenty times as many rows as the paper. The tolerance covers the sampling error of a
thousand rows and the rounding to two decimals.
"""

import numpy as np
import pytest

from fairboard.bias.analysis.pinned_auc import pinned_auc
from fairboard.bias.analysis.skew_scenarios import SUBGROUP, TABLE_2, class_balances, draw
from fairboard.bias.analysis.table import metric_table

ROWS = 20_000
PRINTED_WITHIN = 0.02


def measure(scenario):
    return metric_table(draw(scenario, seed=2019, rows=ROWS)).lines[0]


@pytest.mark.parametrize("scenario", TABLE_2, ids=lambda scenario: scenario.column)
def test_simulation_reproduces_the_values_of_table_2(scenario):
    line, printed = measure(scenario), scenario.printed
    found = (line.subgroup_auc, line.bpsn_auc, line.bnsp_auc)
    assert found == pytest.approx(
        (printed.subgroup_auc, printed.bpsn_auc, printed.bnsp_auc), abs=PRINTED_WITHIN
    )
    if scenario.column != "A":
        found = (line.positive_aeg, line.negative_aeg)
        assert found == pytest.approx((printed.positive_aeg, printed.negative_aeg), abs=PRINTED_WITHIN)


def test_gap_of_column_a_is_one_half_unlike_the_printed_value():
    line = measure(TABLE_2[0])
    assert TABLE_2[0].printed.positive_aeg == 0.42
    assert (line.positive_aeg, line.negative_aeg) == pytest.approx((0.498, 0.498), abs=0.001)


def test_share_of_positive_rows_changes_none_of_the_five_metrics():
    large_shift, skewed = (measure(scenario) for scenario in TABLE_2[1:3])
    assert skewed.share_positive == 0.75
    for cell in ("subgroup_auc", "bpsn_auc", "bnsp_auc", "positive_aeg", "negative_aeg"):
        assert getattr(large_shift, cell) == pytest.approx(getattr(skewed, cell), abs=0.005)


def test_pinned_auc_depends_on_class_balance():
    pinned = {
        column: pinned_auc(draw(scenario, seed=2019, rows=ROWS), SUBGROUP).value
        for column, scenario in class_balances().items()
    }
    assert f"{pinned['A']:.2f}" == "0.94"
    assert pinned["B"] > pinned["A"] + 0.02
    assert pinned["C"] < pinned["A"] - 0.02


def test_seed_determines_the_scenario():
    first, again, other = (draw(TABLE_2[6], seed=seed, rows=50) for seed in (1, 1, 2))
    assert np.array_equal(first.predictions, again.predictions)
    assert not np.array_equal(first.predictions, other.predictions)
    assert first.predictions.min() >= 0
    assert first.predictions.max() <= 1
    assert (first.size, first.members[SUBGROUP].sum(), first.positive.sum()) == (200, 100, 100)
