"""Report layout as text and as HTML, and positions on an axis."""

from fairboard.bias.analysis.matrix import Matrix
from grader.reports import blocks
from grader.reports.analysis import Analysis
from grader.reports.blocks import Cell, Chart, Section, matrix_table, table
from grader.reports.formats import html_page, plain_text

SCORES = table(
    "Scores",
    ("identity", "n", "auc"),
    [("a & b", "1,000", Cell("0.5", shade=-2, title='too "few"')), ("cat", "7", Cell("-"))],
    groups=(("", 1), ("metric that is long", 1)),
    notes=("- there are none.",),
)
CURVE = Chart("<svg/>", table("Curve", ("x", "y"), [("1", "2")]))
SUMMED = Chart("<svg id='2'/>", table("Summed", ("x",), [("1",)]), is_summed_up=True)
REPORT = Analysis(
    "A <report>",
    ("400 rows",),
    (Section("one", "One & all", ("Said.", "Twice."), (SCORES, CURVE, SUMMED)), Section("two", "Two")),
)


def test_text_report_has_equal_column_widths_and_right_aligned_numbers():
    assert plain_text(REPORT).split("\n") == [
        "A <report>",
        "400 rows",
        "",
        "One & all",
        "=========",
        "Said.",
        "Twice.",
        "",
        "Scores",
        "                 met",
        "identity      n  auc",
        "a & b     1,000  0.5",
        "cat           7    -",
        "- there are none.",
        "",
        "Curve",
        "x  y",
        "1  2",
        "",
        "Two",
        "===",
    ]


def test_group_heading_spans_its_columns():
    lines = [("a", "1", "2", "3")]
    two = table("T", ("identity", "x", "y", "zzzz"), lines, groups=(("pair", 2), ("end", 1)))
    assert plain_text(Analysis("R", (), (Section("k", "K", (), (two,)),))).split("\n")[6:] == [
        "          pair  end",
        "identity  x  y  zzzz",
        "a         1  2     3",
    ]


def test_page_has_every_section_and_each_chart_with_its_table():
    page = html_page(REPORT)
    assert (
        '<nav><ul><li><a href="#one">One &amp; all</a></li><li><a href="#two">Two</a></li></ul></nav>' in page
    )
    assert "<header><h1>A &lt;report&gt;</h1><p>400 rows.</p></header>" in page
    assert (
        '<section id="one"><h2>One &amp; all</h2><p>Said.</p><p>Twice.</p><div class="wide"><table>' in page
    )
    assert '<td class="cool2" title="too &quot;few&quot;">0.5</td>' in page
    assert '<tr><th scope="row">cat</th><td>7</td><td>-</td></tr></tbody></table></div>' in page
    assert (
        '<tr><td></td><td colspan="1"></td><th scope="colgroup" colspan="1">metric that is long</th></tr>'
        in page
    )
    assert '<p class="note">- there are none.</p><div class="charts"><figure>' in page
    assert page.count("<figure>") == 2 and page.count('<div class="charts">') == 1
    assert "<figcaption>Curve</figcaption><svg/><details><summary>As a table</summary>" in page
    assert page.endswith('<section id="two"><h2>Two</h2></section>\n</main>\n</body>\n</html>\n')


def test_table_with_more_than_six_columns_is_scrollable_by_keyboard():
    for columns, scrolls in ((6, False), (7, True)):
        wide = table('A "wide" one', map(str, range(columns)), [])
        page = html_page(Analysis("R", (), (Section("k", "K", (), (wide,)),)))
        expected = ' tabindex="0" role="region" aria-label="A &quot;wide&quot; one"'
        assert (f'<div class="wide"{expected if scrolls else ""}><table>') in page


def test_numbers_are_formatted_as_in_the_papers():
    assert [blocks.number(each) for each in (None, -0.0001, 0.12345)] == ["-", "0.000", "0.123"]
    assert [blocks.signed(each) for each in (None, -0.0001, 0.12345, -0.5)] == [
        "-",
        "0.000",
        "+0.123",
        "-0.500",
    ]
    assert [blocks.scaled(each) for each in (None, 999.4, 1000, -12345.6, 0.012345)] == [
        "-",
        "999",
        "1,000",
        "-12,346",
        "0.0123",
    ]
    assert [blocks.share(each) for each in (None, 0.1234)] == ["-", "12.3%"]
    names = [str(each) for each in range(14)]
    assert blocks.listed(names[:12]) == ", ".join(names[:12])
    assert blocks.listed(names) == ", ".join(names[:12]) + " and 2 more"
    reasons = [("a", "no rows."), ("b", "no labels"), ("c", "no rows"), ("a", "no rows")]
    assert blocks.why_empty(reasons) == ["- no rows: a, c.", "- no labels: b."]


def test_matrix_has_the_colors_of_its_metric_and_explains_empty_cells():
    matrix = Matrix(
        "subgroup_auc", ("cat", "dog"), ("y", "z"), ((0.5, 1.0), (None, 0.75)), {("dog", "y"): "no rows."}
    )
    found = matrix_table("M", matrix, metric_cell="subgroup_auc", overall_aucs={"y": 0.9, "z": None})
    assert found.head == ("identity", "y", "z")
    assert found.lines == (
        (Cell("overall AUC"), Cell("0.900"), Cell("-")),
        (Cell("cat"), Cell("0.500", 6), Cell("1.000", 0)),
        (Cell("dog"), Cell("-", 0, "no rows."), Cell("0.750", 3)),
    )
    assert found.notes == ("- no rows: dog x y.",)
    gaps = Matrix("positive_aeg", ("cat",), ("y", "z"), ((-0.25, 0.5),), {})
    (line,) = matrix_table("M", gaps, metric_cell="positive_aeg").lines
    assert line == (Cell("cat"), Cell("-0.250", -3), Cell("0.500", 6))
    plain = matrix_table("M", matrix)
    assert plain.lines[0] == (Cell("cat"), Cell("0.500"), Cell("1.000"))
    one = Matrix("m", ("dog",), ("y",), ((None,),), {("dog", "y"): "no rows"})
    assert matrix_table("M", one).notes == ("- no rows: dog.",)
    assert blocks.extremes("E", [("dog", "y", 0.25)]).lines == ((Cell("dog"), Cell("y"), Cell("0.250")),)
