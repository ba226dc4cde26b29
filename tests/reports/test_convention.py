"""Differences between two models: candidate minus baseline, with both names."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from fairboard.bias.analysis.rows import Rows
from fairboard.bias.analysis.table import compare_tables, metric_table
from grader.cli import main
from grader.files import Solution, read_solution
from grader.files.solution.column_roles import ColumnRole
from grader.reports import Material, analyse, html_page, plain_text
from grader.reports.blocks import Table

# The better model is perfect. The worse one ranks a positive row of the identity below the negatives.
LABELS = np.array([1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0])
CAT = np.array([1] * 6 + [0] * 6)
BETTER = np.array([9.0, 8, 7, 3, 2, 1, 9, 8, 7, 3, 2, 1]) / 10
WORSE = np.where(np.arange(12) == 0, 0.0, BETTER)


@pytest.fixture(scope="module")
def solution() -> Solution:
    lines = [f"r{row},{label},{cat}" for row, (label, cat) in enumerate(zip(LABELS, CAT, strict=True))]
    roles = {"id": ColumnRole.ID, "toxic": ColumnRole.LABEL, "cat": ColumnRole.IDENTITY}
    return read_solution("\n".join(["id,toxic,cat", *lines]).encode(), roles=roles)


@pytest.mark.parametrize(("candidate", "baseline", "sign"), [(BETTER, WORSE, 1), (WORSE, BETTER, -1)])
def test_library_subtracts_the_baseline_from_the_candidate(candidate, baseline, sign: int):
    rows = Rows.of(LABELS, candidate, {"cat": CAT})
    (line,) = compare_tables(metric_table(rows), metric_table(rows.predicted(baseline)))
    assert line.candidate is not None
    assert line.baseline is not None
    third = line.candidate.subgroup_auc - line.baseline.subgroup_auc  # type: ignore[operator]
    assert line.differences["subgroup_auc"] == third
    assert third * sign == pytest.approx(1 / 3)
    assert list(line.as_dict()) == ["name", "candidate", "baseline", "differences"]


@pytest.mark.parametrize(("candidate", "baseline", "sign"), [(BETTER, WORSE, 1), (WORSE, BETTER, -1)])
def test_every_format_of_a_report_subtracts_the_baseline_from_the_candidate(
    solution: Solution, candidate, baseline, sign: int
):
    found = analyse(
        Material(solution, {"toxic": candidate}, {"toxic": baseline}, names=("ours.csv", "theirs.csv"))
    )
    _check_json(json.loads(json.dumps(found.as_dict()))["comparison"], sign)
    section = next(each for each in found.sections if each.key == "comparison")
    beside, cells = (block for block in section.blocks if isinstance(block, Table))
    assert beside.groups == (("", 1), ("ours.csv", 5), ("theirs.csv", 5))
    assert cells.caption == "ours.csv minus theirs.csv"
    text = f"{sign / 3:+.3f}"
    assert cells.lines[0][1].text == text
    for page in (plain_text(found), html_page(found)):
        assert "ours.csv minus theirs.csv" in page
        assert text in page


@pytest.mark.parametrize("sign", [1, -1])
def test_command_subtracts_the_baseline_from_the_candidate(tmp_path: Path, sign: int):
    (tmp_path / "solution.csv").write_text(
        "\n".join(["id,target,cat", *(f"r{row},{LABELS[row]},{CAT[row]}" for row in range(12))])
    )
    for name, values in (("ours.csv", BETTER), ("theirs.csv", WORSE)):
        lines = [f"r{row},{value}" for row, value in enumerate(values)]
        (tmp_path / name).write_text("\n".join(["id,prediction", *lines]))
    names = ["ours.csv", "theirs.csv"][::sign]
    submission, against = (str(tmp_path / name) for name in names)
    command = ["analyze", str(tmp_path / "solution.csv"), submission, "--against", against, "--json"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    _check_json(json.loads(result.stdout)["comparison"], sign, names)


def _check_json(comparison, sign: int, names=("ours.csv", "theirs.csv")):
    assert [comparison["candidate"], comparison["baseline"]] == list(names)
    (line,) = comparison["differences"]
    difference = line["differences"]["subgroup_auc"]
    assert difference == line["candidate"]["subgroup_auc"] - line["baseline"]["subgroup_auc"]
    assert difference * sign == pytest.approx(1 / 3)
