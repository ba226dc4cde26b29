"""Table 2 of Borkan et al. (2019): seven ways a model can be biased, and what the metrics say.

The scenarios are those of the paper's notebook (conversationai/unintended-ml-bias-analysis,
types_of_bias.ipynb): scores drawn from normal distributions cut off at 0 and 1, a thousand in each
class there. Twenty times as many are drawn here, and the printed values compared within what a
thousand rows and two printed decimals allow.
"""

from typing import NamedTuple

import numpy as np
import pytest

from grader.metrics import bias_report

ROWS = 20_000
PRINTED_WITHIN = 0.02


class Scenario(NamedTuple):
    background: tuple[float, float]  # means of the positive and of the negative rows
    subgroup: tuple[float, float]
    subgroup_deviation: float = 0.05
    subgroup_shares: tuple[float, float] = (1.0, 1.0)


# Printed: Subgroup, BPSN and BNSP AUC, and the two AEGs in the order positive, negative.
TABLE_2 = {
    "A": (Scenario((0.6, 0.2), (0.8, 0.4)), (1.0, 0.99, 1.0), None),
    "B": (Scenario((0.6, 0.2), (0.95, 0.55)), (1.0, 0.76, 1.0), (0.5, 0.5)),
    "C": (
        Scenario((0.6, 0.2), (0.95, 0.55), subgroup_shares=(1.5, 0.5)),
        (1.0, 0.76, 1.0),
        (0.5, 0.5),
    ),
    "D": (Scenario((0.7, 0.3), (0.35, 0.05)), (1.0, 1.0, 0.77), (-0.5, -0.5)),
    "E": (Scenario((0.6, 0.2), (0.45, 0.35)), (0.93, 0.99, 0.99), (-0.48, 0.48)),
    "F": (Scenario((0.8, 0.2), (0.8, 0.2), 0.1), (1.0, 1.0, 1.0), (-0.02, 0.02)),
    # The paper prints the AEGs of G in the other order.
    "G": (Scenario((0.7, 0.3), (0.7, 0.3), 0.2), (0.92, 0.98, 0.97), (-0.03, 0.03)),
}


def draw(rng: np.random.Generator, mean: float, deviation: float, size: int) -> np.ndarray:
    drawn = rng.normal(mean, deviation, 3 * size)
    return drawn[(drawn >= 0) & (drawn <= 1)][:size]


def measure(scenario: Scenario):
    rng = np.random.default_rng(2019)
    groups = []
    for label in (1, 0):
        size = int(ROWS * scenario.subgroup_shares[1 - label])
        background = draw(rng, scenario.background[1 - label], 0.05, ROWS)
        subgroup = draw(rng, scenario.subgroup[1 - label], scenario.subgroup_deviation, size)
        groups += [(background, label, 0), (subgroup, label, 1)]
    y_score = np.concatenate([scores for scores, _, _ in groups])
    y_true = np.concatenate([np.full(scores.size, label) for scores, label, _ in groups])
    mentioned = np.concatenate([np.full(scores.size, inside) for scores, _, inside in groups])
    return bias_report(y_true, y_score, {"subgroup": mentioned}).subgroups[0]


@pytest.mark.parametrize("column", TABLE_2)
def test_the_printed_values_of_table_2_come_out(column):
    scenario, aucs, gaps = TABLE_2[column]
    subgroup = measure(scenario)
    found = (subgroup.subgroup_auc, subgroup.bpsn_auc, subgroup.bnsp_auc)
    assert found == pytest.approx(aucs, abs=PRINTED_WITHIN)
    if gaps is not None:
        found = (subgroup.positive_aeg, subgroup.negative_aeg)
        assert found == pytest.approx(gaps, abs=PRINTED_WITHIN)


def test_the_gap_of_column_a_is_half_and_not_what_the_paper_prints():
    subgroup = measure(TABLE_2["A"][0])
    assert subgroup.positive_aeg == pytest.approx(0.498, abs=0.001)
    assert subgroup.negative_aeg == pytest.approx(0.498, abs=0.001)
