"""Exponent of the power mean, and the AUCs that lower a score."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.metrics import MetricSettings, Weights, bias_report, power_mean, unintended_bias_score
from grader.metrics.bias.analysis.power_means import (
    EQUAL_MEANS,
    POWERS,
    compare_means,
    held_back,
    power_effect,
)
from grader.metrics.bias.subgroups import SubgroupReport

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


@given(columns)
def test_gain_of_a_cell_is_the_score_change_at_the_median(rows):
    lines = lines_of(*rows)
    before = score_of(lines)
    for gain in held_back(lines, SETTINGS).cells:
        place = int(gain.name.split()[1])
        assert gain.value == getattr(lines[place], gain.cell) < gain.median
        risen = [*lines]
        risen[place] = replace(lines[place], **{gain.cell: gain.median})
        assert score_of(risen) - before == pytest.approx(gain.gain, abs=1e-14)


@given(columns)
def test_gain_of_an_identity_is_the_joint_gain_of_its_cells(rows):
    lines = lines_of(*rows)
    found = held_back(lines, SETTINGS)
    for name, gain in found.identities:
        cells = {cell.cell: cell.median for cell in found.cells if cell.name == name}
        risen = [replace(line, **cells) if line.name == name else line for line in lines]
        assert score_of(risen) - score_of(lines) == pytest.approx(gain, abs=1e-14)
    for ranked in ([cell.gain for cell in found.cells], [gain for _, gain in found.identities]):
        assert ranked == sorted(ranked, reverse=True)


def test_largest_gain_comes_first():
    lines = lines_of((0.9, 0.9, 0.9), (0.92, 0.5, 0.9), (0.9, 0.9, 0.89), (0.91, 0.95, 0.91))
    found = held_back(lines, SETTINGS)
    assert (found.cells[0].name, found.cells[0].cell) == ("identity 1", "bpsn_auc")
    assert found.identities[0][0] == "identity 1"
    data = json.loads(json.dumps(found.as_dict()))
    assert data["identities"][0]["gain"] == found.identities[0][1]


def test_equal_identities_have_no_gain():
    found = held_back(lines_of(*[(0.9, 0.8, 0.7)] * 3), SETTINGS)
    assert (found.cells, found.identities) == ((), ())
    assert held_back([], SETTINGS).cells == ()


def test_term_without_weight_has_no_gain():
    settings = MetricSettings(weights=Weights(0.5, 0.5, 0.0, 0.0))
    found = held_back(lines_of((0.5, 0.5, 0.5), (0.9, 0.9, 0.9), (0.9, 0.9, 0.9)), settings)
    assert {cell.cell: cell.gain > 0 for cell in found.cells} == {
        "subgroup_auc": True,
        "bpsn_auc": False,
        "bnsp_auc": False,
    }


def test_undefined_auc_is_skipped_or_makes_the_term_undefined():
    lines = lines_of((0.5, 0.5, None), (0.9, 0.9, 0.8), (0.9, 0.9, 0.9))
    strict, lenient = SETTINGS, MetricSettings(undefined="skip")
    assert "bnsp_auc" not in {cell.cell for cell in held_back(lines, strict).cells}
    assert "bnsp_auc" in {cell.cell for cell in held_back(lines, lenient).cells}
    (effect,) = power_effect(0.9, lines, strict, [-5])
    assert (effect.bnsp_auc, effect.score) == (None, None)
    (effect,) = power_effect(0.9, lines, lenient, [-5])
    assert effect.bnsp_auc == power_mean([0.8, 0.9], -5)
    assert power_effect(None, lines, lenient)[0].score is None


def test_other_cells_gain_nothing_while_an_auc_is_zero():
    found = held_back(lines_of((0.0, 1, 1), (0.5, 1, 1), (0.9, 1, 1), (0.9, 1, 1)), SETTINGS)
    assert [(cell.name, cell.gain > 0) for cell in found.cells] == [
        ("identity 0", True),
        ("identity 1", False),
    ]


def test_power_mean_distinguishes_columns_with_equal_means():
    lines = compare_means()
    assert len(lines) == 4
    assert [line.mean for line in lines] == pytest.approx([0.85] * 4, abs=1e-15)
    deviations = [line.deviation for line in lines]
    assert deviations[0] < 1e-15
    assert deviations == sorted(deviations)
    assert [line.power_means[1.0] for line in lines] == [line.mean for line in lines]
    at_minus_five = [line.power_means[-5.0] for line in lines]
    assert at_minus_five == sorted(at_minus_five, reverse=True)
    assert at_minus_five[0] == pytest.approx(0.85)
    assert at_minus_five[-1] < 0.83
    assert set(map(len, EQUAL_MEANS.values())) == {9}


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
