"""All five metrics for every identity and every label."""

import json

import numpy as np
import pytest

from fairboard import bias_report
from fairboard.bias.analysis.annotations import Annotations
from fairboard.bias.analysis.matrix import label_matrices
from fairboard.bias.analysis.table import CELLS

LABELS = ("toxic", "insult", "threat")
IDENTITIES = ("cat", "dog", "cow")


def draw(seed, size=400):
    rng = np.random.default_rng(seed)
    labels = {name: np.round(rng.random(size), 1) for name in LABELS}
    identities = {name: np.round(rng.random(size), 1) for name in IDENTITIES}
    predictions = {name: np.round(rng.random(size), 2) for name in LABELS}
    return labels, identities, predictions


@pytest.mark.parametrize("seed", range(3))
def test_each_column_equals_the_report_of_its_label(seed):
    labels, identities, predictions = draw(seed)
    found = label_matrices(Annotations.of(labels, identities), predictions)
    for label in LABELS:
        alone = bias_report(labels[label], predictions[label], identities)
        assert found.overall_aucs[label] == alone.overall_auc
        for subgroup in alone.subgroups:
            for cell in CELLS:
                assert found.matrix(cell).value(subgroup.name, label) == getattr(subgroup, cell)


def test_rows_without_a_label_do_not_change_its_column():
    labels, identities, predictions = draw(7)
    blank = np.random.default_rng(8).random(400) < 0.3
    with_blanks = labels | {"insult": np.where(blank, np.nan, labels["insult"])}
    found = label_matrices(Annotations.of(with_blanks, identities), predictions)
    alone = bias_report(
        labels["insult"][~blank],
        predictions["insult"][~blank],
        {name: values[~blank] for name, values in identities.items()},
    )
    assert found.overall_aucs["insult"] == alone.overall_auc
    assert found.matrix("bpsn_auc").value("cow", "insult") == alone.subgroups[2].bpsn_auc
    assert found.tables["insult"].rows == 400 - blank.sum()


def test_blank_identity_is_background_or_excluded():
    labels, identities, predictions = draw(9)
    identities["cat"][:100] = np.nan
    everything = label_matrices(Annotations.of(labels, identities), predictions)
    annotated = label_matrices(Annotations.of(labels, identities, background="annotated"), predictions)
    assert everything.matrix("bpsn_auc").value("cat", "toxic") != annotated.matrix("bpsn_auc").value(
        "cat", "toxic"
    )
    assert everything.matrix("bpsn_auc").values[1:] == annotated.matrix("bpsn_auc").values[1:]


def test_single_prediction_is_compared_with_every_label_and_marked():
    labels, identities, predictions = draw(3)
    annotations = Annotations.of(labels, identities)
    found = label_matrices(annotations, predictions["toxic"])
    assert found.has_one_prediction
    by_label = label_matrices(annotations, dict.fromkeys(LABELS, predictions["toxic"]))
    assert found.tables == by_label.tables
    assert not by_label.has_one_prediction


def test_single_prediction_of_the_only_label_is_not_marked():
    labels, identities, predictions = draw(3)
    annotations = Annotations.of({"toxic": labels["toxic"]}, identities)
    assert not label_matrices(annotations, predictions["toxic"]).has_one_prediction


def test_matrices_do_not_depend_on_row_order():
    labels, identities, predictions = draw(12)
    order = np.random.default_rng(13).permutation(400)
    annotations = Annotations.of(labels, identities)
    shuffled = {label: scores[order] for label, scores in predictions.items()}
    assert label_matrices(annotations.at(order), shuffled) == label_matrices(annotations, predictions)


def test_label_without_predictions_has_no_column():
    labels, identities, predictions = draw(4)
    del predictions["insult"]
    found = label_matrices(Annotations.of(labels, identities), predictions)
    assert found.unpredicted == ("insult",)
    assert found.matrix("subgroup_auc").labels == ("toxic", "threat")


def test_predictions_of_an_unknown_label_are_rejected():
    labels, identities, predictions = draw(5)
    with pytest.raises(
        ValueError, match=r"`predictions` contains unknown labels: rude\. Labels: toxic, insult, threat"
    ):
        label_matrices(Annotations.of(labels, identities), {"rude": predictions["toxic"]})


def test_small_identities_are_omitted_and_listed():
    labels, identities, predictions = draw(6)
    identities["rare"] = np.zeros(400)
    identities["rare"][:7] = 1
    found = label_matrices(Annotations.of(labels, identities), predictions, minimum_size=8)
    assert found.too_small == (("rare", 7),)
    assert found.as_dict()["too_small"] == [{"name": "rare", "size": 7}]
    assert found.identities == IDENTITIES
    kept = label_matrices(Annotations.of(labels, identities), predictions, minimum_size=7)
    assert kept.identities == (*IDENTITIES, "rare")


def test_undefined_cell_has_its_reason():
    annotations = Annotations.of({"toxic": [1, 0, 0]}, {"cat": [0, 1, 1]})
    found = label_matrices(annotations, [0.9, 0.2, 0.1])
    matrix = found.matrix("subgroup_auc")
    assert matrix.values == ((None,),)
    assert matrix.reasons["cat", "toxic"] == "there are no positive rows that mention the identity."
    json.dumps(found.as_dict(), allow_nan=False)


def test_unknown_metric_is_rejected():
    annotations = Annotations.of({"toxic": [1, 0]}, {"cat": [0, 1]})
    with pytest.raises(ValueError, match="`cell` must be one of subgroup_auc"):
        label_matrices(annotations, [0, 1]).matrix("auc")


def test_nothing_is_defined_without_rows():
    found = label_matrices(Annotations.of({"toxic": []}, {"cat": []}), [])
    assert found.overall_aucs == {"toxic": None}
    assert found.matrix("positive_aeg").defined() == []


def test_matrices_without_identities_contain_only_overall_aucs():
    found = label_matrices(Annotations.of({"toxic": [1, 0]}, {}), [1, 0])
    assert found.overall_aucs == {"toxic": 1}
    assert found.matrix("bpsn_auc").values == ()
