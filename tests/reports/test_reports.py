"""Reports: the same numbers as text, as JSON and on a self-contained HTML page."""

import base64
import hashlib
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from grader.charts.svg import Axis
from grader.files import Solution, read_solution
from grader.files.solution.columns import Categories
from grader.reports import Material, analyse, html_page, plain_text
from grader.reports.blocks import Chart, Section
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


def test_a_difference_is_the_candidate_minus_the_baseline(solution: Solution, predictions):
    inputs = Material(solution, {"toxic": predictions}, {"toxic": -predictions}, ("ours.csv", "theirs.csv"))
    found = analyse(inputs).as_dict()["comparison"]
    for line, both in zip(found["differences"], found["both"], strict=True):
        if both["ours.csv bpsn_auc"] is not None:
            difference = both["ours.csv bpsn_auc"] - both["theirs.csv bpsn_auc"]
            assert line["bpsn_auc"] == difference > 0


OF_A_MODEL = (
    "score identities power comparison slices distributions curves pinned labels association pairs fuzzed"
)
SECTIONS = (*OF_A_MODEL.split(), "associations", "fractions", "co_mentions")


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
    without_names = {"score", "power", "pairs"}
    assert "<rare>" in json.dumps(everything.as_dict(), allow_nan=False) or key in without_names
    assert "<rare>" not in json.dumps({**kept.as_dict(), "notes": []})  # which name the omitted identities
    assert not any("rare" in block.svg for block in kept.blocks if isinstance(block, Chart))


def test_omitted_identities_and_values_are_listed_with_their_rows(solution: Solution, predictions):
    many = Categories(tuple(f"author {code}" for code in range(14)), np.arange(ROWS, dtype=np.int32) % 14)
    some = np.where(many.codes == 0, 1.0, 0.0)
    solution = replace(solution, identities={"some": some}, slices={"author": many}, usage=None)
    fuzzed = Material(replace(solution, identities={"some": np.zeros(ROWS)}), {"toxic": predictions})
    found = analyse(Material(solution, {"toxic": predictions}, fuzzed=fuzzed, minimum_size=3))
    text = plain_text(found)
    assert "author = author 1: 43 rows" in text
    assert "only the number of rows is shown: author = author 12 (42), author = author 13 (42)." in text
    assert "Fuzzed set: Omitted because too few rows mention them: some (0)." in text
    small = analyse(Material(solution, minimum_size=44))
    assert small.facts[-1] == "Omitted because fewer than 44 rows mention them: some (43)"
    assert "0 of 1 identities are included: fewer than 44 rows mention each of them" in small.facts[0]


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
            assert (block.table if isinstance(block, Chart) else block).lines()


def test_zero_is_at_the_bottom_of_a_logarithmic_axis():
    axis = Axis("rows", 0.5, 1300, is_logarithmic=True)
    assert axis.place(0, 100, 0) == 100
    assert axis.ticks() == [1, 10, 100, 1000]
