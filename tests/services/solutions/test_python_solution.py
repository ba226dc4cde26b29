"""Solutions of metrics written in Python: types as from `read_csv`, the setup check on the platform."""

import io

import numpy as np
import pandas as pd
import pytest

from grader.metrics.python_metric import PythonSettings
from grader.metrics.python_table import PythonTable, settings_of
from grader.sandbox import layers
from grader.services.competitions.metric import NamedMetric
from grader.services.solutions import python_solution
from grader.services.solutions.python_solution import python_checked
from grader.services.solutions.truth import Truth
from tests.fixtures.python_metrics import LOOP, MEAN

pytestmark = pytest.mark.skipif(bool(layers().refusal), reason=str(layers().refusal))
HEAD = "id,target,share,name,empty,Usage"
ROWS = [
    f"{row},{row % 3},{'' if row == 5 else row / 7},{'NA' if row == 6 else f'n{row % 2}'},,"
    f"{'Public' if row % 2 else 'Private'}"
    for row in range(1, 41)
]
DATA = "\n".join([HEAD, *ROWS, ""]).encode()
SAMPLE = "\n".join(["id,prediction", *(f"{row},0.5" for row in range(40, 0, -1)), ""]).encode()
SEVERAL = """
def score(solution, submission, row_id_column_name):
    error = solution["target"] - submission["prediction"]
    return {"rmse": (error**2).mean() ** 0.5, "mae": error.abs().mean()}
"""


def checked(source, sample=SAMPLE):
    table = PythonTable.read(DATA)
    read = None if sample is None else PythonTable.read(sample)
    settings = settings_of(table, read, PythonSettings())
    truth = Truth.of(table.solution(), table.table.usage)
    metric = NamedMetric(name="python", source="0" * 64, python=settings.as_dict())
    assert truth.as_written()["name"] == [row.split(",")[3] for row in ROWS]
    checked, report, problems = python_checked(table.table.row_ids, truth, read, source.encode(), metric)
    return PythonSettings.from_dict(checked.python), report, problems


def test_columns_have_the_types_that_read_csv_infers():
    table = PythonTable.read(DATA)
    expected = pd.read_csv(io.BytesIO(DATA))
    assert list(table.columns) == ["target", "share", "name", "empty"]
    for name in ("target", "share", "empty"):
        assert table.columns[name].dtype == expected[name].dtype
        np.testing.assert_array_equal(table.columns[name], expected[name])
    assert table.columns["name"].tolist() == [row.split(",")[3] for row in ROWS]
    assert table.id == "id" and table.table.usage is not None


def test_check_completes_the_settings_of_several_values():
    settings, report, problems = checked(SEVERAL)
    assert problems == []
    assert (settings.terms, settings.whole) == (("score", "mae"), {"id", "target"})
    assert [each.name for each in settings.predictions] == ["prediction"]
    assert report["scores"]["sample"] > 0
    assert report["sandbox"] == str(layers())


def test_check_without_a_sample_predicts_the_columns_of_the_solution():
    exact = (
        "def grade(submission, answers):\n    return float((submission['name'] == answers['name']).mean())\n"
    )
    settings, report, problems = checked(exact, sample=None)
    assert problems == [] and settings.checks_files
    assert {each.name: each.kind.value for each in settings.predictions}["name"] == "text"
    assert report["scores"]["perfect"] > report["scores"]["shuffled"]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import random\ndef grade(submission, answers):\n    return random.random()\n", "random numbers"),
        (
            "def grade(submission, answers):\n    return 1 / (len(answers) - 20)\n",
            "public rows, the metric raises",
        ),
        (MEAN, "With the sample submission"),
    ],
)
def test_check_reports_what_makes_a_metric_unusable(source, words):
    if source is MEAN:
        source = MEAN.replace('["target"]', '["label"]')
    assert any(words in each for each in checked(source)[2])


def test_check_of_an_endless_loop_ends(monkeypatch):
    monkeypatch.setattr(python_solution, "CHECK_SECONDS", 1)
    assert checked(LOOP)[2] == ["With the sample submission, the metric takes too long.\n"]


def test_check_names_missing_ids_of_the_sample():
    assert checked(MEAN, SAMPLE.replace(b"\n7,", b"\n70,"))[2] == [
        "Ids of the solution that are not in the sample submission: 1."
    ]


@pytest.mark.parametrize(
    ("ids", "are_integers"), [(("7", "0"), True), (("7", "07"), False), (("7", "+8"), False)]
)
def test_ids_are_integers_only_if_all_are_canonical(ids, are_integers):
    table = PythonTable.read("\n".join(["id,target", *(f"{each},1" for each in ids)]).encode())
    assert ("id" in settings_of(table, None, PythonSettings()).whole) is are_integers
