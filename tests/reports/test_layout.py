"""Report layout as text and as HTML."""

import pandas as pd
import pytest

from grader.reports import blocks
from grader.reports.analysis import Analysis
from grader.reports.blocks import Chart, ColumnFormat, Section, Table
from grader.reports.formats import html_page, plain_text

FRAME = pd.DataFrame({"n": [1000, 7], "bpsn_auc": [0.8, None]}, pd.Index(["a & b", "cat"], name="identity"))
COLUMNS = {
    "n": ColumnFormat(("", "n"), blocks.count),
    "bpsn_auc": ColumnFormat(("metric that is long", "auc"), blocks.decimals(1), "bpsn_auc"),
}
SCORES = Table("scores", "Scores", FRAME, COLUMNS, ["- there are none."])
POINTS = pd.DataFrame({"y": [2]}, pd.Index([1], name="x"))
CURVE = Chart("<svg/>", Table("curve", "Curve", POINTS, {"y": ColumnFormat("y", str)}))
SUMMED = Chart(
    "<svg id='2'/>", Table("summed", "Summed", POINTS, {"y": ColumnFormat("y", str)}), summed_up=True
)
SECTION = Section("one", "One & all", ["Said."], [SCORES, CURVE, SUMMED])
REPORT = Analysis("A <report>", ("400 rows",), (SECTION, Section("two", "Two", [], [])))


def test_text_report_has_equal_column_widths_groups_and_right_aligned_numbers():
    assert plain_text(REPORT).split("\n") == [
        *("A <report>", "400 rows", "", "One & all", "=========", "Said.", "", "Scores"),
        "                 met",
        "identity      n  auc",
        "a & b     1,000  0.8",
        "cat           7    -",
        "- there are none.",
        *("", "Curve", "x  y", "1  2", "", "Two", "==="),
    ]


def test_json_contains_the_tables_by_name_in_full_precision():
    assert REPORT.as_dict()["one"] == {
        "notes": ["Said.", "- there are none."],
        "scores": [
            {"identity": "a & b", "n": 1000, "bpsn_auc": 0.8},
            {"identity": "cat", "n": 7, "bpsn_auc": None},
        ],
        "curve": [{"x": 1, "y": 2}],
        "summed": [{"x": 1, "y": 2}],
    }


def test_page_has_every_section_with_its_colors_and_each_chart_with_its_table():
    page = html_page(REPORT)
    for part in (
        '<li><a href="#one">One &amp; all</a></li><li><a href="#two">Two</a></li>',
        "<header><h1>A &lt;report&gt;</h1><p>400 rows.</p></header>",
        '<section id="one"><h2>One &amp; all</h2>',
        '<td class="warm2">0.8</td>',
        '<tr><th scope="row">cat</th><td>7</td><td>-</td></tr>',
        '<td colspan="1"></td><th scope="colgroup" colspan="1">metric that is long</th></tr>',
        '<p class="note">- there are none.</p>',
        "<figcaption>Curve</figcaption><svg/><details><summary>As a table</summary>",
    ):
        assert part in page
    assert page.count("<figure>") == 2 and page.count('<div class="charts">') == 1


@pytest.mark.parametrize(("columns", "scrolls"), [(5, False), (6, True)])
def test_table_with_many_columns_is_scrollable_by_keyboard(columns: int, scrolls: bool):
    names = [str(column) for column in range(columns)]
    wide = Table(
        "k", 'A "wide" one', pd.DataFrame(columns=names), {each: ColumnFormat(each, str) for each in names}
    )
    page = html_page(Analysis("R", (), (Section("k", "K", (), [wide]),)))
    assert ('tabindex="0" role="region" aria-label="A &#34;wide&#34; one"' in page) == scrolls


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        (blocks.decimals(3), {-0.0001: "0.000", 0.12345: "0.123"}),
        (blocks.signed(3), {-0.0001: "0.000", 0.12345: "+0.123", -0.5: "-0.500"}),
        (blocks.scaled, {999.4: "999", 1000: "1,000", -12345.6: "-12,346", 0.012345: "0.0123"}),
        (blocks.share, {0.1234: "12.3%", None: "-"}),
    ],
)
def test_numbers_are_formatted_as_in_the_papers(form, texts):
    assert {value: form(value) for value in texts} == texts


def test_rows_without_a_value_are_listed_by_reason():
    reasons = [("a", "no rows."), ("b", "no labels"), ("c", "no rows"), ("a", "no rows")]
    assert blocks.why_empty(reasons) == ["- no rows: a, c.", "- no labels: b."]
    many = [(str(each), "no rows") for each in range(14)]
    assert blocks.why_empty(many)[0].endswith("10, 11 and 2 more.")
