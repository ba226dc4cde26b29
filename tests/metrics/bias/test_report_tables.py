"""Bias reports as data frames, tables and plots."""

import builtins
import io
import xml.etree.ElementTree as ET
from dataclasses import asdict

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from fairboard import bias_intervals, bias_report

mpl.use("agg")
from matplotlib import pyplot

NAMES = ("<script>", r"a|b & $x_1$ \ %", "cow")
IDENTITIES = {NAMES[0]: [1, 1, 1, 1, 0, 0], NAMES[1]: [0, 1, 1, 0, 1, 0], "cow": [0, 0, 0, 0, 0, 0]}
ROWS = ([1, 0, 1, 0, 1, 0], [0.9, 0.5, 0.4, 0.2, 0.8, 0.1], IDENTITIES)
REPORT = bias_report(*ROWS)


@pytest.fixture
def axes():
    yield pyplot.subplots()[1]
    pyplot.close("all")


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


def test_difference_is_the_range_of_the_defined_values():
    values = [line.subgroup_auc for line in REPORT.subgroups[:2]]
    assert REPORT.difference()["subgroup_auc"] == max(values) - min(values)
    assert REPORT.ratio()["subgroup_auc"] == min(values) / max(values)
    undefined = bias_report([1, 0], [1, 0], {"cow": [0, 0]})
    assert set(undefined.difference().values()) == set(undefined.ratio().values()) == {None}
    assert bias_report([1, 0], [0, 1], {"cow": [1, 1]}).ratio()["subgroup_auc"] is None


def test_line_breaks_in_names_do_not_break_the_text_table():
    lines = str(bias_report([1, 0, 1, 0], [4, 3, 2, 1], {"big\ncat": [1, 1, 0, 0]})).splitlines()
    assert lines[-1].startswith("big cat ")


def test_html_is_well_formed_and_escaped():
    text = REPORT._repr_html_()
    assert "<script" not in text
    table = ET.fromstring(text)
    cells = [[cell.text for cell in row] for row in table.iter("tr")]
    assert cells[0][:3] == ["identity", "in score", "rows"]
    assert [line[0] for line in cells[1:]] == [None, *NAMES]
    assert len({len(line) for line in cells}) == 1
    assert [note.text for note in table.iter("p")] == list(map(str, REPORT.undefined))


def test_markdown_and_latex_contain_escaped_names_and_every_identity():
    markdown = REPORT.to_markdown().splitlines()
    assert len(markdown) == 3 + len(NAMES)
    assert markdown[4].startswith(r"| a\|b & $x_1$ \\ % | yes | 3 |")
    assert r"a|b \& \$x\_1\$ \textbackslash{} \% & yes & 3 &" in REPORT.to_latex()
    assert REPORT.to_latex().startswith("\\begin{tabular}{llrrrrrrrrr}\n\\toprule\n")


def test_plot_renders_values_intervals_and_names_as_png(axes):
    found = bias_intervals(*ROWS)
    assert REPORT.plot(intervals=found, ax=axes) is axes
    texts = [text.get_text() for text in axes.texts]
    low, high = (getattr(found.cells[NAMES[0]]["subgroup_auc"], bound) for bound in ("low", "high"))
    assert f"{REPORT.subgroups[0].subgroup_auc:.3f}\n{low:.3f} to {high:.3f}" in texts
    assert texts[-3:] == ["-", "-", "-"]
    assert [label.get_text() for label in axes.get_yticklabels()] == list(NAMES)
    image = io.BytesIO()
    axes.figure.savefig(image, format="png")
    assert image.getvalue().startswith(b"\x89PNG")


def test_line_breaks_in_names_do_not_break_rows():
    found = bias_report(ROWS[0], ROWS[1], {"two\nlines": IDENTITIES["cow"]})
    assert found.to_markdown().splitlines()[3].startswith("| two lines | yes |")
    assert "\ntwo lines & yes &" in found.to_latex()


def test_plot_names_missing_identities():
    with pytest.raises(ValueError, match="at least one identity"):
        bias_report(ROWS[0], ROWS[1], {}).plot()
    other = bias_intervals(ROWS[0], ROWS[1], {"cow": IDENTITIES["cow"]})
    with pytest.raises(ValueError, match="`intervals` lacks 2 identities: <script>"):
        REPORT.plot(intervals=other)


def test_plot_without_axes_creates_a_figure(axes):
    found = REPORT.plot()
    assert found.figure is not axes.figure
    found.figure.canvas.draw()


@pytest.mark.parametrize(
    ("method", "package", "extra"), [("to_frame", "pandas", "cli"), ("plot", "matplotlib", "plot")]
)
def test_missing_package_and_its_extra_are_named(monkeypatch, method, package, extra):
    real = builtins.__import__

    def without(name, *rest):
        if name == package:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=f"`{method}` needs {package}.* with its `{extra}` extra"):
        getattr(REPORT, method)()
