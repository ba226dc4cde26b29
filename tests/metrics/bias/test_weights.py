"""Weighted reports: exact AUCs in which each pair of rows counts the product of its weights."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from fairboard import BIAS_AUCS, BiasReport, bias_report

weights = st.one_of(st.sampled_from([0.0, 1.0, 0.1]), st.floats(1e-6, 1e6))
rows = st.lists(
    st.tuples(st.booleans(), st.integers(-3, 3), st.booleans(), st.booleans(), weights),
    min_size=1,
    max_size=40,
)


def arguments(table: list[tuple[Any, ...]]) -> tuple[Any, Any, dict[str, Any], Any]:
    y_true, y_score, cat, dog, weight = map(np.array, zip(*table, strict=True))
    return y_true, y_score, {"cat": cat, "dog": dog}, weight


def weighted(table: list[tuple[Any, ...]]) -> BiasReport:
    y_true, y_score, identities, weight = arguments(table)
    return bias_report(y_true, y_score, identities, sample_weight=weight)


@given(rows)
def test_weighted_overall_auc_equals_that_of_scikit_learn(table):
    y_true, y_score, _, weight = arguments(table)
    assume(weight[y_true].any() and weight[~y_true].any())
    expected = roc_auc_score(y_true, y_score, sample_weight=weight)
    assert weighted(table).overall_auc == pytest.approx(expected, abs=1e-9)


def share(first: Any, second: Any, y_score: Any, weight: Any) -> float | None:
    """Return the exact weighted share of pairs in which the first row has the higher prediction."""
    won = total = Fraction(0)
    for one in np.flatnonzero(first):
        for other in np.flatnonzero(second):
            pair = Fraction(weight[one]) * Fraction(weight[other])
            total += pair
            won += pair * Fraction(int(np.sign(y_score[one] - y_score[other])) + 1, 2)
    return float(won / total) if total else None


@given(rows)
def test_every_weighted_cell_is_the_exact_share_of_weighted_pairs(table):
    y_true, y_score, identities, weight = arguments(table)
    for line in weighted(table).subgroups:
        inside = identities[line.name]
        cells = {
            "subgroup_auc": (inside & y_true, inside & ~y_true),
            "bpsn_auc": (~inside & y_true, inside & ~y_true),
            "bnsp_auc": (inside & y_true, ~inside & ~y_true),
        }
        for cell, sets in cells.items():
            assert getattr(line, cell) == share(*sets, y_score, weight)
        for cell, kind in (("positive_aeg", y_true), ("negative_aeg", ~y_true)):
            auc = share(~inside & kind, inside & kind, y_score, weight)
            expected = None if auc is None else 0.5 - auc
            assert getattr(line, cell) == (expected if auc is None else pytest.approx(expected, abs=1e-15))


@given(rows)
def test_row_of_weight_zero_is_as_if_absent(table):
    present = [row for row in table if row[-1]]
    assume(present)
    assert weighted(table) == weighted(present)


@given(rows, st.floats(5e-324, 1e300))
def test_equal_weights_give_identical_bits_to_no_weights(table, weight):
    y_true, y_score, identities, _ = arguments(table)
    assert weighted([(*row[:-1], weight) for row in table]) == bias_report(y_true, y_score, identities)


@given(rows.map(lambda table: [(*row[:-1], round(row[-1]) % 4) for row in table]))
def test_integer_weights_give_the_aucs_of_repeated_rows(table):
    again = [row for row in table for _ in range(row[-1])]
    assume(again)
    repeated, found = bias_report(*arguments(again)[:3]), weighted(table)
    assert (found.score, found.power_means) == (repeated.score, repeated.power_means)
    sizes = [{"size": line.size, "positives": line.positives} for line in found.subgroups]
    lines = [replace(line, **size) for line, size in zip(repeated.subgroups, sizes, strict=True)]
    assert found.subgroups == tuple(lines)


@given(rows, st.randoms())
def test_weighted_report_does_not_depend_on_the_order_of_the_rows(table, random):
    shuffled = random.sample(table, len(table))
    assert weighted(table) == weighted(shuffled)


def test_counts_of_a_weighted_report_are_numbers_of_rows():
    report = bias_report(
        [1, 0, 1, 0], [4, 3, 2, 1], {"cat": [1, 1, 1, 0]}, sample_weight=[0.5, 9.0, 0.0, 2.0]
    )
    assert (report.rows, report.positives) == (3, 1)
    assert (report.subgroups[0].size, report.subgroups[0].positives) == (2, 1)


def test_report_is_undefined_if_all_weights_are_zero():
    report = bias_report([1, 0], [2, 1], {"cat": [1, 1]}, sample_weight=[0, 0])
    assert (report.rows, report.score, report.overall_auc) == (0, None, None)
    assert {undefined.term for undefined in report.undefined} >= set(BIAS_AUCS)


@pytest.mark.parametrize(
    ("sample_weight", "message"),
    [
        ([1, -0.5], "`sample_weight` must be zero or positive, but 1 of 2 values are not"),
        ([np.nan, 1], "`sample_weight` must be finite"),
        ([np.inf, 1], "`sample_weight` must be finite"),
        ([1], "`sample_weight` must have 2 values, not 1"),
        ("w", "`sample_weight` is the name of a column, which requires `data`"),
    ],
)
def test_invalid_weights_are_rejected(sample_weight, message):
    with pytest.raises((TypeError, ValueError), match=message):
        bias_report([1, 0], [2, 1], {}, sample_weight=sample_weight)
