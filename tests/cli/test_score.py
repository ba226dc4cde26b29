"""`fairboard score` with the bias metric: values, formats, requirements, rejected files."""

import csv
import gzip
import io
import json
import os
import threading

import numpy as np
import pytest

from fairboard import METRIC_CODE_VERSION, MetricSettings, Weights, bias_report
from grader.cli.metric.score import Requirement, failures

IDENTITIES = ("male", "middle eastern", "rare one")
TERMS = ("subgroup_auc", "bpsn_auc", "bnsp_auc")
ROWS = 600


@pytest.fixture
def table():
    """600 rows: labels, identities (the last mentioned in only 8 rows), Usage and two models."""
    generator = np.random.default_rng(7)
    labels = np.resize([0.0, 0.8], ROWS)
    usage = generator.choice(["Public", "private", "Ignored"], ROWS, p=[0.4, 0.4, 0.2])
    usage[:8] = ["Public"] * 4 + ["private"] * 4
    return {
        "id": [f"row {number}" for number in range(ROWS)],
        "toxicity": labels,
        "male": generator.random(ROWS).round(2),
        "middle eastern": generator.random(ROWS).round(1),
        "rare one": np.where(np.arange(ROWS) < 8, 1.0, 0.0),
        "Usage": usage,
        "model_a": (labels / 3 + generator.random(ROWS) / 2).round(3),
        "model_b": generator.random(ROWS).round(1),
    }


@pytest.fixture
def write(tmp_path):
    def write_columns(columns, name="table.csv"):
        with (tmp_path / name).open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        return tmp_path / name

    return write_columns


def truth(table, *left_out):
    """The columns of a solution."""
    return {name: table[name] for name in ("id", "toxicity", *IDENTITIES, "Usage") if name not in left_out}


@pytest.fixture
def solution(table, write):
    return write({**truth(table), "comment": ["text"] * ROWS}, "solution.csv")


@pytest.fixture
def submission(table, write):
    order = np.random.default_rng(1).permutation(ROWS)
    columns = {"id": [table["id"][n] for n in order], "prediction": table["model_a"][order]}
    return write(columns, "submission.csv")


def expected(table, *usages, model="model_a", settings=None, in_score=None, identities=IDENTITIES):
    rows = np.isin(np.char.lower(table["Usage"]), usages)
    groups = {name: table[name][rows] for name in identities}
    report = bias_report(
        table["toxicity"][rows], table[model][rows], groups, settings=settings, in_score=in_score
    )
    return report.as_dict()


def test_json_contains_the_report_of_each_split_in_full_precision(table, solution, submission, run_json):
    code, answer = run_json("score", solution, submission, "--role", "comment=unused")
    assert code == 0
    assert answer == {
        "splits": {
            "public": expected(table, "public"),
            "private": expected(table, "private"),
            "all": expected(table, "public", "private"),
        },
        "notes": [],
        "metric_code_version": str(METRIC_CODE_VERSION),
    }


@pytest.mark.parametrize(("usage", "splits"), [(None, ["all"]), ("PRIVATE", ["private", "all"])])
def test_only_splits_that_have_rows_are_reported(table, write, submission, run_json, usage, splits):
    columns = truth(table, "Usage") | ({} if usage is None else {"Usage": [usage] * ROWS})
    code, answer = run_json("score", write(columns), submission)
    assert (code, list(answer["splits"])) == (0, splits)
    table["Usage"][:] = "public"
    assert all(split == expected(table, "public") for split in answer["splits"].values())


def test_every_metric_option_is_used(table, solution, submission, run_json):
    settings = MetricSettings(
        power=-2.5, weights=Weights(0.4, 0.3, 0.2, 0.1), label_threshold=0.7, identity_threshold=0.7
    )
    names = ("middle eastern", "male")
    options = ["--label", "toxicity", "--power", "-2.5", "--threshold", "0.7", "--weights", "0.4,0.3,0.2,0.1"]
    _, answer = run_json("score", *options, "--identities", ",".join(names), solution, submission)
    assert answer["splits"]["public"] == expected(table, "public", settings=settings, identities=names)


def test_a_small_identity_is_listed_but_not_scored_in_every_split(table, solution, submission, run_json):
    _, kept = run_json("score", solution, submission, "--min-size", 8)
    _, left_out = run_json("score", solution, submission, "--min-size", 9)
    for name, split in left_out["splits"].items():
        assert [subgroup["in_score"] for subgroup in split["subgroups"]] == [True, True, False]
        assert all(subgroup["in_score"] for subgroup in kept["splits"][name]["subgroups"])
    assert left_out["splits"]["all"] == expected(table, "public", "private", in_score=IDENTITIES[:2])


def test_an_undefined_cell_makes_the_score_null_and_meets_no_requirement(table, write, submission, run):
    columns = truth(table, "Usage", "middle eastern", "rare one")
    alone = json.loads(run("score", write(columns), submission, "--json").stdout)
    path = write({**columns, "nobody": [0] * ROWS})
    result = run("score", path, submission, "--json", "--require", "score <= 1")
    split = json.loads(result.stdout)["splits"]["all"]
    assert (result.exit_code, split["score"]) == (6, None)
    assert split["power_means"] == dict.fromkeys(TERMS)
    assert "subgroup_auc of nobody is undefined" in result.stderr and "male" not in result.stderr
    skipped = json.loads(run("score", path, submission, "--json", "--undefined", "skip").stdout)
    assert skipped["splits"]["all"]["score"] == alone["splits"]["all"]["score"]


def test_a_column_of_the_solution_is_scored(table, write, run):
    words = ("--label", "toxicity", "--prediction", "model_b", "--require", "overall_auc >= 0.6")
    result = run("score", write(table), *words, "--json")
    assert json.loads(result.stdout)["splits"]["public"] == expected(table, "public", model="model_b")
    assert (result.exit_code, "overall_auc is 0." in result.stderr) == (6, True)


def test_files_may_be_read_from_pipes(solution, submission, run_json, tmp_path):
    _, plain = run_json("score", solution, submission)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(gzip.compress(solution.read_bytes()),))
    writer.start()
    code, answer = run_json("score", pipe, "-", input=submission.read_bytes())
    writer.join()
    assert (code, answer["splits"]) == (0, plain["splits"])


def test_a_rejected_submission_lists_all_problems_as_json_with_exit_code_2(solution, submission, run):
    lines = submission.read_text().splitlines()
    lines[3] = lines[3].split(",")[0] + ",oops"
    lines[5] = "nobody knows,0.5"
    submission.write_text("\n".join(lines))
    result = run("score", solution, submission, "--json")
    answer = json.loads(result.stdout)
    assert (result.exit_code, answer["file"], result.stderr) == (2, "submission", "")
    assert len(answer["problems"]) >= 2
    for problem in answer["problems"]:
        assert list(problem) == ["code", "message", "line", "lines", "count", "expected", "found"]
    assert any(problem["line"] == 4 and "oops" in problem["message"] for problem in answer["problems"])


def test_the_notes_of_an_accepted_file_are_shown(solution, submission, run, run_json):
    header, *rows = submission.read_text().splitlines()
    submission.write_text(
        "\n".join([header, *(f"{row.partition(',')[0]},{n}" for n, row in enumerate(rows))])
    )
    assert "Note: " in run("score", solution, submission).stderr
    code, answer = run_json("score", solution, submission)
    assert (code, bool(answer["notes"])) == (0, True)


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "solution.csv",
        "solution.csv missing.csv",
        "solution.csv submission.csv --no-such-option",
        "solution.csv submission.csv --label nothing",
        "solution.csv submission.csv --identities male,martian",
        "solution.csv submission.csv --identities male,,female",
        "solution.csv submission.csv --min-size -1",
        "solution.csv submission.csv --power nan",
        "solution.csv submission.csv --weights 1,1,0,0",
        "solution.csv submission.csv --json --format csv",
        "solution.csv submission.csv --prediction model_a",
        "solution.csv --prediction no_model",
        "solution.csv submission.csv submission.csv",
        *(f"solution.csv submission.csv --require {text}" for text in ("score", "score=1", "score>=nan")),
        *(f"solution.csv submission.csv --require {text}" for text in (">=1", "score>=much", "cow_auc>=0")),
    ],
)
@pytest.mark.usefixtures("solution", "submission")
def test_all_other_errors_exit_with_1_and_a_reason(arguments, tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    result = run("score", *arguments.split())
    assert (result.exit_code, "Error: " in result.stderr) == (1, True)
    assert isinstance(result.exception, SystemExit)


def test_every_format_contains_the_values(table, write, solution, submission, run):
    shown = run("score", solution, submission, "--min-size", 50)
    public = expected(table, "public", in_score=IDENTITIES[:2])
    assert f"score {public['score']:.5f}" in shown.stdout and "rare one (not in score)" in shown.stdout
    assert "unused: comment" in shown.stderr
    result = run("score", solution, submission, "--format", "csv")
    lines = list(csv.DictReader(io.StringIO(result.stdout)))
    public = expected(table, "public")
    assert len(lines) == 3 * 4
    whole, male = lines[:2]
    assert (whole["split"], whole["identity"], int(whole["rows"])) == ("public", "", public["rows"])
    assert float(whole["score"]) == public["score"]
    assert float(whole["bnsp_auc"]) == public["power_means"]["bnsp_auc"]
    assert (male["identity"], int(male["rows"])) == ("male", public["subgroups"][0]["size"])
    assert float(male["negative_aeg"]) == public["subgroups"][0]["negative_aeg"]
    odd = {"toxicity": table["toxicity"], "=a|b": table["middle eastern"], "m": table["model_a"]}
    command = ("score", write(odd), "--prediction", "m", "--format")
    assert ",'=a|b,True," in run(*command, "csv").stdout
    markdown = run(*command, "markdown").stdout
    assert r"=a\|b" in markdown
    assert len({line.replace(r"\|", "").count("|") for line in markdown.splitlines()}) == 1


@pytest.mark.parametrize("relation", [">=", "<=", ">", "<"])
def test_a_requirement_compares_the_exact_value_of_a_term(relation):
    value = 0.9
    limits = {value: "=" in relation, value - 1e-15: ">" in relation, value + 1e-15: "<" in relation}
    for limit, is_met in limits.items():
        required = [Requirement("auc", relation, limit)]
        assert any(failures(required, {"auc": value})) is not is_met, limit


def test_all_unmet_requirements_name_value_and_limit_after_the_report(solution, submission, run):
    words = [
        word
        for each in ("score >= 0.999", "overall_auc >= 0", "bpsn_auc > 1")
        for word in ("--require", each)
    ]
    result = run("score", solution, submission, *words)
    lines = [line for line in result.stderr.splitlines() if "requirement" in line]
    assert result.exit_code == 6
    assert [line.split()[0] for line in lines] == ["score", "bpsn_auc"]
    assert "0.999" in lines[0] and "> 1.0" in lines[1]
    assert "overall AUC" in result.stdout
