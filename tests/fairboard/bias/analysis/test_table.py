"""Metric table of Borkan et al. (2019): five metrics per identity."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairboard import bias_report
from fairboard.bias.analysis import Rows
from fairboard.bias.analysis.table import (
    CELLS,
    MetricTable,
    TableLine,
    compare_tables,
    heat,
    metric_table,
)


def draw(seed=1, size=500):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, size)
    names = {"cat": 0.4, "dog": 0.2, "cow": 0.02}
    identities = {name: np.where(rng.random(size) < share, 1.0, 0.0) for name, share in names.items()}
    return Rows.of(labels, labels + rng.normal(0, 1, size).round(1), identities)


def test_cells_equal_those_of_the_score():
    rows = draw()
    report = bias_report(rows.labels, rows.predictions, rows.identities)
    table = metric_table(rows)
    assert (table.rows, table.positives, table.overall_auc) == (
        report.rows,
        report.positives,
        report.overall_auc,
    )
    for line, subgroup in zip(table.lines, report.subgroups, strict=True):
        assert (line.name, line.size, line.positives) == (subgroup.name, subgroup.size, subgroup.positives)
        assert [getattr(line, cell) for cell in CELLS] == [getattr(subgroup, cell) for cell in CELLS]


def test_small_identities_are_omitted_and_listed():
    rows = draw()
    size = int(rows.members["cow"].sum())
    table = metric_table(rows, minimum_size=size + 1)
    assert [line.name for line in table.lines] == ["cat", "dog"]
    assert table.too_small == (("cow", size),)
    assert metric_table(rows, minimum_size=size).too_small == ()


def test_sorting_puts_the_lowest_first_and_lowest_omits_undefined_lines():
    labels = [1, 0, 1, 0, 1]
    rows = Rows.of(labels, [0.9, 0.1, 0.2, 0.8, 0.5], {"good": [1, 1, 0, 0, 0], "bad": [0, 0, 1, 1, 0],
                                                       "single": [0, 0, 0, 0, 1]})  # fmt: skip
    table = metric_table(rows)
    assert [line.name for line in table.sorted_by("mean_auc").lines] == ["bad", "good", "single"]
    assert [line.name for line in table.sorted_by("mean_auc", descending=True).lines] == [
        "good",
        "bad",
        "single",
    ]
    assert [line.name for line in table.lowest(2, by="subgroup_auc").lines] == ["bad", "good"]
    assert [line.name for line in table.lowest(3).lines] == ["bad", "good"]
    assert [line.name for line in table.sorted_by("name").lines] == ["bad", "good", "single"]
    assert [line.name for line in table.sorted_by("share_positive", descending=True).lines][0] == "single"  # noqa: RUF015


def test_every_undefined_cell_has_its_reason():
    table = metric_table(Rows.of([1, 0, 1], [3, 2, 1], {"cat": [1, 0, 0]}))
    (line,) = table.lines
    assert (line.subgroup_auc, line.bpsn_auc, line.negative_aeg) == (None, None, None)
    assert {cell.term for cell in table.undefined} == {"subgroup_auc", "bpsn_auc", "negative_aeg"}
    assert "no negative rows that mention the identity" in str(table.undefined[0])


def test_known_identities_have_categories():
    table = metric_table(draw(), categories={"cat": "pets", "dog": "pets"})
    assert [line.category for line in table.lines] == ["pets", "pets", None]
    assert [line.name for line in table.sorted_by("category").lines][-1] == "cow"


def test_annotated_background_has_no_blank_rows():
    labels, predictions = [1, 0, 1, 0], [0.9, 0.3, 0.1, 0.2]
    cat = [1, 1, np.nan, 0]
    everybody = metric_table(Rows.of(labels, predictions, {"cat": cat})).lines[0]
    annotated = metric_table(Rows.of(labels, predictions, {"cat": cat}, background="annotated"))
    assert everybody.bpsn_auc == 0
    assert annotated.lines[0].bpsn_auc is None
    assert annotated.lines[0].bnsp_auc == everybody.bnsp_auc == 1
    assert annotated.background == "annotated"


@given(st.integers(0, 2**32 - 1))
def test_difference_is_candidate_minus_baseline(seed):
    rows = draw(seed % 1000, 40)
    candidate, baseline = metric_table(rows), metric_table(rows.predicted(rows.predictions[::-1]))
    for line in compare_tables(candidate, baseline):
        for cell in CELLS:
            one, other = getattr(line.candidate, cell), getattr(line.baseline, cell)
            assert line.differences[cell] == (None if one is None or other is None else one - other)
    assert all(not any(line.differences.values()) for line in compare_tables(candidate, candidate))


def test_tables_with_different_identities_are_matched_by_name():
    rows = draw()
    lines = compare_tables(metric_table(rows.only(["cat", "dog"])), metric_table(rows.only(["cow", "dog"])))
    assert [line.name for line in lines] == ["cat", "dog", "cow"]
    assert lines[0].baseline is None
    assert lines[2].candidate is None
    assert set(lines[0].differences.values()) == {None}
    assert lines[0].as_dict()["baseline"] is None


def test_colors_follow_the_paper():
    assert [heat("bpsn_auc", value) for value in (1.0, 0.75, 0.5, 0.2, None)] == [0, 0.5, 1, 1, None]
    assert [heat("positive_aeg", value) for value in (-0.5, 0.0, 0.5, None)] == [-1, 0, 1, None]


def test_table_serializes_to_json_and_text():
    table = metric_table(draw(), minimum_size=50)
    data = json.loads(json.dumps(table.as_dict()))
    assert data["identities"][0]["share_positive"] == table.lines[0].positives / table.lines[0].size
    assert data["too_small"][0]["name"] == "cow"
    head, first, *_ = str(table).splitlines()
    assert head.split() == ["identity", "count", "positive", *CELLS]
    assert first.split()[0] == "cat"
    assert "-" in str(metric_table(Rows.of([1, 0], [1, 0], {"cat": [0, 0]})))


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
    lines = []
    for row in text.strip().splitlines():
        name, *values = row.split()
        cells = [*map(float, values[first : first + 5]), None, None][:5]
        lines.append(TableLine(name, None, 0, 0, *cells))
    return MetricTable(0, 0, None, "all", tuple(lines), (), ())


def test_table_3_is_sorted_by_the_mean_of_the_three_aucs():
    table = printed(TABLE_3, 0)
    rounded = [round(line.mean_auc, 9) for line in table.lines]
    assert rounded == sorted(rounded)
    lowest = [min(line.subgroup_auc, line.bpsn_auc, line.bnsp_auc) for line in table.lines]
    assert lowest != sorted(lowest)


def test_only_black_and_asian_do_not_improve_on_short_comments():
    differences = compare_tables(candidate=printed(TABLE_6_SHORT, 5), baseline=printed(TABLE_6_SHORT, 0))
    worse = {line.name for line in differences if line.differences["bpsn_auc"] < 0}
    assert worse == {"black", "asian"}
    largest = max(differences, key=lambda line: line.differences["bpsn_auc"])
    assert largest.name == "homosexual_gay_or_lesbian"
    assert largest.differences["bpsn_auc"] == pytest.approx(0.25)
