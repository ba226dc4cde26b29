"""`fairboard score --require`: limits on the score and the terms, for continuous integration."""

import json

import pytest

LABELS = [1, 0, 1, 0, 1, 0, 1, 0]
PREDICTIONS = [0.9, 0.2, 0.8, 0.4, 0.3, 0.1, 0.7, 0.35]
CAT = [1, 1, 0, 0, 1, 1, 0, 0]


@pytest.fixture
def write(tmp_path):
    def write_file(name, header, *columns):
        lines = [",".join(map(str, (row, *values))) for row, values in enumerate(zip(*columns, strict=True))]
        path = tmp_path / name
        path.write_text("\n".join([header, *lines]) + "\n")
        return path

    return write_file


@pytest.fixture
def files(write):
    return (
        write("solution.csv", "id,target,cat", LABELS, CAT),
        write("submission.csv", "id,prediction", PREDICTIONS),
    )


def required(*texts):
    return [word for text in texts for word in ("--require", text)]


@pytest.mark.parametrize("operator", [">=", "<=", ">", "<"])
@pytest.mark.parametrize("term", ["score", "overall_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc"])
def test_each_operator_compares_the_exact_value_of_a_term(files, run, run_json, term, operator):
    _, answer = run_json("score", *files)
    split = answer["splits"]["all"]
    value = split.get(term, split["power_means"].get(term))
    limits = {value: "=" in operator, value - 1e-15: ">" in operator, value + 1e-15: "<" in operator}
    for limit, is_met in limits.items():
        result = run("score", *files, "--require", f"{term}{operator}{limit!r}")
        assert result.exit_code == (0 if is_met else 6), (limit, value)


def test_all_unmet_requirements_name_value_and_limit(files, run):
    result = run("score", *files, *required("score >= 0.999", "overall_auc >= 0.5", "bpsn_auc > 1"))
    lines = [line for line in result.stderr.splitlines() if "requirement" in line]
    assert result.exit_code == 6
    assert [line.split()[0] for line in lines] == ["score", "bpsn_auc"]
    assert "0.999" in lines[0] and "> 1.0" in lines[1]
    assert "overall AUC" in result.stdout


def test_the_report_is_complete_json_although_a_requirement_is_not_met(files, run):
    result = run("score", *files, "--json", *required("score > 1"))
    assert result.exit_code == 6
    assert json.loads(result.stdout)["splits"]["all"]["score"] < 1


def test_an_undefined_value_meets_no_requirement(write, files, run):
    solution = write("nobody.csv", "id,target,cat,cow", LABELS, CAT, [0] * 8)
    for operator in ("<=", ">="):
        result = run("score", solution, files[1], *required(f"score {operator} 0.5"))
        assert result.exit_code == 6
    ignored = write("ignored.csv", "id,target,cat,Usage", LABELS, CAT, ["Ignored"] * 8)
    assert run("score", ignored, files[1], *required("overall_auc >= 0")).exit_code == 6


def test_each_model_of_a_table_is_checked(write, run):
    models = write("models.csv", "id,target,cat,good,bad", LABELS, CAT, LABELS, [1 - each for each in LABELS])
    options = ("--prediction", "good,bad", "--identities", "cat", "--label", "target")
    result = run("score", models, *options, *required("overall_auc >= 0.9"))
    assert result.exit_code == 6
    assert "bad: overall_auc is 0.0" in result.stderr and "good: " not in result.stderr


def test_terms_of_other_metrics_can_be_required(write, run):
    files = (
        write("truth.csv", "id,price", [1.0, 2.0, 3.0]),
        write("file.csv", "id,prediction", [1.0, 2.0, 4.0]),
    )
    options = ("--metric", "rmse", "--label", "price", "--reported", "mae")
    assert run("score", *files, *options, *required("score <= 0.58", "mae <= 0.34")).exit_code == 0
    assert run("score", *files, *options, *required("mae <= 0.33")).exit_code == 6


@pytest.mark.parametrize(
    "text", ["score", "score >=", ">= 1", "score = 1", "score >= nan", "score >= much", "cow_auc >= 0.5"]
)
def test_a_requirement_that_cannot_be_read_is_a_usage_error(files, run, text):
    assert run("score", *files, *required(text)).exit_code == 1
