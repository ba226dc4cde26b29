"""`fairboard score --metric`: built-in metrics compared with scikit-learn, and rejected files."""

import csv
import json
import random
import re
from pathlib import Path

import pytest
from sklearn import metrics as reference

from fairboard.interface import Options
from grader.files import FileRejected
from grader.metrics.registry import METRICS, metric
from grader.scored_files import read_truth

ROWS = 300
GENERATOR = random.Random(3)
TRUTH = {
    "id": [f"r{row}" for row in range(ROWS)],
    "price": [round(GENERATOR.gauss(100, 20), 2) for _ in range(ROWS)],
    "kind": [GENERATOR.choice("abc") for _ in range(ROWS)],
    "region": [GENERATOR.choice(["north", "south", ""]) for _ in range(ROWS)],
    "Usage": [GENERATOR.choice(["Public", "Private", "Ignored"]) for _ in range(ROWS)],
}


@pytest.fixture
def score(run, tmp_path):
    """Run the command on the truth and on predictions in another order."""

    def run_score(predictions: dict[str, list], *options: str):
        order = random.Random(4).sample(range(ROWS), ROWS)
        columns = {"id": TRUTH["id"], **predictions}
        file = {name: [values[row] for row in order] for name, values in columns.items()}
        for name, table in (("truth", TRUTH), ("file", file)):
            with (tmp_path / name).open("w", newline="") as opened:
                writer = csv.writer(opened)
                writer.writerow(table)
                writer.writerows(zip(*table.values(), strict=True))
        return run("score", str(tmp_path / "truth"), str(tmp_path / "file"), *options)

    return run_score


def test_numbers_are_scored_on_each_split_and_group_as_by_scikit_learn(score):
    generator = random.Random(5)
    guesses = [price + generator.gauss(0, 9) for price in TRUTH["price"]]
    options = ("--metric=rmse", "--label=price", "--groups=region", "--reported=mae,r2", "--require=mae<=99")
    done = score({"prediction": guesses}, *options, "--json")
    result = json.loads(done.stdout)
    assert (done.exit_code, result["direction"], result["exactness"]) == (0, "lowest", "sums")
    assert list(result["splits"]) == ["public", "private", "all"]
    for split, values in result["splits"].items():
        usage = ["Public", "Private"] if split == "all" else [split.capitalize()]
        rows = [row for row in range(ROWS) if TRUTH["Usage"][row] in usage]

        def expected(each, rows):
            true, guessed = ([side[row] for row in rows] for side in (TRUTH["price"], guesses))
            return pytest.approx(each(true, guessed), rel=1e-13)

        assert values["rows"] == len(rows)
        assert values["score"] == expected(reference.root_mean_squared_error, rows)
        assert values["terms"]["mae"] == expected(reference.mean_absolute_error, rows)
        assert values["terms"]["r2"] == expected(reference.r2_score, rows)
        assert set(values["groups"]["region"]) == {"north", "south"}
        for region, of_group in values["groups"]["region"].items():
            members = [row for row in rows if TRUTH["region"][row] == region]
            assert of_group["score"] == expected(reference.root_mean_squared_error, members)


def test_large_groups_of_every_split_are_in_the_score_if_the_weight_is_below_1(score, monkeypatch):
    """The west has only public rows, and two small groups are joined."""
    regions = ["west"] * 60 + ["east"] * 40 + ["center"] * 40 + ["south"] * 80 + ["north"] * 80
    regions[1:60:2] = ["north"] * 30
    monkeypatch.setitem(TRUTH, "region", regions)
    monkeypatch.setitem(TRUTH, "Usage", ["Public", "Private"] * (ROWS // 2))
    guesses = [price + row % 7 for row, price in enumerate(TRUTH["price"])]
    options = ("--metric=mae", "--label=price", "--groups=region", "--weight=0.75", "--json")
    public = json.loads(score({"prediction": guesses}, *options).stdout)["splits"]["public"]
    assert len(public["groups"]["region"]) == 4
    values = [public["groups"]["region"][name]["score"] for name in ("north", "south")]
    mean = (sum(value**5 for value in values) / len(values)) ** (1 / 5)
    assert public["score"] == pytest.approx(0.75 * public["terms"]["overall"] + 0.25 * mean)


def test_the_output_names_the_metric_and_its_columns(score):
    roles = ["--role", "price=label", "--role", "region=slice", "--role", "Usage=unused"]
    output = score({"prediction": TRUTH["price"]}, "--metric", "mae", *roles, "--require", "score>0")
    line = "Mean absolute error (MAE); best: lowest; label: price; slice: region; unused: kind, Usage\n"
    assert line in output.stderr
    assert output.stdout.splitlines()[0].split()[:3] == ["split", "column", "group"]
    assert (output.exit_code, "score is 0.0" in output.stderr) == (6, True)


@pytest.mark.parametrize(
    ("prediction", "arguments", "message"),
    [
        ("1", "--metric rmsex", "Metrics: accuracy, "),
        ("1", "--metric rmse", "no column is called target, label or toxicity; choose"),
        ("1", "--metric rmse --label cost", "The table has no column 'cost'"),
        ("1", "--metric rmse --label kind", "the target 'kind' is 'a', which is not a number"),
        ("1", "--metric macro_f1 --label region", "the target 'region' is blank"),
        ("-1", "--metric rmsle --label price", "'-1' is out of range; expected a number from 0 to"),
        ("x", "--metric f1 --label kind", "F1 needs exactly two classes"),
        ("d", "--metric accuracy --label kind", "expected a class of the competition"),
        ("a", "--metric accuracy --label kind --classes a,b", "The target 'kind' contains 'c',"),
        ("1", "--metric rmse --label price --power 2", "--power: only for the metric bias"),
        ("1", "--metric mean_rmse", "The metric needs the names of its columns."),
        ("1", "--metric rmse --label price --columns a", "rmse has one column"),
        ("1", "--metric rmse --label price --reported f1", "f1 cannot be reported next to rmse."),
        ("1", "--metric rmse --label price --weight 0.5", "A weight other than 1 needs columns of groups"),
        ("1", "--metric rmse --label price --groups region --weight nan", "between 0 and 1, not nan"),
        ("1", "--groups region", "--groups: specify a --metric other than bias"),
    ],
)
def test_unsuitable_files_and_options_are_explained(score, prediction, arguments, message):
    failure = score({"prediction": [prediction] * ROWS}, *arguments.split())
    assert failure.exit_code in (1, 2)
    assert message in failure.output


def test_predictions_for_which_the_metric_is_undefined_are_named_by_id(score):
    zeros = {name: [0.0 if row == 5 else 1.0 for row in range(ROWS)] for name in "abc"}
    result = score(zeros, "--metric", "multi_class_log_loss", "--label", "kind")
    assert result.exit_code == 2
    assert "A row needs at least one probability above 0. This is not so for the ids r5." in result.output


def test_the_documentation_lists_all_metrics_with_their_titles():
    text = (Path(__file__).parents[2] / "docs/scoring.md").read_text()
    options = Options(columns=("a", "b"), classes=("0", "1"))
    described = {name: metric(name, options).describe() for name in METRICS}
    assert re.findall(r"(?m)^\| `(\w+)` \| (.+?) \| .+ \| (highest|lowest) \|$", text) == [
        (name, each.title, each.direction) for name, each in described.items()
    ]


@pytest.mark.parametrize(
    ("kinds", "region", "reason"),
    [
        (["b\0", "a"], "north", "The class 'b<U+0000>' is not usable"),
        (["b", "a"], "n" * 256, "The group of region 'nnn"),
        (["b", "a"], "n\0", "The group of region 'n<U+0000>' is not usable; expected at most 255 characters"),
        (range(10_001), "north", "The solution has 10,001 different values of a class; expected at most"),
    ],
)
def test_unusable_names_of_classes_and_groups_are_rejected(kinds, region, reason):
    lines = ["id,kind,region", *(f"{row},{each},{region}" for row, each in enumerate(kinds))]
    given = {"target": "kind", "groups": ["region"]}
    with pytest.raises(FileRejected) as rejected:
        read_truth("\n".join(lines).encode(), "accuracy", Options(), **given)
    assert [each.message[: len(reason)] for each in rejected.value.problems] == [reason]


def test_classes_of_a_list_are_separated_by_ascii_whitespace():
    data = "id,kind\n1,a\u00a0b c\n2,c\n".encode()
    assert read_truth(data, "map_at_k", Options(), target="kind").classes == ("a\u00a0b", "c")


def test_notes_state_that_rows_were_scaled_and_which_reported_metric_is_undefined(score):
    scaled = score(
        {name: [1.0] * ROWS for name in "abc"}, "--metric", "multi_class_log_loss", "--label", "kind"
    )
    assert "probabilities that do not sum to 1; they are scaled" in scaled.stderr
    undefined = score(
        {"prediction": [-1.0] * ROWS}, "--metric", "rmse", "--label", "price", "--reported", "rmsle"
    )
    assert "is reported only for files with all predictions at least 0" in undefined.stderr


def test_a_solution_of_one_class_is_rejected(run, tmp_path):
    (tmp_path / "truth").write_text("id,target\n1,a\n2,a\n")
    (tmp_path / "file").write_text("id,prediction\n1,a\n2,a\n")
    result = run("score", str(tmp_path / "truth"), str(tmp_path / "file"), "--metric", "mcc")
    assert result.exit_code == 1 and "The metric needs at least two classes." in result.output
