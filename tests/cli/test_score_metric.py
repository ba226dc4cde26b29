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
from grader.scored_files import read_for_metric

ROWS = 300


@pytest.fixture(scope="module")
def truth():
    generator = random.Random(3)
    return {
        "id": [f"r{row}" for row in range(ROWS)],
        "price": [round(generator.gauss(100, 20), 2) for _ in range(ROWS)],
        "kind": [generator.choice("abc") for _ in range(ROWS)],
        "stars": [generator.choice(["1", "2", "10"]) for _ in range(ROWS)],
        "bought": [generator.randint(0, 1) for _ in range(ROWS)],
        "left": [generator.randint(0, 1) for _ in range(ROWS)],
        "region": [generator.choice(["north", "south", ""]) for _ in range(ROWS)],
        "Usage": [generator.choice(["Public", "Private", "Ignored"]) for _ in range(ROWS)],
    }


@pytest.fixture
def score(run, tmp_path, truth):
    """Run the command on the truth and on predictions in another order."""

    def run_score(predictions: dict[str, list], *options: str, exit_code: int | None = 0):
        order = random.Random(4).sample(range(ROWS), ROWS)
        columns = {"id": truth["id"], **predictions}
        for name, table in (
            ("truth", truth),
            ("file", {k: [v[n] for n in order] for k, v in columns.items()}),
        ):
            with (tmp_path / name).open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(table)
                writer.writerows(zip(*table.values(), strict=True))
        result = run("score", str(tmp_path / "truth"), str(tmp_path / "file"), *options)
        assert exit_code in (None, result.exit_code), result.output
        return result

    return run_score


def rows_of(truth, split: str, region: str | None = None) -> list[int]:
    usage = {"public": ["Public"], "private": ["Private"], "all": ["Public", "Private"]}[split]
    return [n for n in range(ROWS) if truth["Usage"][n] in usage and region in (None, truth["region"][n])]


def test_numbers_are_scored_on_each_split_and_group_as_by_scikit_learn(score, truth):
    generator = random.Random(5)
    guesses = [price + generator.gauss(0, 9) for price in truth["price"]]
    result = json.loads(
        score(
            {"prediction": guesses}, "--metric", "rmse", "--label", "price", "--groups", "region", "--json",
            "--reported", "mae,r2",
        ).stdout
    )  # fmt: skip
    assert (result["direction"], result["exactness"], list(result["splits"])) == (
        "lowest",
        "sums",
        ["public", "private", "all"],
    )

    def expected(rows: list[int]) -> float:
        return reference.root_mean_squared_error(
            [truth["price"][n] for n in rows], [guesses[n] for n in rows]
        )

    for split, values in result["splits"].items():
        assert values["rows"] == len(rows_of(truth, split))
        assert values["score"] == pytest.approx(expected(rows_of(truth, split)), rel=1e-14)
        assert values["terms"] == {
            name: pytest.approx(
                each(*([side[n] for n in rows_of(truth, split)] for side in (truth["price"], guesses))),
                rel=1e-13,
            )
            for name, each in (("mae", reference.mean_absolute_error), ("r2", reference.r2_score))
        }
        assert set(values["groups"]["region"]) == {"north", "south"}
        for region, of_group in values["groups"]["region"].items():
            assert of_group["score"] == pytest.approx(expected(rows_of(truth, split, region)), rel=1e-14)


def test_the_table_names_the_metric_and_the_worst_group(score, truth):
    output = score(
        {"prediction": truth["price"]}, "--metric", "mae", "--label", "price", "--groups", "region"
    )
    assert "Mean absolute error (MAE); best: lowest; target: price; classes: none" in output.stderr
    assert "not used: kind, stars, bought, left" in output.stderr
    assert output.stdout.splitlines()[0].split() == [
        "split",
        "column",
        "group",
        "value",
        "of",
        "rows",
        "value",
    ]
    assert "public, region: south is the worst group; gap 0.00000" in output.stdout


@pytest.mark.parametrize(
    ("prediction", "arguments", "message"),
    [
        ("1", "--metric rmsex", "Metrics: bias, accuracy, "),
        ("1", "--metric rmse", "no column is called target, label or toxicity; choose"),
        ("1", "--metric rmse --label cost", "The table has no column 'cost'"),
        ("1", "--metric rmse --label kind", "the target 'kind' is 'a', which is not a number"),
        ("1", "--metric macro_f1 --label region", "the target 'region' is blank"),
        ("1", "--metric log_loss --label price", "expected a number from 0 to 1"),
        ("-1", "--metric rmsle --label price", "'-1' is out of range; expected a number from 0 to"),
        ("x", "--metric f1 --label kind", "F1 needs exactly two classes"),
        ("d", "--metric accuracy --label kind", "expected one of 'a', 'b' and 'c'"),
        ("a", "--metric accuracy --label kind --classes a,b", "The target 'kind' contains 'c',"),
        ("1", "--metric rmse --label price --power 2", "--power: only for the metric bias"),
        ("1", "--metric mean_rmse", "The metric needs the names of its columns."),
        ("1", "--metric rmse --label price --columns a", "rmse has one column"),
        ("1", "--metric rmse --label price --reported f1", "f1 cannot be reported next to rmse."),
        ("1", "--groups region", "--groups: specify a --metric other than bias"),
    ],
)
def test_unsuitable_files_and_options_are_explained(score, prediction, arguments, message):
    failure = score({"prediction": [prediction] * ROWS}, *arguments.split(), exit_code=None)
    assert failure.exit_code in (1, 2)
    assert message in failure.output


def test_a_group_in_which_the_metric_is_undefined_is_named(run, tmp_path):
    rows = [f"{n},{n % 2 if n < 8 else 1},{'ab'[n >= 8]},0.{n}" for n in range(12)]
    for name, places in (("truth", (0, 1, 2)), ("file", (0, 3))):
        lines = [
            [each.split(",")[place] for place in places] for each in ["id,target,part,prediction", *rows]
        ]
        (tmp_path / name).write_text("\n".join(map(",".join, lines)))
    options = ("--metric", "roc_auc", "--groups", "part", "--reported", "average_precision")
    result = run("score", str(tmp_path / "truth"), str(tmp_path / "file"), *options)
    assert "Note: all, part = b: The target must be 0 in some rows and 1 in others" in result.stderr
    assert "part      a" in result.stdout


def test_predictions_for_which_the_metric_is_undefined_are_named_by_id(score):
    zeros = {name: [0.0 if row == 5 else 1.0 for row in range(ROWS)] for name in "abc"}
    result = score(zeros, "--metric", "multi_class_log_loss", "--label", "kind", exit_code=2)
    assert "A row needs at least one probability above 0. This is not so for the ids r5." in result.output


def test_the_documentation_lists_all_metrics_with_their_titles():
    text = (Path(__file__).parents[2] / "docs/scoring.md").read_text()
    options = Options(columns=("a", "b"), classes=("x", "y"))
    described = {name: metric(name, options).describe() for name in METRICS}
    assert re.findall(r"(?m)^\| `(\w+)` \| (.+) \| (highest|lowest) \|$", text) == [
        (name, each.title, each.direction) for name, each in described.items()
    ]


@pytest.mark.parametrize(
    ("kind", "region", "reason"),
    [
        ("b\0", "north", "The class 'b<U+0000>' is not usable"),
        ("b", "n" * 256, "The group 'nnn"),
        ("b", "n\0", "The group 'n<U+0000>' is not usable; expected at most 255 characters without NUL"),
        (None, "north", "The solution has 10,001 different values of a class; expected at most 10,000."),
    ],
)
def test_unusable_names_of_classes_and_groups_are_rejected(kind, region, reason):
    kinds = [kind, "a"] if kind else range(10_001)
    lines = [f"{row},{each},{region}" for row, each in enumerate(kinds)]
    with pytest.raises(FileRejected) as rejected:
        read_for_metric(
            "\n".join(["id,kind,region", *lines]).encode(),
            "accuracy",
            Options(),
            target="kind",
            groups=["region"],
        )
    assert [each.message[: len(reason)] for each in rejected.value.problems] == [reason]


def test_classes_of_a_list_are_separated_by_ascii_whitespace():
    data = "id,kind\n1,a\u00a0b c\n2,c\n".encode()
    assert read_for_metric(data, "map_at_k", Options(), target="kind").options.classes == ("a\u00a0b", "c")
