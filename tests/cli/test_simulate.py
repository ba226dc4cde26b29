"""`fairboard simulate`: reports, progress and errors."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from grader.cli import main

HOSTILE = ("2147483648", "18446744073709551616", "-1", "a\0b", "\udcff", "x" * 10_000, "\u202egpj")
QUICK = ("--files", "4", "--teams", "2", "--seeds", "1")


@pytest.fixture
def solution(tmp_path: Path) -> Path:
    dice = np.random.default_rng(8)
    lines = ["id,target,cat,dog"]
    lines += [
        f"r{row},{','.join(str(int(dice.random() < rate)) for rate in (0.3, 0.3, 0.2))}" for row in range(600)
    ]
    path = tmp_path / "solution.csv"
    path.write_text("\n".join(lines))
    return path


def run(*words: object):
    return CliRunner().invoke(main, ["simulate", *map(str, words)])


def test_modes_are_described_in_sentences_with_progress_on_stderr(solution: Path):
    result = run(solution, *QUICK)
    assert result.exit_code == 0, result.output
    assert [line.split(",")[0] for line in result.stdout.splitlines() if line and line[0] != " "][:2] == [
        "open",
        "score",
    ]
    assert "ladder with a step of " in result.stdout
    assert "hidden labels" in result.stdout
    assert "of all true improvements are shown as a new best" in result.stdout
    assert "parts simulated" in result.stderr
    assert "parts simulated" not in result.stdout


def test_json_contains_each_attack_and_the_honest_teams_of_each_mode(solution: Path):
    result = run(solution, *QUICK, "--mode", "blind", "--mode", "tiered", "--step", "0.01", "--json")
    blind, tiered = json.loads(result.stdout)
    assert (blind["mode"], blind["step"], tiered["step"], tiered["files"]) == ("blind", None, 0.01, 4)
    assert blind["honest"]["seen"] == {"value": 0.0, "error": None}
    names = [each["name"] for each in tiered["attacks"]]
    assert "identity at the bottom" in names
    assert "at the threshold" in names


def test_the_split_of_the_solution_is_used_if_it_has_one(solution: Path, tmp_path: Path):
    lines = solution.read_text().splitlines()
    usages = ["Usage", *(("Public", "Private", "Ignored")[row % 3] for row in range(len(lines) - 1))]
    split = tmp_path / "split.csv"
    split.write_text("\n".join(f"{line},{usage}" for line, usage in zip(lines, usages, strict=True)))
    result = run(split, *QUICK, "--mode", "open", "--json")
    assert result.exit_code == 0, result.output
    (trial,) = json.loads(result.stdout)
    assert all(each["rows"] <= 200 for each in trial["attacks"])


def test_a_solution_that_cannot_be_attacked_is_rejected_in_one_sentence(tmp_path: Path):
    bare, single = tmp_path / "bare.csv", tmp_path / "single.csv"
    bare.write_text("id,target\na,1\nb,0\n")
    single.write_text("id,target,cat\na,1,1\nb,0,0\nc,1,0\n")
    for path, text in ((bare, "no identities"), (single, "too small")):
        result = run(path, *QUICK)
        assert result.exit_code in (1, 2), result.output
        assert text in result.stderr
        assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "option", ["--files", "--teams", "--seeds", "--step", "--mode", "--role", "--power", "--weights"]
)
def test_no_value_of_any_option_breaks_the_command(solution: Path, option: str):
    for value in HOSTILE:
        result = run(solution, "--files", 2, "--teams", 0, "--seeds", 1, "--mode", "blind", option, value)
        assert result.exception is None or isinstance(result.exception, SystemExit), (value, result.exception)
        assert result.exit_code in (0, 1, 2)
