"""Metric tables of Borkan et al. (2019) and Hann, Kalil and Payne."""

import numpy as np
import pandas as pd
import pytest

from fairboard import bias_report
from fairboard.bias.analysis import Data
from fairboard.bias.analysis.table import (
    CELLS,
    heat,
    label_tables,
    metric_table,
    overall_aucs,
)
from fairboard.bias.subgroups import BIAS_AUCS

LABELS, IDENTITIES = ("toxic", "insult", "threat"), ("cat", "dog", "cow")


def draw(seed, size=400, blanks=0.0):
    rng = np.random.default_rng(seed)
    labels, identities, predictions = (
        {name: np.round(rng.random(size), 1) for name in names} for names in (LABELS, IDENTITIES, LABELS)
    )
    for values in identities.values():
        values[rng.random(size) < blanks] = np.nan
    return labels, identities, predictions


def of_report(labels, predictions, identities):
    return bias_report(labels, predictions, identities).to_frame()[list(CELLS)]


@pytest.mark.parametrize("seed", range(2))
def test_table_of_each_label_equals_its_report(seed):
    labels, identities, predictions = draw(seed, blanks=0.2)
    tables = label_tables(Data.of(labels, identities), predictions)
    aucs = overall_aucs(Data.of(labels, identities), predictions)
    for label in LABELS:
        expected = of_report(labels[label], predictions[label], identities)
        pd.testing.assert_frame_equal(tables.loc[label][list(CELLS)], expected)
        assert aucs[label] == bias_report(labels[label], predictions[label], {}).overall_auc
    line = tables.loc["toxic", "cat"]
    mentions = identities["cat"] >= 0.5
    assert (line["size"], line["positives"]) == (mentions.sum(), (mentions & (labels["toxic"] >= 0.5)).sum())
    assert line["share_positive"] == line["positives"] / line["size"]
    assert line["mean_auc"] == pytest.approx(line[list(BIAS_AUCS)].mean())


def test_rows_without_a_label_are_left_out_of_its_table():
    labels, identities, predictions = draw(7)
    blank = np.random.default_rng(8).random(400) < 0.3
    data = Data.of({**labels, "insult": np.where(blank, np.nan, labels["insult"])}, identities)
    kept = {name: values[~blank] for name, values in identities.items()}
    expected = of_report(labels["insult"][~blank], predictions["insult"][~blank], kept)
    pd.testing.assert_frame_equal(metric_table(data, predictions["insult"], "insult")[list(CELLS)], expected)


def test_values_without_rows_to_compare_are_missing():
    table = metric_table(Data.of([1, 0, 0], {"cat": [0, 1, 1], "dog": [0, 0, 0]}), [0.9, 0.2, 0.1])
    assert table.loc["cat", list(CELLS)].isna().tolist() == [True, False, True, True, True]
    assert table.loc["dog", [*CELLS, "share_positive", "mean_auc"]].isna().all()
    assert pd.isna(table.loc["cat", "mean_auc"])


def test_colors_follow_the_paper():
    assert [heat("bpsn_auc", value) for value in (1.0, 0.75, 0.5, 0.2)] == [0, 0.5, 1, 1]
    assert [heat("positive_aeg", value) for value in (-0.5, 0.0, 0.5)] == [-1, 0, 1]
