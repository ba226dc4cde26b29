"""Exponent of the power mean."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairboard import MetricSettings, power_mean
from fairboard.bias.analysis.table import power_effect
from fairboard.bias.subgroups import BIAS_AUCS
from tests.fixtures.examples import examples

aucs = st.floats(0.01, 1)


@examples(30)
@given(st.lists(st.tuples(aucs, aucs, aucs), min_size=1, max_size=9))
def test_means_and_score_are_computed_at_each_power_and_rise_with_it(rows):
    table = pd.DataFrame(rows, columns=list(BIAS_AUCS))
    effects = power_effect(0.9, table)
    assert effects.index.tolist() == list(range(-10, 2))
    for power, line in effects.iterrows():
        assert line["bpsn_auc"] == power_mean(table["bpsn_auc"], power)
        assert line["score"] == pytest.approx((0.9 + line[list(BIAS_AUCS)].sum()) / 4, abs=1e-15)
    assert effects["score"].is_monotonic_increasing


def test_undefined_auc_is_skipped_or_makes_the_term_undefined():
    table = pd.DataFrame([(0.5, 0.5, np.nan), (0.9, 0.9, 0.8), (0.9, 0.9, 0.9)], columns=list(BIAS_AUCS))
    assert power_effect(0.9, table, powers=[-5])[["bnsp_auc", "score"]].isna().all(axis=None)
    lenient = MetricSettings(undefined="skip")
    assert power_effect(0.9, table, lenient, [-5]).loc[-5, "bnsp_auc"] == power_mean([0.8, 0.9], -5)
    assert power_effect(None, table, lenient)["score"].isna().all()
