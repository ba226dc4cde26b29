"""Table 2 of Borkan et al. (2019), and Table 1 of the note on pinned AUC: what is printed comes out.

Twenty times as many rows are drawn as in the paper, and the printed values compared within what a
thousand rows and two printed decimals allow.
"""

import numpy as np
import pytest

from grader.metrics.analysis.pinned_auc import pinned_auc
from grader.metrics.analysis.skew_scenarios import SUBGROUP, TABLE_2, class_balances, draw
from grader.metrics.analysis.table import metric_table

ROWS = 20_000
PRINTED_WITHIN = 0.02


def measure(scenario):
    return metric_table(draw(scenario, seed=2019, rows=ROWS)).lines[0]


@pytest.mark.parametrize("scenario", TABLE_2, ids=lambda scenario: scenario.column)
def test_the_printed_values_of_table_2_come_out(scenario):
    line, printed = measure(scenario), scenario.printed
    found = (line.subgroup_auc, line.bpsn_auc, line.bnsp_auc)
    assert found == pytest.approx(
        (printed.subgroup_auc, printed.bpsn_auc, printed.bnsp_auc), abs=PRINTED_WITHIN
    )
    if scenario.column != "A":
        found = (line.positive_aeg, line.negative_aeg)
        assert found == pytest.approx((printed.positive_aeg, printed.negative_aeg), abs=PRINTED_WITHIN)


def test_the_gap_of_column_a_is_half_and_not_what_the_paper_prints():
    line = measure(TABLE_2[0])
    assert TABLE_2[0].printed.positive_aeg == 0.42
    assert (line.positive_aeg, line.negative_aeg) == pytest.approx((0.498, 0.498), abs=0.001)


def test_more_positive_rows_change_none_of_the_five_metrics():
    large_shift, skewed = (measure(scenario) for scenario in TABLE_2[1:3])
    assert skewed.share_positive == 0.75
    for cell in ("subgroup_auc", "bpsn_auc", "bnsp_auc", "positive_aeg", "negative_aeg"):
        assert getattr(large_shift, cell) == pytest.approx(getattr(skewed, cell), abs=0.005)


def test_pinned_auc_prints_094_for_a_shift_and_less_or_more_as_the_classes_are_balanced():
    pinned = {
        column: pinned_auc(draw(scenario, seed=2019, rows=ROWS), SUBGROUP).value
        for column, scenario in class_balances().items()
    }
    assert f"{pinned['A']:.2f}" == "0.94"
    assert pinned["B"] > pinned["A"] + 0.02
    assert pinned["C"] < pinned["A"] - 0.02


def test_a_scenario_is_drawn_again_from_its_seed():
    first, again, other = (draw(TABLE_2[6], seed=seed, rows=50) for seed in (1, 1, 2))
    assert np.array_equal(first.predictions, again.predictions)
    assert not np.array_equal(first.predictions, other.predictions)
    assert first.predictions.min() >= 0
    assert first.predictions.max() <= 1
    assert (first.size, first.members[SUBGROUP].sum(), first.positive.sum()) == (200, 100, 100)
