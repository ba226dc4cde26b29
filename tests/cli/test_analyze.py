"""`fairboard analyze`: reports, options and exit codes."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from grader.cli import main


@pytest.fixture
def folder(tmp_path):
    dice = np.random.default_rng(8)
    rows = [(f"r{row}", *(int(dice.random() < rate) for rate in (0.4, 0.3, 0.2))) for row in range(300)]
    lines = [",".join(map(str, row)) for row in rows]
    (tmp_path / "solution.csv").write_text("\n".join(["id,target,cat,dog", *lines]))
    for name, noise in (("ours", 1.0), ("theirs", 3.0)):
        text = [f"{row[0]},{row[1] + noise * dice.normal():.6f}" for row in rows]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,prediction", *text]))
    return tmp_path


def run(folder, *words):
    arguments = [str(folder / word) if word.endswith((".csv", ".html")) else word for word in words]
    return CliRunner().invoke(main, ["analyze", *arguments])


def test_a_submission_is_analyzed_as_text(folder):
    result = run(folder, "solution.csv", "ours.csv")
    assert result.exit_code == 0, result.output
    assert "Overall AUC" in result.stdout
    assert "Effect of the exponent" in result.stdout


def test_a_solution_without_submissions_is_audited_as_json(folder):
    result = run(folder, "solution.csv", "--json")
    assert json.loads(result.stdout)["co_mentions"]["rows"][0]["identity"] == "cat"


def test_two_submissions_and_a_fuzzed_pair_produce_one_page(folder):
    result = run(
        folder,
        *("solution.csv", "ours.csv", "--against", "theirs.csv"),
        *("--fuzzed", "solution.csv", "theirs.csv", "--html", "report.html"),
    )
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    page = (folder / "report.html").read_text()
    assert "ours.csv minus theirs.csv" in page
    assert "Fuzzed set" in page


def test_a_baseline_with_the_same_file_name_is_a_model_of_its_own(folder):
    (folder / "other").mkdir()
    (folder / "theirs.csv").rename(folder / "other" / "ours.csv")
    both = json.loads(run(folder, "solution.csv", "ours.csv", "--against", "other/ours.csv", "--json").stdout)
    alone = json.loads(run(folder, "solution.csv", "ours.csv", "--json").stdout)
    assert both["score"] == alone["score"]
    assert {row["model"] for row in both["identities"]["identities"]} == {"ours.csv", "ours.csv (baseline)"}


def test_a_file_name_that_is_not_utf8_can_be_reported(folder):
    path = folder / "ours\udcff.csv"
    path.write_bytes((folder / "ours.csv").read_bytes())
    assert run(folder, "solution.csv", path.name, "--html", "report.html").exit_code == 0
    assert "Analysis of ours .csv" in (folder / "report.html").read_text()


def test_only_the_requested_identities_are_analyzed(folder):
    result = run(folder, "solution.csv", "ours.csv", "--identities", "dog", "--json")
    assert [line["identity"] for line in json.loads(result.stdout)["identities"]["identities"]] == ["dog"]
    result = run(folder, "solution.csv", "ours.csv", "--identities", "dog,newt")
    assert result.exit_code == 1 and "The table has no column 'newt'" in result.stderr


def test_a_comparison_without_a_submission_is_a_usage_error(folder):
    result = run(folder, "solution.csv", "--against", "ours.csv")
    assert result.exit_code == 1
    assert "require a SUBMISSION" in result.stderr
