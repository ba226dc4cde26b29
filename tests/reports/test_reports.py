"""Reports: the same numbers as text, as JSON and on a self-contained HTML page."""

import base64
import hashlib
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from fairboard import MetricSettings, bias_report
from grader.charts.svg import Axis
from grader.files import Solution, read_solution
from grader.files.solution.columns import Categories
from grader.reports import Material, analyse, html_page, plain_text
from grader.reports.blocks import Chart, Section, Table
from tests.reports.test_recorded import ROLES

ROWS = 600


@pytest.fixture(scope="module")
def solution() -> Solution:
    dice = np.random.default_rng(4)
    lines = ["id,toxic,insult,cat,dog,<rare>,length,pair,role,group,Usage"]
    for row in range(ROWS):
        toxic, insult = dice.random() < 0.4, dice.random() < 0.3
        cat, dog = dice.random() < 0.3, dice.random() < 0.4
        pair = (
            f"{row // 2},{'anti' if row % 2 else 'pro'},{'F' if row % 4 < 2 else 'M'}" if row < 40 else ",,"
        )
        usage = "Ignored" if row < 40 else ("Public" if row % 2 else "Private")
        size = "short" if row % 3 else "long"
        lines.append(
            f"r{row},{toxic:d},{insult:d},{cat:d},{dog:d},{int(row in (50, 51, 52))},{size},{pair},{usage}"
        )
    return read_solution("\n".join(lines).encode(), roles=ROLES)


@pytest.fixture(scope="module")
def predictions(solution: Solution):
    return solution.labels + np.random.default_rng(5).normal(size=ROWS)


def test_values_equal_those_of_the_bias_report(solution: Solution, predictions):
    assert solution.usage is not None
    kept = solution.usage == 1
    expected = bias_report(
        solution.labels[kept],
        predictions[kept],
        {name: values[kept] for name, values in solution.identities.items()},
        settings=MetricSettings(undefined="skip"),
    )
    settings = MetricSettings(undefined="skip")
    found = analyse(Material(solution, {"toxic": predictions}, split="public", settings=settings)).as_dict()
    assert found["score"]["score"] == expected.score
    by_name = {line["name"]: line for line in found["identities"]["identities"]}
    assert by_name["cat"]["bpsn_auc"] == expected.subgroups[0].bpsn_auc


def test_reasons_of_empty_cells_are_listed_below_their_table(solution: Solution, predictions):
    nobody = replace(solution, identities={**solution.identities, "<rare>": np.zeros(ROWS)})
    text = plain_text(
        analyse(Material(nobody, {"toxic": predictions}, settings=MetricSettings(undefined="skip")))
    )
    assert "Undefined AUCs: 3. The power means omit them:" in text
    assert "- there are no positive rows that mention the identity and no negative rows" in text
    assert ": <rare>." in text


def _without_too_small(data):
    """Return JSON data without the lists of omitted identities."""
    if isinstance(data, dict):
        return {key: _without_too_small(value) for key, value in data.items() if key != "too_small"}
    return [_without_too_small(each) for each in data] if isinstance(data, list) else data


OF_A_MODEL = (
    "score identities power comparison slices distributions curves pinned labels association pairs fuzzed"
)
OF_THE_DATA = "associations fractions co_mentions"
SECTIONS = (*OF_A_MODEL.split(), *OF_THE_DATA.split())


@pytest.fixture(scope="module")
def with_and_without_rare(solution: Solution, predictions) -> list[dict[str, Section]]:
    """The sections of two reports, of which the second omits an identity that 9 rows mention."""
    rare = np.where(np.isin(np.arange(ROWS), np.arange(50, 59)), 1.0, 0.0)
    solution = replace(solution, identities={**solution.identities, "<rare>": rare})
    model = {"toxic": predictions, "insult": predictions}
    reports = []
    for size in (9, 10):
        fuzzed = Material(solution, model, minimum_size=size)
        inputs = Material(
            solution, model, {"toxic": -predictions}, fuzzed=fuzzed, minimum_size=size, skewed="cat"
        )
        sections = (*analyse(inputs).sections, *analyse(Material(solution, minimum_size=size)).sections)
        reports.append({part.key: part for part in sections})
        assert set(reports[-1]) == set(SECTIONS)
    return reports


@pytest.mark.parametrize("key", SECTIONS)
def test_no_section_lists_an_identity_with_too_few_rows(with_and_without_rare, key: str):
    everything, kept = (report[key] for report in with_and_without_rare)
    assert "<rare>" in json.dumps(everything.data) or key in {"power", "pairs"}  # without names
    assert "<rare>" not in json.dumps(_without_too_small(kept.data))
    # Notes name the omitted identities.
    blocks = [replace(each, notes=()) if isinstance(each, Table) else each for each in kept.blocks]
    assert "<rare>" not in repr(blocks)
    assert "&lt;rare&gt;" not in repr(blocks)


def test_omitted_identities_and_values_are_listed_with_their_rows(solution: Solution, predictions):
    many = Categories(tuple(f"author {code}" for code in range(14)), np.arange(ROWS, dtype=np.int32) % 14)
    some = np.where(many.codes == 0, 1.0, 0.0)
    solution = replace(solution, identities={"some": some}, slices={"author": many}, usage=None)
    fuzzed = Material(replace(solution, identities={"some": np.zeros(ROWS)}), {"toxic": predictions})
    text = plain_text(analyse(Material(solution, {"toxic": predictions}, fuzzed=fuzzed, minimum_size=3)))
    assert "author = author 1: 43 rows" in text
    assert "Omitted because too few rows mention them: some (0)." in text
    assert "only the number of rows is shown: author = author 12 (42), author = author 13 (42)." in text
    assert "Fuzzed set: Omitted because too few rows mention them: some (0)." in text


def test_first_lines_list_identities_with_too_few_rows(solution: Solution, predictions):
    for inputs in (
        Material(solution, minimum_size=10),
        Material(solution, {"toxic": predictions}, minimum_size=10),
    ):
        assert analyse(inputs).facts[-1] == "Omitted because fewer than 10 rows mention them: <rare> (3)"
        assert "Left out" not in "".join(analyse(replace(inputs, minimum_size=3)).facts)
        count = len(solution.identities)
        assert (
            f"{count - 1} of {count} identities are included: fewer than 10 rows mention each of"
            in (analyse(inputs).facts[0])
        )
        assert analyse(replace(inputs, minimum_size=3)).facts[0].endswith(f", {count} identities")
    nobody = analyse(Material(solution, {"toxic": predictions}, minimum_size=ROWS))
    assert (
        f"0 of {count} identities are included: fewer than {ROWS:,} rows mention each of them"
        in nobody.facts[0]
    )
    assert "association" not in nobody.as_dict()
    assert "There are no identities to compare." in plain_text(nobody)


def test_unknown_identity_or_split_without_rows_is_rejected(solution: Solution, predictions):
    with pytest.raises(
        ValueError, match=r"There is no identity 'cow' to skew\. Choose one of: cat, dog, <rare>"
    ):
        analyse(Material(solution, {"toxic": predictions}, skewed="cow"))
    lonely = read_solution(b"id,target,a,Usage\n1,1,0,Public\n2,0,1,Public\n")
    with pytest.raises(ValueError, match="The solution has no rows in the split 'private'"):
        analyse(Material(lonely, split="private"))


def test_page_is_self_contained_and_escapes_names(solution: Solution, predictions):
    page = html_page(analyse(Material(solution, {"toxic": predictions}, {"toxic": -predictions})))
    assert "<script" not in page
    assert "http:" not in page
    assert "https:" not in page
    assert " style=" not in page
    assert "<rare>" not in page
    assert "&lt;rare&gt;" in page
    style = re.search(r"<style>(.*?)</style>", page, flags=re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in page
    assert page.count("<svg") == page.count("As a table")


def test_every_section_of_a_report_is_valid_json(solution: Solution, predictions):
    everything = analyse(
        Material(
            solution,
            {"toxic": predictions, "insult": predictions},
            fuzzed=Material(solution, {"toxic": predictions}),
        )
    )
    data = json.loads(json.dumps(everything.as_dict(), allow_nan=False))
    assert set(data) == {"title", "facts", *(section.key for section in everything.sections)}


def test_every_chart_has_a_table(solution: Solution, predictions):
    charts = [
        block
        for section in analyse(Material(solution, {"toxic": predictions})).sections
        for block in section.blocks
        if isinstance(block, Chart)
    ]
    assert charts
    assert not any("nan" in chart.svg for chart in charts)
    lines = [len(chart.table.lines) for chart in charts]
    assert min(lines) >= 1
    drawn = next(chart for chart in charts if chart.table.caption == "cat, negative rows")
    assert len(drawn.table.lines) == 25
    shares = [float(line[1].text.rstrip("%")) for line in drawn.table.lines]
    assert sum(shares) == pytest.approx(100, abs=1.3)
    curve = next(chart for chart in charts if chart.table.caption.startswith("cat, negative rows: AEG"))
    widest = max(curve.table.lines, key=lambda line: abs(float(line[3].text)))
    assert f"Equality Gap {widest[3].text} at {widest[0].text}" in curve.svg
    for chart in charts:
        assert 'role="img" aria-label="' in chart.svg
        assert "nan" not in chart.svg


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 1, [0, 0.25, 0.5, 0.75, 1]),
        (0, 0.42, [0, 0.2, 0.4]),
        (-10, 1, [-10, -5, 0]),
        (0, 12, [0, 5, 10]),
        (3, 1000, [250, 500, 750, 1000]),
    ],
)
def test_ticks_are_round_numbers_on_the_axis(low: float, high: float, ticks: list[float]):
    assert Axis("value", low, high).ticks() == pytest.approx(ticks)


def test_predictions_of_any_size_can_be_plotted():
    four = read_solution(b"id,target,a\n1,1,1\n2,0,0\n3,1,0\n4,0,1\n")
    for values in (
        [1e308, -1e308, 5e-324, 0.0],
        [1.7e308] * 4,
        [5e-324, 0, 5e-324, 0],
        [1e-310, -1e-310, 0, 0],
    ):
        page = html_page(analyse(Material(four, {"target": np.array(values)})))
        assert not re.search(r"[ ,\"]-?(nan|inf)", page)


def test_report_without_identities_has_a_score_section_and_no_empty_table():
    two = read_solution(b"id,target\n1,1\n2,0\n")
    found = analyse(Material(two, {"target": np.array([0.9, 0.1])}))
    assert "There are no identities to compare." in plain_text(found)
    for section in (*found.sections, *analyse(Material(two)).sections):
        for block in section.blocks:
            assert (block.table if isinstance(block, Chart) else block).lines


def test_zero_is_at_the_bottom_of_a_logarithmic_axis():
    axis = Axis("rows", 0.5, 1300, is_logarithmic=True)
    assert axis.place(0, 100, 0) == 100
    assert axis.ticks() == [1, 10, 100, 1000]
