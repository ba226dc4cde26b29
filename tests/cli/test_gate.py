"""`fairboard gate`: limits on values and interval bounds, undefined groups, reports."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from grader.files.solution.jigsaw import IDENTITIES
from grader.metrics import bias_report, prepare
from grader.metrics.bias.analysis.influence import Measured, Sets
from grader.metrics.bias.analysis.intervals import uncertainty_report
from grader.metrics.bias.analysis.paired_differences import paired_report

ROOT = Path(__file__).parents[2]
ROWS = 3000


@pytest.fixture
def frame() -> pd.DataFrame:
    """Labels, three identities (one mentioned in 6 negative rows only), splits and two models."""
    rng = np.random.default_rng(26)
    label = (rng.random(ROWS) < 0.4).astype(float)
    rare = np.where((label == 0) & (np.cumsum(label == 0) <= 6), 1.0, 0.0)
    columns = {
        "id": np.arange(ROWS),
        "label": label,
        "male": rng.random(ROWS) < 0.3,
        "old": rng.random(ROWS) < 0.2,
    }
    frame = pd.DataFrame(columns | {"rare": rare, "Usage": rng.choice(["Public", "Private"], ROWS)})
    frame["baseline"] = label + rng.normal(0, 0.8, ROWS)
    frame["new"] = frame["baseline"] + rng.normal(0, 0.3, ROWS) + 0.4 * frame["male"]
    return frame.astype({"male": float, "old": float})


@pytest.fixture
def files(frame, tmp_path) -> Path:
    frame.drop(columns=["baseline", "new"]).to_csv(tmp_path / "solution.csv", index=False)
    frame.drop(columns=["baseline", "new", "rare"]).to_csv(tmp_path / "two.csv", index=False)
    for name in ("baseline", "new"):
        predictions = frame[["id", name]].rename(columns={name: "prediction"})
        predictions.sample(frac=1, random_state=1).to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


@pytest.fixture
def gate(files, run):
    def run_gate(*options, solution="two.csv", predictions="new.csv"):
        result = run("gate", files / solution, files / predictions, *options, "--json")
        checks = json.loads(result.stdout)["checks"] if result.stdout else []
        return result, {(each["rule"], each["identity"]): each for each in checks}

    return run_gate


def test_values_and_intervals_are_those_of_the_library(frame, files, gate):
    names = ["male", "old"]
    identities = {name: frame[name] for name in names}
    sets = Sets(prepare(frame["label"], identities))
    limits = (
        "--min-score",
        0.5,
        "--min",
        "bpsn_auc",
        0.5,
        "--min",
        "overall_auc",
        0.5,
        "--min",
        "mean_bnsp_auc",
        0.5,
    )
    drops = (
        "--baseline",
        files / "baseline.csv",
        "--max-drop",
        0.5,
        "--max-identity-drop",
        0.5,
        "--level",
        0.9,
    )
    result, checks = gate(*limits, *drops)
    assert result.exit_code == 0, result.output
    found = uncertainty_report(sets, frame["new"], level=0.9)
    assert found.score.value == bias_report(frame["label"], frame["new"], identities).score
    paired = paired_report(sets, *(Measured.of(sets, frame[name]) for name in ("new", "baseline")), level=0.9)
    expected = {("score >= 0.5", ""): found.score, ("overall_auc >= 0.5", ""): found.overall_auc}
    expected |= {("mean_bnsp_auc >= 0.5", ""): found.power_means["bnsp_auc"]}
    expected |= {("bpsn_auc >= 0.5", name): found.cells[name]["bpsn_auc"] for name in names}
    expected |= {("change of score >= -0.5", ""): paired.score}
    for auc in ("subgroup_auc", "bpsn_auc", "bnsp_auc"):
        expected |= {(f"change of {auc} >= -0.5", name): paired.cells[name][auc] for name in names}
    assert checks.keys() == expected.keys()
    for key, each in expected.items():
        value = getattr(each, "value", None) or each.difference
        assert [checks[key][name] for name in ("value", "low", "high")] == [value, each.low, each.high]


def test_a_missed_limit_fails_with_its_own_exit_code_and_names_the_identity(gate):
    values = {key[1]: each["value"] for key, each in gate("--min", "bpsn_auc", 0)[1].items()}
    assert values["male"] < values["old"]
    result, checks = gate("--min", "bpsn_auc", sum(values.values()) / 2)
    assert result.exit_code == 6
    assert {identity: each["status"] for (_, identity), each in checks.items()} == {
        "male": "FAILED",
        "old": "passed",
    }


@pytest.mark.parametrize(("bound", "decide_by"), [("low", "lower"), ("value", "value"), ("high", "upper")])
def test_the_chosen_bound_decides_about_the_value_and_about_the_drop(bound, decide_by, files, gate):
    baseline = ("--baseline", files / "baseline.csv")
    checks = gate("--min-score", 0, *baseline, "--max-drop", 1)[1].values()
    score, change = (each[bound] for each in checks)
    assert change < 0
    for shift, code in ((-1e-6, 0), (1e-6, 6)):
        decide = ("--decide-by", decide_by)
        assert gate("--min-score", score + shift, *decide)[0].exit_code == code
        assert gate(*baseline, "--max-drop", -change - shift, *decide)[0].exit_code == code


def test_an_unchanged_model_passes_a_drop_of_0_with_any_bound(files, gate):
    for decide_by in ("value", "lower", "upper"):
        options = ("--baseline", files / "new.csv", "--max-drop", 0, "--max-identity-drop", 0)
        assert gate(*options, "--decide-by", decide_by)[0].exit_code == 0


def test_undefined_values_fail_and_are_skipped_only_on_request(gate):
    options = {"solution": "solution.csv"}
    result, checks = gate("--min", "subgroup_auc", 0, "--min-score", 0, **options)
    assert result.exit_code == 6
    assert checks["score >= 0", ""]["status"] == "FAILED"
    rare = checks["subgroup_auc >= 0", "rare"]
    assert rare["status"] == "FAILED"
    assert "there are no positive rows that mention the identity" in rare["reason"]
    result, checks = gate("--min", "subgroup_auc", 0, "--min-score", 0, "--undefined", "skip", **options)
    assert result.exit_code == 0
    assert checks["subgroup_auc >= 0", "rare"]["status"] == "skipped"


def test_small_identities_are_listed_as_skipped_and_a_limit_without_values_fails(gate):
    options = ("--min", "bpsn_auc", 0.1, "--min-score", 0.1)
    result, checks = gate(*options, "--min-size", 7, solution="solution.csv")
    assert result.exit_code == 0
    assert checks["bpsn_auc >= 0.1", "rare"]["reason"] == "mentioned in 6 rows, fewer than --min-size"
    result, checks = gate(*options, "--min-size", 2000)
    assert result.exit_code == 6
    assert checks["bpsn_auc >= 0.1", ""]["reason"] == "no value was checked"
    assert "no identity enters the power mean" in checks["score >= 0.1", ""]["reason"]


def test_without_an_interval_only_the_lower_bound_fails(frame, files, gate):
    frame.assign(prediction=frame["label"])[["id", "prediction"]].to_csv(files / "perfect.csv", index=False)
    for decide_by, code in (("lower", 6), ("upper", 0), ("value", 0)):
        options = ("--min-score", 0.9, "--decide-by", decide_by)
        assert gate(*options, predictions="perfect.csv")[0].exit_code == code


def test_a_split_is_checked_on_its_own_rows(frame, gate):
    rows = frame[frame["Usage"] == "Private"]
    score = bias_report(rows["label"], rows["new"], {name: rows[name] for name in ("male", "old")}).score
    assert gate("--min-score", 0, "--split", "private")[1]["score >= 0", ""]["value"] == score


def test_reports_contain_every_check(files, run):
    paths = ["--markdown", files / "summary.md", "--junit", files / "junit.xml"]
    options = ["--min", "subgroup_auc", 0.5, "--min-score", 0.99, "--min-size", 7]
    result = run("gate", files / "solution.csv", files / "new.csv", *options, *paths)
    assert result.exit_code == 6
    assert result.stdout.startswith("Gate failed: 1 of 4 checks failed\n")
    lines = (files / "summary.md").read_text().splitlines()
    assert lines[0] == "### Gate failed: 1 of 4 checks failed"
    assert {line.count("|") for line in lines[2:]} == {8}
    suite = ET.parse(files / "junit.xml").getroot()
    counts = {"tests": "4", "failures": "1", "errors": "0", "skipped": "1"}
    assert (suite.tag, suite.attrib) == ("testsuite", {"name": "fairboard gate"} | counts)
    cases = {(case.get("classname"), case.get("name")): [child.tag for child in case] for case in suite}
    assert cases == {
        ("score >= 0.99", "all rows"): ["failure"],
        ("subgroup_auc >= 0.5", "rare"): ["skipped"],
        ("subgroup_auc >= 0.5", "male"): [],
        ("subgroup_auc >= 0.5", "old"): [],
    }


def test_names_cannot_add_rows_or_markup_to_the_reports(frame, files, run):
    name = "<b>a|b</b>\n| passed [x](y) `z`"
    columns = ["id", "label", "male", "rare", "Usage"]
    names = {"male": name, "rare": "\x1b[2J"}
    frame[columns].rename(columns=names).to_csv(files / "odd.csv", index=False)
    paths = ["--markdown", files / "summary.md", "--junit", files / "junit.xml"]
    result = run("gate", files / "odd.csv", files / "new.csv", "--min", "subgroup_auc", 0, *paths)
    assert result.exit_code == 6
    assert len(result.stdout.splitlines()) == 5 and "\x1b" not in result.stdout
    row = (files / "summary.md").read_text().splitlines()[-1]
    assert " | \\<b>a\\|b\\</b>\ufffd\\| passed \\[x\\](y) \\`z\\` | " in row
    undefined, case = ET.parse(files / "junit.xml").getroot()
    assert case.get("name") == name.replace("\n", "\ufffd")
    assert undefined[0].get("message").startswith("subgroup_auc of \ufffd[2J is undefined")


def test_parquet_files_and_kaggles_files_are_read_like_csv_files(files, frame, gate, run, tmp_path):
    options = ("--min", "bpsn_auc", 0, "--min-score", 0, "--split", "private")
    expected = gate(*options)[1]
    pd.read_csv(files / "two.csv").to_parquet(files / "two.parquet", engine="pyarrow", row_group_size=700)
    predictions = frame[["id", "new"]].rename(columns={"new": "prediction"})
    predictions.to_parquet(files / "new.parquet", engine="pyarrow")
    result, checks = gate(*options, solution="two.parquet", predictions="new.parquet")
    assert result.exit_code == 0 and checks == expected
    assert "two.parquet as CSV; line 2 is the first row." in result.stderr
    nine = {name: frame["male"] if name == "male" else frame["old"] for name in IDENTITIES}
    kaggle = pd.DataFrame({"id": frame["id"], "toxicity": frame["label"], "comment_text": "x"} | nine)
    for usage in ("Public", "Private"):
        rows = kaggle[frame["Usage"] == usage]
        rows.to_csv(tmp_path / f"test_{usage.lower()}_expanded.csv", index=False)
    result = run("gate", "--from-jigsaw", tmp_path, files / "new.csv", *options, "--json")
    found = {each["identity"]: each["value"] for each in json.loads(result.stdout)["checks"]}
    assert found["male"] == expected["bpsn_auc >= 0", "male"]["value"]
    assert "Specify the PREDICTIONS." in run("gate", files / "two.csv", *options).stderr
    twice = run("gate", "--from-jigsaw", tmp_path, files / "two.csv", files / "new.csv", *options)
    assert "at most one other file" in twice.stderr


@pytest.mark.parametrize(
    "options",
    [(), ("--max-drop", 0.1), ("--baseline", "new.csv"), ("--baseline", "new.csv", "--min-score", 0.1)],
)
def test_limits_and_a_baseline_that_do_not_fit_together_are_usage_errors(options, files, run, monkeypatch):
    monkeypatch.chdir(files)
    result = run("gate", "two.csv", "new.csv", *options)
    assert result.exit_code == 1
    assert "Specify a limit" in result.stderr


@pytest.mark.parametrize(
    "limit", [("--min-score", "nan"), ("--min", "bpsn_auc", "nan"), ("--max-drop", "nan")]
)
def test_a_limit_that_is_not_a_number_does_not_pass(files, run, limit):
    result = run("gate", files / "two.csv", files / "new.csv", *limit)
    assert result.exit_code == 1
    assert "is not a finite number" in result.stderr


def test_a_rejected_file_and_an_empty_split_are_not_failed_checks(files, run):
    (files / "short.csv").write_text("id,prediction\n1,0.5\n")
    result = run(
        "gate", files / "two.csv", files / "new.csv", "--baseline", files / "short.csv", "--max-drop", 1
    )
    assert result.exit_code == 2
    assert f"Reading {files / 'short.csv'}\nThe submission is rejected:" in result.stderr
    text = (files / "two.csv").read_text().replace("Private", "Public")
    (files / "two.csv").write_text(text)
    result = run("gate", files / "two.csv", files / "new.csv", "--min-score", 0.1, "--split", "private")
    assert result.exit_code == 1 and "no rows in the split private" in result.stderr


def test_the_github_action_follows_the_schema_and_passes_its_inputs(tmp_path):
    action = ROOT / "deploy/github-action/action.yml"
    check = Path(sys.executable).with_name("check-jsonschema")
    subprocess.run([check, "--builtin-schema", "vendor.github-actions", action], check=True)
    text = action.read_text()
    assert '-- "${PACKAGE:-$ACTION/../..[cli]}"' in text
    script = text[text.rindex("run: |") :].partition("\n")[2]
    program = tmp_path / "fairboard/bin/fairboard"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done; exit 6\n')
    program.chmod(0o755)
    names = {"SOLUTION": "a b.csv", "PREDICTIONS": "--help $(id)", "BASELINE": "old.csv", "JUNIT": "j.xml"}
    variables = names | {
        "LIMITS": "--max-drop 0.1\n  --min bpsn_auc *\n",
        "GITHUB_STEP_SUMMARY": "s.md",
        "RUNNER_TEMP": str(tmp_path),
    }
    for baseline in (["--baseline", "old.csv"], []):
        environment = variables | {"PATH": "/usr/bin:/bin", "BASELINE": baseline[1] if baseline else ""}
        command = ["bash", "-e", "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        limits = ["--max-drop", "0.1", "--min", "bpsn_auc", "*"]
        reports = ["--markdown", "s.md", "--junit", "j.xml"]
        files = ["--", "a b.csv", "--help $(id)"]
        assert done.stdout.splitlines() == ["gate", *baseline, *limits, *reports, *files]
        assert done.returncode == 6


def test_an_identity_column_with_a_wrong_value_is_not_left_out_silently(frame, files, run):
    frame["male"] = frame["male"].astype(str).replace({"1.0": "1"})
    frame.loc[5, "male"] = "yes"
    frame[["id", "label", "male", "old"]].to_csv(files / "odd.csv", index=False)
    arguments = (files / "odd.csv", files / "new.csv", "--min", "bpsn_auc", 0)
    result = run("gate", *arguments)
    assert result.exit_code == 1
    assert "The column 'male' was not used as an identity. Line 7" in result.stderr
    assert run("gate", *arguments, "--identities", "old").exit_code == 0


@pytest.fixture
def prices(tmp_path) -> Path:
    rng = np.random.default_rng(5)
    target = rng.normal(100, 20, ROWS)
    usage = rng.choice(["Public", "Private"], ROWS)
    solution = pd.DataFrame(
        {"id": range(ROWS), "price": target, "kind": rng.choice(["a", "b"], ROWS), "Usage": usage}
    )
    solution.to_csv(tmp_path / "solution.csv", index=False)
    noise = rng.normal(0, 3, ROWS)
    for name, each in {"old": noise, "new": noise + rng.normal(0, 1, ROWS), "kind": None}.items():
        values = solution["kind"].mask(rng.random(ROWS) < 0.2, "a") if each is None else target + each
        pd.DataFrame({"id": range(ROWS), "prediction": values}).to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


def gate_any(run, folder, *options, exit_code=0):
    result = run("gate", folder / "solution.csv", *options, "--json")
    assert result.exit_code == exit_code, result.output
    return json.loads(result.stdout)["checks"] if result.stdout else result


def test_gate_of_any_metric_compares_in_its_direction(run, prices):
    rmse = ("--metric", "rmse", "--label", "price", "--split", "private", "--baseline", prices / "old.csv")
    checks = gate_any(run, prices, prices / "new.csv", *rmse, "--max-score", "4", "--max-drop", "1")
    assert [(each["status"], each["rule"]) for each in checks] == [
        ("passed", "score <= 4"),
        ("passed", "change of score <= 1"),
    ]
    solution = pd.read_csv(prices / "solution.csv")
    rows = solution["Usage"] == "Private"
    new, old = (
        pd.read_csv(prices / f"{name}.csv")["prediction"] - solution["price"] for name in ("new", "old")
    )
    score, baseline = (np.sqrt((each[rows] ** 2).mean()) for each in (new, old))
    assert checks[0]["value"] == pytest.approx(score)
    influences = (new[rows] ** 2 - score**2) / (2 * score) - (old[rows] ** 2 - baseline**2) / (2 * baseline)
    error = influences.std(ddof=1) / np.sqrt(rows.sum())
    change = checks[1]
    assert change["value"] == pytest.approx(score - baseline)
    assert change["high"] - change["low"] == pytest.approx(2 * 1.959964 * error, rel=1e-3)

    between = f"{(change['value'] + change['low']) / 2}"
    for bound, code in (("value", 6), ("upper", 6), ("lower", 0)):
        gate_any(
            run,
            prices,
            prices / "new.csv",
            *rmse,
            "--max-drop",
            between,
            "--decide-by",
            bound,
            exit_code=code,
        )
    gate_any(run, prices, prices / "new.csv", *rmse, "--max-drop", "0", exit_code=6)

    f1 = (prices / "kind.csv", "--metric", "macro_f1", "--label", "kind")
    (passed,) = gate_any(run, prices, *f1, "--min-score", "0.8")
    assert (passed["rule"], passed["status"]) == ("score >= 0.8", "passed")
    gate_any(run, prices, *f1, "--min-score", "0.95", exit_code=6)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            ("--metric", "rmse", "--label", "price", "--min-score", "1"),
            "The lowest score is the best. Use --max-score.",
        ),
        (
            ("--metric", "r2", "--label", "price", "--max-score", "1"),
            "The highest score is the best. Use --min-score.",
        ),
        (
            ("--metric", "rmse", "--label", "price", "--max-score", "1", "--min", "bpsn_auc", "0.5"),
            "--min: only for",
        ),
        (("--metric", "rmse", "--label", "price"), "Specify a limit."),
        (("--metric", "rmse", "--label", "price", "--max-drop", "1"), "need a --baseline"),
        (("--max-score", "1"), "--max-score: only for a metric whose lowest score is the best"),
        (("--min-score", "1.5"), "1.5 is not in the range 0<=x<=1"),
        (("--min-score", "0.5", "--cutoff", "3"), "--cutoff: specify a --metric other than bias"),
    ],
)
def test_unsuitable_limits_of_a_metric_are_rejected(run, prices, options, reason):
    result = run("gate", prices / "solution.csv", prices / "new.csv", *options)
    assert result.exit_code == 1
    assert reason in " ".join(result.output.split())
