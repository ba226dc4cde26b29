"""Exponent of the power mean, and the AUCs that lower a score."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairboard import MetricSettings, bias_report, power_mean, unintended_bias_score
from fairboard.bias.analysis.power_means import (
    POWERS,
    power_effect,
)
from fairboard.bias.subgroups import SubgroupReport

SETTINGS = MetricSettings()
aucs = st.floats(0.01, 1)
columns = st.lists(st.tuples(aucs, aucs, aucs), min_size=1, max_size=9)


def lines_of(*rows):
    return [
        SubgroupReport(f"identity {place}", True, 10, 5, *row, None, None) for place, row in enumerate(rows)
    ]


def score_of(lines, settings=SETTINGS, overall=0.9):
    by_cell = zip(*[(line.subgroup_auc, line.bpsn_auc, line.bnsp_auc) for line in lines], strict=True)
    return unintended_bias_score(overall, *by_cell, settings=settings)


@given(columns)
def test_means_and_score_are_computed_at_each_power(rows):
    lines = lines_of(*rows)
    effects = power_effect(0.9, lines, SETTINGS)
    assert [effect.power for effect in effects] == list(range(-10, 2))
    for effect in effects:
        assert effect.bpsn_auc == power_mean([line.bpsn_auc for line in lines], effect.power)
        assert effect.score == score_of(lines, MetricSettings(power=effect.power))


@given(columns)
def test_lower_power_never_raises_the_score(rows):
    scores = [effect.score for effect in power_effect(0.9, lines_of(*rows), SETTINGS)]
    assert scores == sorted(scores)


def test_score_at_the_configured_power_equals_that_of_the_report():
    report = bias_report(
        [1, 0, 1, 0, 1, 0], [0.9, 0.3, 0.4, 0.2, 0.1, 0.8], {"a": [1, 1, 0, 0, 1, 0], "b": [0, 0, 1, 1, 1, 1]}
    )
    (effect,) = power_effect(report.overall_auc, report.subgroups, SETTINGS, [-5])
    assert effect.score == pytest.approx(report.score, abs=1e-15)
    assert json.loads(json.dumps(effect.as_dict()))["power"] == -5


def test_undefined_auc_is_skipped_or_makes_the_term_undefined():
    lines = lines_of((0.5, 0.5, None), (0.9, 0.9, 0.8), (0.9, 0.9, 0.9))
    strict, lenient = SETTINGS, MetricSettings(undefined="skip")
    (effect,) = power_effect(0.9, lines, strict, [-5])
    assert (effect.bnsp_auc, effect.score) == (None, None)
    (effect,) = power_effect(0.9, lines, lenient, [-5])
    assert effect.bnsp_auc == power_mean([0.8, 0.9], -5)
    assert power_effect(None, lines, lenient)[0].score is None


def test_blog_bias_score_is_reproduced_from_its_power_means():
    # The printed values are power means of nine AUCs, which the blog shows only in a picture.
    printed = {
        "subgroup_auc": 0.8402076852862012,
        "bnsp_auc": 0.9440122934808436,
        "bpsn_auc": 0.8228592084505357,
    }
    (line,) = lines_of((printed["subgroup_auc"], printed["bpsn_auc"], printed["bnsp_auc"]))
    (effect,) = power_effect(1.0, [line], SETTINGS, [-5])
    bias_score = sum(printed.values()) / 3
    assert effect.score == pytest.approx(0.25 + 0.75 * bias_score, abs=1e-15)
    assert f"{bias_score:.10f}" == "0.8690263957"


def test_powers_range_from_minus_ten_to_the_plain_mean():
    assert (POWERS[0], POWERS[-1], len(POWERS)) == (-10, 1, 12)
