"""Comparison between a fuzzed set and its original."""

import json

import numpy as np
import pytest

from fairboard import bias_report
from fairboard.bias.analysis.annotations import Annotations
from fairboard.bias.analysis.fuzzed_texts import compare_fuzzed, compare_twins
from fairboard.bias.analysis.table import CELLS

LABELS = ("toxic", "insult")


def draw(seed, size=300, identities=("cat", "dog")):
    rng = np.random.default_rng(seed)
    labels = {name: rng.integers(0, 2, size) for name in LABELS}
    mentions = {name: rng.integers(0, 2, size) for name in identities}
    return Annotations.of(labels, mentions), {name: rng.integers(0, 40, size) / 40 for name in LABELS}


def test_every_metric_equals_that_of_its_own_set():
    (one, predictions), (other, fuzzed) = draw(1), draw(2, size=200)
    found = compare_fuzzed(one, predictions, other, fuzzed)
    for label in LABELS:
        original = bias_report(one.labels[label], predictions[label], one.identities)
        changed = bias_report(other.labels[label], fuzzed[label], other.identities)
        assert found.overall_aucs[label].original == original.overall_auc
        assert found.overall_aucs[label].fuzzed == changed.overall_auc
        assert found.terms[label]["score"].original == original.score
        assert found.terms[label]["score"].fuzzed == changed.score
        assert found.terms[label]["bnsp_auc"].fuzzed == changed.power_means.bnsp_auc
        assert found.terms[label]["score"].difference == changed.score - original.score
        for before, after in zip(original.subgroups, changed.subgroups, strict=True):
            for cell in CELLS:
                difference = found.differences(cell).value(before.name, label)
                assert difference == getattr(after, cell) - getattr(before, cell)
    assert found.shifts == ()


def test_comparison_of_a_set_with_itself_shows_no_change():
    annotations, predictions = draw(3)
    found = compare_fuzzed(annotations, predictions, annotations, predictions, are_twins=True)
    assert all(change.difference == 0 for terms in found.terms.values() for change in terms.values())
    assert all(cell.value == 0 for name in CELLS for cell in found.differences(name).defined())
    assert [(shift.raised, shift.lowered, shift.mean) for shift in found.shifts] == [(0, 0, 0), (0, 0, 0)]


def test_twins_in_one_set_equal_two_separate_sets():
    (one, predictions), (other, fuzzed) = draw(4), draw(5)
    rng = np.random.default_rng(6)
    order = rng.permutation(601)
    ids = [f"row-{number}" for number in range(300)]
    pair = np.array([*ids, *ids, ""])[order]
    role = np.array(["original"] * 300 + ["fuzzed"] * 300 + [""])[order]

    def joined(first, second):
        return {name: np.concatenate([first[name], second[name], [0]])[order] for name in first}

    together = Annotations.of(joined(one.labels, other.labels), joined(one.identities, other.identities))
    found = compare_twins(together, joined(predictions, fuzzed), pair.tolist(), role.tolist())
    apart = compare_fuzzed(one, predictions, other, fuzzed, are_twins=True)
    assert found.terms == apart.terms
    assert found.fuzzed.tables == apart.fuzzed.tables
    for shift, expected in zip(found.shifts, apart.shifts, strict=True):
        moved = fuzzed[shift.label] - predictions[shift.label]
        assert (shift.raised, shift.lowered) == (expected.raised, expected.lowered)
        assert (shift.raised, shift.lowered) == ((moved > 0).sum(), (moved < 0).sum())
        assert shift.mean == pytest.approx(moved.mean())
        assert shift.mean_absolute == pytest.approx(np.abs(moved).mean())
    json.dumps(found.as_dict(), allow_nan=False)


def test_single_prediction_for_all_labels_stays_single():
    annotations, predictions = draw(7)
    pair = np.repeat([f"{number}" for number in range(150)], 2).tolist()
    found = compare_twins(annotations, predictions["toxic"], pair, ["original", "fuzzed"] * 150)
    assert found.original.has_one_prediction
    assert list(found.terms) == list(LABELS)


def test_difference_covers_only_identities_and_labels_of_both_sets():
    (one, predictions), (other, fuzzed) = draw(8), draw(9, identities=("dog", "cow"))
    del fuzzed["insult"]
    found = compare_fuzzed(one, predictions, other, fuzzed)
    difference = found.differences("bpsn_auc")
    assert (difference.identities, difference.labels) == (("dog",), ("toxic",))
    assert found.fuzzed.identities == ("dog", "cow")


def test_terms_use_identities_that_are_large_enough_in_both_sets():
    annotations, predictions = draw(13, identities=("cat", "dog", "cow"))
    mentions = dict(annotations.identities)
    mentions["cow"] = np.append(np.ones(9), np.zeros(291))
    fuzzed = Annotations.of(annotations.labels, mentions)
    found = compare_fuzzed(annotations, predictions, fuzzed, predictions, minimum_size=10)
    two = {name: annotations.identities[name] for name in ("cat", "dog")}
    expected = bias_report(annotations.labels["toxic"], predictions["toxic"], two).score
    assert found.terms["toxic"]["score"].original == found.terms["toxic"]["score"].fuzzed == expected
    assert found.original.identities == ("cat", "dog", "cow")
    assert found.fuzzed.too_small == (("cow", 9),)


def test_undefined_value_has_no_difference():
    annotations, predictions = draw(10)
    never = Annotations.of({name: np.zeros(300) for name in LABELS}, annotations.identities)
    found = compare_fuzzed(annotations, predictions, never, predictions)
    assert found.overall_aucs["toxic"].fuzzed is None
    assert found.overall_aucs["toxic"].difference is None
    assert found.differences("subgroup_auc").reasons["cat", "toxic"].startswith("there are no positive rows")


def test_incomparable_sets_are_rejected():
    (one, predictions), (other, fuzzed) = draw(11), draw(12, size=200)
    with pytest.raises(ValueError, match="Twins must have the same number of rows, not 300 and 200"):
        compare_fuzzed(one, predictions, other, fuzzed, are_twins=True)
    with pytest.raises(ValueError, match="No label was predicted on both"):
        compare_fuzzed(one, {"toxic": predictions["toxic"]}, other, {"insult": fuzzed["insult"]})
    with pytest.raises(ValueError, match="`pair` must have 300 values, not 1"):
        compare_twins(one, predictions, ["1"], ["original"])
