"""Reports: exact values, undefined values with reasons, both printed forms."""

import numpy as np
import pytest

from fairboard import MetricSettings, Weights, bias_report

NOWHERE = [0.0] * 8
LABELS = [1, 0, 1, 0, 1, 0, 1, 0]
PERFECT = [0.9, 0.1, 0.8, 0.2, 0.9, 0.1, 0.8, 0.2]
OVERLAPPING = {"cat": [1, 1, 1, 1, 0, 0, 0, 0], "dog": [0, 0, 1, 1, 1, 1, 0, 0]}


def all_aucs(report):
    cells = ("subgroup_auc", "bpsn_auc", "bnsp_auc")
    return [
        *report.terms.values(),
        *(getattr(subgroup, cell) for subgroup in report.subgroups for cell in cells),
    ]


@pytest.mark.parametrize("weights", [Weights(), Weights(0.1, 0.2, 0.3, 0.4), Weights(1 / 3, 1 / 3, 1 / 3, 0)])
@pytest.mark.parametrize("power", [-5, 0, 0.1, 7, float("inf")])
def test_perfect_inverted_and_constant_predictions_score_exactly_one_zero_and_one_half(weights, power):
    settings = MetricSettings(power=power, weights=weights)
    for y_score, value in [
        (np.array(PERFECT), 1.0),
        (-np.array(PERFECT), 0.0),
        (np.full(8, 0.3), 0.5),
    ]:
        report = bias_report(LABELS, y_score, OVERLAPPING, settings=settings)
        assert report.score == value
        assert set(all_aucs(report)) == {value}


def test_unmentioned_identity_has_a_reason_for_each_undefined_value():
    report = bias_report(LABELS, PERFECT, {"cat": OVERLAPPING["cat"], "cow": NOWHERE})
    cow = report.subgroups[1]
    assert (cow.size, cow.positives) == (0, 0)
    assert {cow.subgroup_auc, cow.bpsn_auc, cow.bnsp_auc, cow.positive_aeg} == {None}
    assert report.score is None
    assert set(report.terms.values()) == {1.0, None}
    assert {cell.subgroup for cell in report.undefined} == {"cow"}
    assert {cell.term: cell.affects_score for cell in report.undefined} == {
        **dict.fromkeys(("subgroup_auc", "bpsn_auc", "bnsp_auc"), True),
        **dict.fromkeys(("positive_aeg", "negative_aeg"), False),
    }
    assert "no positive rows that mention the identity" in report.undefined[0].reason


def test_skip_excludes_undefined_cells_from_the_mean():
    identities = {"cat": OVERLAPPING["cat"], "cow": NOWHERE}
    y_score = [0.9, 0.1, 0.2, 0.8, 0.7, 0.6, 0.3, 0.4]
    skipped = bias_report(LABELS, y_score, identities, settings=MetricSettings(undefined="skip"))
    alone = bias_report(LABELS, y_score, {"cat": OVERLAPPING["cat"]})
    assert skipped.power_means == alone.power_means
    assert skipped.score == alone.score


def test_identity_outside_the_score_is_reported_without_an_effect():
    identities = {"cat": OVERLAPPING["cat"], "cow": NOWHERE}
    report = bias_report(LABELS, PERFECT, identities, in_score=["cat"])
    assert report.score == 1.0
    assert [subgroup.in_score for subgroup in report.subgroups] == [True, False]
    assert not any(cell.affects_score for cell in report.undefined)


def test_only_the_overall_auc_is_defined_without_identities():
    report = bias_report(LABELS, PERFECT, {})
    assert (report.overall_auc, report.score) == (1.0, None)
    assert {cell.reason for cell in report.undefined} == {"no identity enters the power mean."}
    plain = MetricSettings(weights=Weights(1, 0, 0, 0))
    assert bias_report(LABELS, PERFECT, {}, settings=plain).score == 1.0


@pytest.mark.parametrize("y_score", [[0.1, np.nan], [-np.inf, 0.1], [0.1], ["a", "b"]])
def test_unrankable_predictions_are_rejected(y_score):
    with pytest.raises(ValueError, match="`y_score`"):
        bias_report([1, 0], y_score, {})


def test_four_hundred_thousand_rows_do_not_overflow_int32():
    rows = np.arange(400_000, dtype=np.int32)
    labels = (rows % 2).astype(np.int32)
    report = bias_report(labels, rows, {"cat": (rows < 200_000).astype(np.int32)})
    pairs = 200_000**2
    assert report.overall_auc == (pairs // 2 + 100_000) / pairs
    assert report.subgroups[0].bnsp_auc == 0.0
    assert report.subgroups[0].bpsn_auc == 1.0


def test_data_frame_has_one_row_per_identity():
    report = bias_report(LABELS, PERFECT, {"<b>": OVERLAPPING["cat"], "cow": NOWHERE})
    frame = report.to_frame()
    assert (frame.index.tolist(), frame.index.name) == (["<b>", "cow"], "identity")
    assert frame.loc["<b>", "bpsn_auc"] == report.subgroups[0].bpsn_auc
    assert frame.loc["cow", "subgroup_auc":"negative_aeg"].isna().all()
    assert bias_report([1], [1], {}).to_frame().columns.equals(frame.columns)
