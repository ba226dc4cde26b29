"""Data audit without a model: correlations, PPMI, fractions, co-mentions."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fairboard.bias.analysis.annotations import Annotations, count_fractions
from fairboard.bias.analysis.association import label_correlations
from fairboard.bias.analysis.audit import audit, co_mentions, mean_labels, ppmi, ppmi_of_counts

NAN = float("nan")


def draw(seed, size=300, blanks=0.2):
    rng = np.random.default_rng(seed)

    def column():
        values = np.round(rng.random(size), 1)
        return np.where(rng.random(size) < blanks, NAN, values)

    return {name: column() for name in ("toxic", "insult")}, {
        name: column() for name in ("cat", "dog", "cow")
    }


# Pearson correlation


@pytest.mark.parametrize("reading", ["fractions", "binarized"])
@pytest.mark.parametrize("background", ["all", "annotated"])
@pytest.mark.parametrize("blanks", [0, 0.2])
def test_correlations_equal_those_of_numpy(reading, background, blanks):
    labels, identities = draw(1, blanks=blanks)
    found = label_correlations(Annotations.of(labels, identities, background=background), reading)
    for identity, mentions in identities.items():
        for label, truth in labels.items():
            kept = ~np.isnan(truth)
            if background == "annotated":
                kept &= ~np.isnan(mentions)
            one, other = np.nan_to_num(mentions)[kept], truth[kept]
            if reading == "binarized":
                one, other = one >= 0.5, other >= 0.5
            assert found.value(identity, label) == pytest.approx(np.corrcoef(one, other)[0, 1], abs=1e-12)


def test_binarized_correlations_do_not_depend_on_row_order():
    labels, identities = draw(2)
    order = np.random.default_rng(3).permutation(300)
    annotations = Annotations.of(labels, identities)
    found = label_correlations(annotations, "binarized")
    assert label_correlations(annotations.at(order), "binarized") == found


def test_constant_or_rare_column_has_no_correlation():
    annotations = Annotations.of(
        {"toxic": [0, 1, 1], "never": [0, 0, 0], "once": [1, NAN, NAN]}, {"cat": [0, 1, 0], "dog": [0, 0, 0]}
    )
    found = label_correlations(annotations)
    assert found.values == ((pytest.approx(0.5), None, None), (None, None, None))
    assert found.reasons["cat", "never"] == "the label is the same in all rows."
    assert found.reasons["dog", "toxic"] == "the identity is the same in all rows."
    assert found.reasons["cat", "once"] == "fewer than two rows have both values."


def test_invalid_reading_is_rejected():
    with pytest.raises(ValueError, match='`reading` must be "fractions" or "binarized"'):
        label_correlations(Annotations.of({"toxic": [0, 1]}, {}), "rounded")


@given(
    arrays.arrays(np.int64, 12, elements=st.integers(-1000, 1000)), st.integers(-300, 300), st.floats(0.1, 1)
)
def test_column_correlates_perfectly_with_itself_at_any_scale(numbers, exponent, factor):
    values = numbers * 10.0**exponent
    annotations = Annotations.of({"toxic": values * factor}, {"cat": values})
    r = label_correlations(annotations).value("cat", "toxic")
    if np.ptp(numbers) == 0:
        assert r is None
    else:
        assert r == pytest.approx(1)
        assert r <= 1


# PPMI


def test_ppmi_of_comments_is_the_logarithm_of_row_shares():
    labels, identities = draw(4, blanks=0)
    found = ppmi(Annotations.of(labels, identities), "comments")
    for identity, mentions in identities.items():
        for label, truth in labels.items():
            one, other = mentions >= 0.5, truth >= 0.5
            expected = max(0, math.log((one & other).mean() / (one.mean() * other.mean())))
            assert found.value(identity, label) == pytest.approx(expected, abs=1e-12)


def test_ppmi_of_pairs_is_the_logarithm_of_pair_shares():
    labels, identities = draw(5, blanks=0)
    found = ppmi(Annotations.of(labels, identities), "pairs")
    counts = np.array(
        [[((i >= 0.5) & (t >= 0.5)).sum() for t in labels.values()] for i in identities.values()], float
    )
    joint = counts / counts.sum()
    expected = np.log(joint / (joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)))
    assert np.array(found.values) == pytest.approx(np.maximum(expected, 0), abs=1e-12)


def test_ppmi_of_comments_and_pairs_can_differ_in_sign():
    # Both labels are more likely with the identity than without it, and one of them much more so.
    mentions = [1] * 10 + [0] * 90
    toxic = [1] * 3 + [0] * 7 + [1] * 9 + [0] * 81
    attack = [1] * 9 + [0] * 91
    annotations = Annotations.of(
        {"toxic": toxic, "attack": attack}, {"cat": mentions, "rest": 1 - np.array(mentions)}
    )
    assert ppmi(annotations, "comments").value("cat", "toxic") > 0.9
    assert ppmi(annotations, "pairs").value("cat", "toxic") == 0


def test_ppmi_is_zero_without_co_occurrence_and_undefined_without_occurrence():
    annotations = Annotations.of(
        {"toxic": [1, 0], "never": [0, 0]}, {"cat": [0, 1], "dog": [0, 0], "cow": [1, 0]}
    )
    for unit in ("comments", "pairs"):
        found = ppmi(annotations, unit)
        assert found.value("dog", "toxic") is None
        assert found.value("cow", "never") is None
    assert ppmi(annotations).value("cat", "toxic") == 0
    assert ppmi(annotations).reasons["cow", "never"] == "no row has the label."
    assert (
        ppmi(annotations, "pairs").reasons["cat", "toxic"] == "no row mentions the identity and has a label."
    )


def test_independent_events_have_a_ppmi_of_exactly_zero():
    assert ppmi_of_counts({("a", "x"): 3, ("a", "y"): 9, ("b", "x"): 7, ("b", "y"): 21}).values == (
        (0, 0),
        (0, 0),
    )


def test_invalid_unit_is_rejected():
    with pytest.raises(ValueError, match='`unit` must be "comments" or "pairs"'):
        ppmi(Annotations.of({"toxic": [0, 1]}, {}), "words")


# Fractions


def test_every_tenth_has_its_own_bin():
    counts = count_fractions("toxic", np.arange(11) / 10)
    assert counts.tenths == (1,) * 11
    assert [each.rows for each in counts.sweep] == list(range(10, 0, -1))


def test_blanks_are_counted_separately_and_excluded_from_shares():
    counts = count_fractions("toxic", np.array([NAN, 0.5, 0.49999999999999994, 0]), [0.5])
    assert (counts.rows, counts.blanks) == (3, 1)
    assert counts.sweep[0].rows == 1
    assert counts.sweep[0].share == 1 / 3
    assert count_fractions("toxic", np.array([NAN]), [0.5]).sweep[0].share is None


def test_fraction_outside_its_interval_is_rejected():
    with pytest.raises(ValueError, match="`toxic` must be between 0 and 1, but 1 of 2 values"):
        count_fractions("toxic", np.array([0.5, 1.5]))


# Co-mentions


def test_co_mentions_are_counted_in_rows():
    _, identities = draw(6)
    found = co_mentions(Annotations.of({"toxic": np.zeros(300)}, identities))
    both = (identities["cat"] >= 0.5) & (identities["cow"] >= 0.5)
    assert found.together("cat", "cow") == found.together("cow", "cat") == both.sum()
    assert found.share("cat", "cow") == both.sum() / (identities["cat"] >= 0.5).sum()
    per_row = sum((values >= 0.5).astype(int) for values in identities.values())
    assert found.identities_per_row == tuple(np.bincount(per_row))
    assert found.mean == per_row.mean()
    assert found.mean_where_any == per_row[per_row > 0].mean()
    assert found.mean_by_identity["dog"] == per_row[identities["dog"] >= 0.5].mean()


def test_unannotated_row_counts_only_with_background_all():
    labels, identities = {"toxic": [0, 0, 0]}, {"cat": [1, NAN, 0], "dog": [1, NAN, NAN]}
    assert co_mentions(Annotations.of(labels, identities)).identities_per_row == (2, 0, 1)
    annotated = Annotations.of(labels, identities, background="annotated")
    assert co_mentions(annotated).identities_per_row == (1, 0, 1)


def test_means_are_none_without_mentions():
    found = co_mentions(Annotations.of({"toxic": [0]}, {"cat": [0]}))
    assert (found.mean, found.mean_where_any, found.mean_by_identity["cat"]) == (0, None, None)
    assert found.share("cat", "cat") is None
    assert co_mentions(Annotations.of({"toxic": [0, 0]}, {})).identities_per_row == (2,)


# The whole audit


def test_mean_labels_cover_all_rows_and_each_identity():
    labels, identities = draw(7)
    means = {(each.identity, each.label): each for each in mean_labels(Annotations.of(labels, identities))}
    assert means[None, "toxic"].mean == pytest.approx(np.nanmean(labels["toxic"]))
    cats = labels["insult"][identities["cat"] >= 0.5]
    assert means["cat", "insult"].mean == pytest.approx(np.nanmean(cats))
    assert means["cat", "insult"].mean_of_positives == pytest.approx(cats[cats >= 0.5].mean())
    assert means["cat", "insult"].positives == (cats >= 0.5).sum()


def test_audit_names_its_readings_and_serializes_to_json():
    found = audit(Annotations.of(*draw(8)))
    data = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert list(data["correlations"]) == ["fractions", "binarized"]
    assert list(data["ppmi"]) == ["comments", "pairs"]
    assert data["label_threshold"] == data["identity_threshold"] == 0.5
    assert data["background"] == "all"
    assert [column["name"] for column in data["labels"]] == ["toxic", "insult"]
    assert sum(data["identities"][0]["tenths"]) + data["identities"][0]["blanks"] == 300


def test_audit_without_rows_has_reasons_instead_of_values():
    found = audit(Annotations.of({"toxic": []}, {"cat": []}))
    assert found.correlations["fractions"].values == found.ppmi["pairs"].values == ((None,),)
    assert found.labels[0].tenths == (0,) * 11
    assert found.co_mentions.mean is None
    json.dumps(found.as_dict(), allow_nan=False)
