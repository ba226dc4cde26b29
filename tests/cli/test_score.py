import csv
import gzip
import io
import itertools
import json
import os
import threading

import numpy as np
import pytest

from fairboard import METRIC_CODE_VERSION, MetricSettings, Weights, bias_report

IDENTITIES = ("male", "middle eastern", "rare one")
TERMS = ("subgroup_auc", "bpsn_auc", "bnsp_auc")


@pytest.fixture
def table():
    """600 rows: labels, identities (the last mentioned in only 8 rows), Usage and two models."""
    generator = np.random.default_rng(7)
    rows = 600
    labels = np.resize([0.0, 0.8], rows)
    usage = generator.choice(["Public", "private", "Ignored"], rows, p=[0.4, 0.4, 0.2])
    usage[:8] = ["Public"] * 4 + ["private"] * 4
    identities = {
        name: generator.random(rows).round(digits) for digits, name in [(2, "male"), (1, "middle eastern")]
    }
    identities["rare one"] = np.where(np.arange(rows) < 8, 1.0, 0.0)
    return {
        "id": [f"row {number}" for number in range(rows)],
        "toxicity": labels,
        **identities,
        "Usage": usage,
        "model_a": (labels / 3 + generator.random(rows) / 2).round(3),
        "model_b": generator.random(rows).round(1),
    }


@pytest.fixture
def write(tmp_path):
    numbers = itertools.count()

    def write_columns(columns, name=None):
        path = tmp_path / (name or f"{next(numbers)}.csv")
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        return path

    return write_columns


@pytest.fixture
def solution(table, write):
    columns = {name: values for name, values in table.items() if not name.startswith("model")}
    return write({**columns, "comment": ["text"] * 600}, "solution.csv")


@pytest.fixture
def submission(table, write):
    order = np.random.default_rng(1).permutation(600)
    return write(
        {"id": [table["id"][n] for n in order], "prediction": table["model_a"][order]}, "submission.csv"
    )


def expected(table, usages, *, model="model_a", settings=None, in_score=None, identities=IDENTITIES):
    rows = np.isin(np.char.lower(table["Usage"]), usages)
    report = bias_report(
        table["toxicity"][rows],
        table[model][rows],
        {name: table[name][rows] for name in identities},
        settings=settings,
        in_score=in_score,
    )
    return report.as_dict()


def test_json_contains_the_report_of_each_split_in_full_precision(table, solution, submission, run_json):
    code, answer = run_json("score", solution, submission, "--role", "comment=unused")
    assert code == 0
    assert answer == {
        "splits": {
            "public": expected(table, ["public"]),
            "private": expected(table, ["private"]),
            "all": expected(table, ["public", "private"]),
        },
        "notes": [],
        "metric_code_version": str(METRIC_CODE_VERSION),
    }


@pytest.mark.parametrize(
    ("usage", "splits"), [(None, ["all"]), ("PRIVATE", ["private", "all"]), ("Ignored", [])]
)
def test_only_splits_that_have_rows_are_reported(table, write, submission, run, usage, splits):
    columns = {name: table[name] for name in ("id", "toxicity", *IDENTITIES)}
    if usage is not None:
        columns["Usage"] = [usage] * 600
    result = run("score", write(columns), submission, "--json")
    answer = json.loads(result.stdout)
    assert (result.exit_code, list(answer["splits"])) == (0, splits)
    assert ("nothing to score" in result.stderr) == (not splits)
    table["Usage"][:] = "public"
    assert all(split == expected(table, ["public"]) for split in answer["splits"].values())


def test_the_label_and_every_metric_option_are_used(table, write, solution, submission, run_json):
    settings = MetricSettings(
        power=-2.5, weights=Weights(0.4, 0.3, 0.2, 0.1), label_threshold=0.7, identity_threshold=0.7
    )
    names = ("middle eastern", "male")
    options = (
        "--label",
        "toxicity",
        "--power",
        "-2.5",
        "--threshold",
        "0.7",
        "--identities",
        ",".join(names),
    )
    _, answer = run_json("score", *options, "--weights", "0.4,0.3,0.2,0.1", solution, submission)
    assert answer["splits"]["public"] == expected(table, ["public"], settings=settings, identities=names)


def test_a_small_identity_is_listed_but_not_scored_in_every_split(table, solution, submission, run_json):
    _, kept = run_json("score", solution, submission, "--min-size", 8)
    _, left_out = run_json("score", solution, submission, "--min-size", 9)
    for name, split in left_out["splits"].items():
        assert [subgroup["in_score"] for subgroup in split["subgroups"]] == [True, True, False]
        assert all(subgroup["in_score"] for subgroup in kept["splits"][name]["subgroups"])
    assert left_out["splits"]["all"] == expected(table, ["public", "private"], in_score=IDENTITIES[:2])


def test_an_undefined_cell_makes_the_score_null_and_is_named_on_stderr(table, write, submission, run):
    columns = {name: table[name] for name in ("id", "toxicity", "male")}
    path = write({**columns, "nobody": [0] * 600})
    result = run("score", path, submission, "--json")
    split = json.loads(result.stdout)["splits"]["all"]
    assert result.exit_code == 0
    assert split["score"] is None
    assert split["power_means"] == dict.fromkeys(TERMS)
    assert split["subgroups"][1]["subgroup_auc"] is None
    assert "subgroup_auc of nobody is undefined" in result.stderr
    assert "male" not in result.stderr
    skipped = json.loads(run("score", path, submission, "--json", "--undefined", "skip").stdout)
    alone = json.loads(run("score", write(columns), submission, "--json").stdout)
    assert skipped["splits"]["all"]["score"] == alone["splits"]["all"]["score"]


def test_columns_of_one_file_are_scored_as_models(table, write, run_json):
    code, answer = run_json("score", write(table), "--label", "toxicity", "--prediction", "model_a,model_b")
    assert code == 0
    assert answer["notes"] == []
    assert list(answer["models"]) == ["model_a", "model_b"]
    for model, scored in answer["models"].items():
        assert scored["splits"]["public"] == expected(table, ["public"], model=model)


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


@pytest.mark.parametrize("options", [("--json",), ()])
def test_the_notes_of_an_accepted_file_are_shown(solution, submission, run, options):
    lines = submission.read_bytes().splitlines()
    submission.write_bytes(b"\r".join(lines) + b"\r")
    result = run("score", solution, submission, *options)
    assert result.exit_code == 0
    if options:
        assert [set(note) >= {"code", "message"} for note in json.loads(result.stdout)["notes"]]
    else:
        assert "Note: " in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("{solution}",),
        ("{solution}", "{missing}"),
        ("{solution}", "{submission}", "--no-such-option"),
        ("{solution}", "{submission}", "--label", "nothing"),
        ("{solution}", "{submission}", "--identities", "male,martian"),
        ("{solution}", "{submission}", "--identities", "male,,female"),
        ("{solution}", "{submission}", "--min-size", "-1"),
        ("{solution}", "{submission}", "--power", "nan"),
        ("{solution}", "{submission}", "--weights", "1,1,0,0"),
        ("{solution}", "{submission}", "--json", "--format", "csv"),
        ("{solution}", "{submission}", "--prediction", "model_a"),
        ("{solution}", "--prediction", "no_model"),
        ("{solution}", "{submission}", "{submission}"),
    ],
)
def test_all_other_errors_exit_with_1_and_a_reason(arguments, tmp_path, solution, submission, run):
    paths = {
        "solution": solution,
        "submission": submission,
        "missing": tmp_path / "missing.csv",
    }
    result = run("score", *(argument.format(**paths) for argument in arguments))
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert "Error: " in result.stderr
    assert result.stdout == ""


def test_every_format_contains_the_values(table, write, solution, submission, run):
    shown = run("score", solution, submission, "--min-size", 50)
    public = expected(table, ["public"], in_score=IDENTITIES[:2])
    assert f"score {public['score']:.5f}" in shown.stdout and "(rare one)" in shown.stdout
    assert "not used: comment" in shown.stderr
    result = run("score", solution, submission, "--format", "csv")
    lines = list(csv.DictReader(io.StringIO(result.stdout)))
    public = expected(table, ["public"])
    assert len(lines) == 3 * 4
    whole, male = lines[:2]
    assert (whole["split"], whole["identity"]) == ("public", "")
    assert float(whole["score"]) == public["score"]
    assert float(whole["bnsp_auc"]) == public["power_means"]["bnsp_auc"]
    assert int(whole["rows"]) == public["rows"]
    assert (male["identity"], int(male["rows"])) == ("male", public["subgroups"][0]["size"])
    assert float(male["negative_aeg"]) == public["subgroups"][0]["negative_aeg"]
    odd = {"toxicity": table["toxicity"], "=a|b": table["middle eastern"], "m": table["model_a"]}
    command = ("score", write(odd), "--prediction", "m", "--format")
    assert ",'=a|b,True," in run(*command, "csv").stdout
    markdown = run(*command, "markdown").stdout
    assert r"=a\|b" in markdown
    assert len({line.replace(r"\|", "").count("|") for line in markdown.splitlines()}) == 1


def test_an_identity_column_with_one_invalid_value_is_an_error(table, write, submission, run):
    columns = {name: values for name, values in table.items() if not name.startswith("model")}
    columns["male"] = [-1, *columns["male"][1:]]
    for options in ((), ("--identities", "male")):
        result = run("score", write(columns), submission, *options)
        assert result.exit_code == 2 and "Line 2: the identity 'male' is '-1'" in result.stderr
