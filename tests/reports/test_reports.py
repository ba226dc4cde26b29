"""Reports: the same numbers as text, as JSON and on a self-contained HTML page."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from grader.files import read_solution
from grader.files.solution.columns import Categories
from grader.reports import Analysis, Material, analyse, html_page, plain_text
from grader.reports.blocks import Section, Table
from tests.reports import test_recorded

FRAME = pd.DataFrame({"n": [1000, 7], "bpsn_auc": [0.8, None]}, pd.Index(["a & b", "cat"], name="identity"))
SECTION = Section(
    "one",
    "One & all",
    ["Said."],
    [
        Table("scores", "Scores", FRAME, digits=1),
        Table("curve", "Curve", pd.DataFrame({"x": [2]}, pd.Index([1], name="x")), svg="<svg/>"),
    ],
)
REPORT = Analysis("A <report>", ("400 rows",), (SECTION, Section("two", "Two", [], [])))


def test_text_report_has_each_table_and_no_chart():
    assert [line.split() for line in plain_text(REPORT).split("\n") if line] == [
        *(["A", "<report>"], ["400", "rows"], ["One", "&", "all"], ["========="], ["Said."], ["Scores"]),
        *(["n", "BPSN", "AUC"], ["identity"], ["a", "&", "b", "1,000", "0.8"], ["cat", "7", "-"]),
        *(["Two"], ["==="]),
    ]


def test_label_called_like_a_statistic_is_formatted_like_other_labels():
    frame = pd.DataFrame({"rate": [2], "size": [1]}).rename_axis(columns="label")
    assert Table("scores", "Scores", frame).shown().to_dict("records") == [{"rate": "2", "size": "1"}]


def test_json_contains_the_tables_by_name_in_full_precision():
    assert REPORT.as_dict()["one"] == {
        "notes": ["Said."],
        "scores": [
            {"identity": "a & b", "n": 1000, "bpsn_auc": 0.8},
            {"identity": "cat", "n": 7, "bpsn_auc": None},
        ],
        "curve": [{"row x": 1, "x": 2}],
    }


def test_page_has_every_section_with_its_colors_and_each_chart_with_its_table():
    page = html_page(REPORT)
    for part in (
        '<li><a href="#one">One &amp; all</a></li><li><a href="#two">Two</a></li>',
        "<header><h1>A &lt;report&gt;</h1><p>400 rows.</p></header>",
        '<section id="one"><h2>One &amp; all</h2>',
        'tabindex="0" role="region" aria-label="Scores"',
        '<td class="warm2">0.8</td>',
        '<tr><th scope="row">cat</th><td>7</td><td>-</td></tr>',
        '<th scope="col">x</th>',
        "<figcaption>Curve</figcaption><svg/><details><summary>As a table</summary>",
    ):
        assert part in page


@pytest.fixture(scope="module")
def solution():
    return test_recorded.solution()


@pytest.fixture(scope="module")
def predictions(solution):
    return solution.labels + np.random.default_rng(5).normal(size=test_recorded.ROWS)


OF_A_MODEL = "score identities power slices distributions curves pinned labels association pairs fuzzed"
SECTIONS = (*OF_A_MODEL.split(), "associations", "fractions", "co_mentions")


@pytest.fixture(scope="module")
def with_and_without_rare(solution, predictions):
    """The sections of two reports, of which the second omits an identity that 9 rows mention."""
    rare = np.where(np.isin(np.arange(test_recorded.ROWS), np.arange(50, 59)), 1.0, 0.0)
    solution = replace(solution, identities={**solution.identities, "<rare>": rare})
    model = {"toxic": predictions, "insult": predictions}
    reports = []
    for size in (9, 10):
        fuzzed = Material(solution, {"": model}, minimum_size=size)
        models = {"a": model, "b": {"toxic": -predictions}}
        inputs = Material(solution, models, fuzzed, minimum_size=size)
        sections = (*analyse(inputs).sections, *analyse(Material(solution, minimum_size=size)).sections)
        reports.append({part.key: part for part in sections})
        assert set(reports[-1]) == set(SECTIONS)
    return reports


@pytest.mark.parametrize("key", SECTIONS)
def test_no_section_lists_an_identity_with_too_few_rows(with_and_without_rare, key):
    everything, kept = (report[key] for report in with_and_without_rare)
    without_names = {"score", "power", "pairs", "slices"}
    with_rare, without = (Analysis("", (), [each]).as_dict() for each in (everything, kept))
    assert "<rare>" in json.dumps(with_rare, allow_nan=False) or key in without_names
    assert "<rare>" not in json.dumps(without)
    assert not any("rare" in table.svg for table in kept.tables)


def test_omitted_identities_and_values_are_listed_with_their_rows(solution, predictions):
    many = Categories(
        tuple(f"author {code}" for code in range(14)), np.arange(test_recorded.ROWS, dtype=np.int32) % 14
    )
    some = np.where(many.codes == 0, 1.0, 0.0)
    solution = replace(solution, identities={"some": some}, slices={"author": many}, usage=None)
    text = plain_text(analyse(Material(solution, {"submission": {"toxic": predictions}}, minimum_size=3)))
    assert re.search("author = author 1 +submission +9 ", text)
    assert "At most 12 values of each column are shown." in text and "author 12" not in text
    small = analyse(Material(solution, minimum_size=10))
    assert small.facts[-1] == "Omitted because fewer than 10 rows mention them: some (9)"


def test_a_split_without_rows_is_rejected():
    lonely = read_solution(b"id,target,a,Usage\n1,1,0,Public\n2,0,1,Public\n")
    with pytest.raises(ValueError, match="no rows in the split 'private'"):
        analyse(Material(lonely, split="private"))


def test_page_is_self_contained_and_escapes_names(solution, predictions):
    models = {"a": {"toxic": predictions}, "b": {"toxic": -predictions}}
    page = html_page(analyse(Material(solution, models)))
    assert not any(text in page for text in ("<script", "http:", "https:", " style=", "<rare>"))
    assert "&lt;rare&gt;" in page
    assert "content=\"default-src 'none'; style-src 'unsafe-inline'\"" in page and "<style>:root{" in page
    assert page.count("<svg") == page.count("As a table")


def test_predictions_of_any_size_can_be_plotted():
    four = read_solution(b"id,target,a\n1,1,1\n2,0,0\n3,1,0\n4,0,1\n")
    extreme = ([1e308, -1e308, 5e-324, 0], [1.7e308] * 4, [5e-324, 0, 5e-324, 0], [1e-310, -1e-310, 0, 0])
    for values in extreme:
        page = html_page(analyse(Material(four, {"a": {"target": np.array(values)}})))
        assert not re.search(r"[ ,\"]-?(nan|inf)", page)
