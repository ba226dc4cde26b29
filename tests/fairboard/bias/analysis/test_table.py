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
    undefined,
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


def test_annotated_background_excludes_the_blanks_of_each_identity():
    labels, identities, predictions = draw(9, blanks=0.3)
    found = metric_table(Data.of(labels, identities, background="annotated"), predictions["toxic"])
    for name, values in identities.items():
        kept = ~np.isnan(values)
        alone = of_report(labels["toxic"][kept], predictions["toxic"][kept], {name: values[kept]})
        assert found.loc[name, list(CELLS)].tolist() == alone.loc[name].tolist()
        assert found.loc[name, "background_size"] == (kept & ~(values >= 0.5)).sum()


def test_one_prediction_is_compared_with_every_label():
    labels, identities, predictions = draw(4)
    tables = label_tables(Data.of(labels, identities), predictions["toxic"])
    expected = of_report(labels["threat"], predictions["toxic"], identities)
    pd.testing.assert_frame_equal(tables.loc["threat"][list(CELLS)], expected)


def test_undefined_values_have_reasons():
    table = metric_table(Data.of([1, 0, 0], {"cat": [0, 1, 1], "dog": [0, 0, 0]}), [0.9, 0.2, 0.1])
    reasons = {(line.identity, line.term): line.reason for line in undefined(table).itertuples()}
    assert reasons["cat", "subgroup_auc"] == "there are no positive rows that mention the identity."
    missing = table[list(CELLS)].isna().stack()
    assert set(reasons) == set(missing[missing].index)
    assert pd.isna(table.loc["dog", "share_positive"]) and pd.isna(table.loc["cat", "mean_auc"])


@pytest.mark.parametrize(("labels", "auc"), [([], None), ([1, 0], 1.0)])
def test_tables_may_have_no_rows_or_no_identities(labels, auc):
    data = Data.of({"toxic": labels}, {})
    assert label_tables(data, labels).empty
    assert overall_aucs(data, labels).replace(np.nan, None).tolist() == [auc]


def test_colors_follow_the_paper():
    assert [heat("bpsn_auc", value) for value in (1.0, 0.75, 0.5, 0.2)] == [0, 0.5, 1, 1]
    assert [heat("positive_aeg", value) for value in (-0.5, 0.0, 0.5)] == [-1, 0, 1]


# Printed values of Table 3, TOXICITY@1: Subgroup, BPSN and BNSP AUC of the 20 lowest identities.
TABLE_3 = """
homosexual 0.98 0.43 1.0
gay 0.98 0.57 1.0
lesbian 0.99 0.67 1.0
transgender 0.99 0.93 0.98
straight 1.0 1.0 0.94
heterosexual 1.0 0.96 0.98
bisexual 1.0 0.97 0.98
lgbtq 1.0 1.0 0.95
trans 1.0 0.99 0.97
nonbinary 1.0 1.0 0.96
queer 1.0 0.99 0.97
african-american 1.0 1.0 0.97
european 1.0 1.0 0.97
lgbt 1.0 1.0 0.97
african 1.0 1.0 0.97
black 1.0 0.99 0.98
hispanic 1.0 1.0 0.97
white 1.0 1.0 0.97
male 1.0 1.0 0.97
female 1.0 1.0 0.97
"""

# Table 6, short comments: Subgroup, BPSN and BNSP AUC, negative and positive AEG of @1, then of @6.
TABLE_6_SHORT = """
male 0.91 0.91 0.94 0.13 -0.034 0.92 0.93 0.95 0.12 -0.047
female 0.88 0.9 0.94 0.17 -0.043 0.9 0.92 0.95 0.18 -0.038
transgender 0.74 0.82 0.92 0.34 -0.17 0.77 0.89 0.9 0.27 -0.18
homosexual_gay_or_lesbian 0.71 0.57 0.98 0.43 0.11 0.77 0.82 0.93 0.3 -0.079
christian 0.91 0.93 0.93 0.12 -0.089 0.92 0.94 0.94 0.092 -0.11
jewish 0.79 0.79 0.95 0.34 -0.027 0.81 0.84 0.95 0.33 -0.07
muslim 0.78 0.81 0.94 0.34 -0.065 0.81 0.88 0.93 0.26 -0.13
atheist 0.91 0.88 0.96 0.23 -0.0043 0.94 0.91 0.97 0.25 -0.05
black 0.77 0.79 0.95 0.35 -0.047 0.78 0.75 0.97 0.4 -0.021
white 0.78 0.81 0.94 0.33 -0.056 0.82 0.83 0.96 0.37 -0.081
asian 0.88 0.92 0.92 0.14 -0.11 0.86 0.9 0.93 0.21 -0.059
latino 0.83 0.9 0.91 0.16 -0.1 0.85 0.9 0.94 0.16 -0.1
psychiatric_or_mental_illness 0.78 0.79 0.95 0.36 -0.053 0.84 0.86 0.95 0.29 -0.066
"""


def printed(text, first):
    """Return a table of printed values; each row has up to five cells, starting at the metric `first`."""
    lines = {
        name: map(float, values[first : first + 5])
        for name, *values in map(str.split, text.strip().splitlines())
    }
    return pd.DataFrame([dict(zip(CELLS, values, strict=False)) for values in lines.values()], list(lines))


def test_table_3_is_sorted_by_the_mean_of_the_three_aucs():
    aucs = printed(TABLE_3, 0)[list(BIAS_AUCS)]
    assert aucs.mean(axis=1).round(9).is_monotonic_increasing
    assert not aucs.min(axis=1).is_monotonic_increasing


def test_only_black_and_asian_do_not_improve_on_short_comments():
    differences = (printed(TABLE_6_SHORT, 5) - printed(TABLE_6_SHORT, 0))["bpsn_auc"]
    assert set(differences.index[differences < 0]) == {"black", "asian"}
    assert differences.idxmax() == "homosexual_gay_or_lesbian"
    assert differences.max() == pytest.approx(0.25)
