"""Metric properties for arbitrary data, tested with Hypothesis."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairboard import bias_report, count_pairs, prepare, report
from fairboard.bias.metric_settings import MetricSettings

scores = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(0, 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 5e-324, 1.0, np.nextafter(1.0, 2.0), 1.7e308]),
)
rows = st.tuples(st.booleans(), scores, st.booleans(), st.sampled_from([0.0, 0.5, 1.0, np.nan]))
tables = st.lists(rows, min_size=1, max_size=60)


def columns(table):
    labels, y_score, cat, dog = map(np.array, zip(*table, strict=True))
    return labels, y_score.astype(float), {"cat": cat, "dog": dog}


@given(tables, st.randoms(use_true_random=False))
def test_row_order_does_not_change_the_report(table, random):
    shuffled = random.sample(table, len(table))
    assert bias_report(*columns(table)) == bias_report(*columns(shuffled))


@given(tables)
def test_identity_order_does_not_change_the_score(table):
    labels, y_score, identities = columns(table)
    backwards = dict(reversed(identities.items()))
    one, other = bias_report(labels, y_score, identities), bias_report(labels, y_score, backwards)
    assert (one.score, one.terms) == (other.score, other.terms)
    assert one.subgroups == other.subgroups[::-1]


@given(tables)
def test_only_the_order_of_the_predictions_counts(table):
    labels, y_score, identities = columns(table)
    _, dense_ranks = np.unique(y_score, return_inverse=True)
    for transformed in (dense_ranks, np.ldexp(dense_ranks.astype(float), -1060)):
        assert bias_report(labels, transformed, identities) == bias_report(labels, y_score, identities)


@given(tables)
def test_bpsn_and_bnsp_swap_when_labels_and_predictions_are_inverted(table):
    labels, y_score, identities = columns(table)
    one = bias_report(labels, y_score, identities)
    mirrored = bias_report(~labels, -y_score, identities)
    for here, there in zip(one.subgroups, mirrored.subgroups, strict=True):
        assert here.subgroup_auc == there.subgroup_auc
        assert (here.bpsn_auc, here.bnsp_auc) == (there.bnsp_auc, there.bpsn_auc)
        assert here.positive_aeg == (None if there.negative_aeg is None else -there.negative_aeg)


@given(tables, st.sampled_from([-5.0, 0.0, 2.0]))
def test_report_of_stored_counts_is_identical(table, power):
    labels, y_score, identities = columns(table)
    settings = MetricSettings(power=power, undefined="skip")
    split = prepare(labels, identities)
    counts = count_pairs(split, y_score)
    stored = type(counts).from_dict(counts.as_dict())
    assert report(stored, settings) == report(counts, settings)


@given(tables)
def test_every_value_is_in_its_range(table):
    result = bias_report(*columns(table), settings=MetricSettings(undefined="skip"))
    for subgroup in result.subgroups:
        aucs = (subgroup.subgroup_auc, subgroup.bpsn_auc, subgroup.bnsp_auc)
        assert all(auc is None or 0 <= auc <= 1 for auc in aucs)
        gaps = (subgroup.positive_aeg, subgroup.negative_aeg)
        assert all(gap is None or -0.5 <= gap <= 0.5 for gap in gaps)
    assert result.score is None or 0 <= result.score <= 1
