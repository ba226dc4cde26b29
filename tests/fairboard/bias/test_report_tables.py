"""Bias reports as data frames and tables."""

import sys
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from fairboard import bias_report
from fairboard.bias.report_tables import as_markdown

NAMES = ("<script>", r"a|b & $x_1$ \ %", "cow")
IDENTITIES = {NAMES[0]: [1, 1, 1, 1, 0, 0], NAMES[1]: [0, 1, 1, 0, 1, 0], "cow": [0, 0, 0, 0, 0, 0]}
ROWS = ([1, 0, 1, 0, 1, 0], [0.9, 0.5, 0.4, 0.2, 0.8, 0.1], IDENTITIES)
REPORT = bias_report(*ROWS)


def test_data_frame_has_one_row_per_identity():
    frame = REPORT.to_frame()
    assert frame.index.tolist() == list(NAMES)
    assert frame.index.name == "identity"
    assert frame.loc[NAMES[0], "bpsn_auc"] == REPORT.subgroups[0].bpsn_auc
    assert frame.dtypes["subgroup_auc"] == np.float64
    assert frame.loc["cow", "subgroup_auc":"negative_aeg"].isna().all()
    pd.testing.assert_index_equal(bias_report([1], [1], {}).to_frame().columns, frame.columns)


def test_overall_and_group_values_are_those_of_the_report():
    means = {f"mean_{auc}": mean for auc, mean in asdict(REPORT.power_means).items()}
    assert REPORT.overall == {"score": None, "overall_auc": REPORT.overall_auc} | means
    assert list(REPORT.by_group) == list(NAMES)
    assert REPORT.by_group[NAMES[1]]["negative_aeg"] == REPORT.subgroups[1].negative_aeg


def test_line_breaks_in_names_do_not_break_the_text_table():
    lines = str(bias_report([1, 0, 1, 0], [4, 3, 2, 1], {"big\ncat": [1, 1, 0, 0]})).splitlines()
    assert lines[-1].startswith("big cat ")


def test_markdown_contains_escaped_names_and_every_identity():
    markdown = as_markdown({"": {"": REPORT}}).splitlines()
    assert len(markdown) == 3 + len(NAMES)
    assert markdown[4].startswith(r"| a\|b & $x_1$ \\ % | yes | 3 |")
    found = bias_report(ROWS[0], ROWS[1], {"two\nlines": IDENTITIES["cow"]})
    assert as_markdown({"": {"": found}}).splitlines()[3].startswith("| two lines | yes |")


def test_missing_pandas_and_its_extra_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"`to_frame` needs pandas.* with its `cli` extra"):
        REPORT.to_frame()
