"""The setup check of metrics, and `fairboard metric check`."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from grader.cli import main
from grader.metrics import python_check
from grader.metrics.python_check import check_files
from grader.sandbox import SandboxClient

Sandboxes = tuple[SandboxClient, SandboxClient]
HEAD = "import random, time\nimport numpy as np\n"
SIGNATURE = "def score(solution, submission, row_id_column_name, weight=1.0):\n"
MAE = "value = float((solution['target'] - submission['prediction']).abs().mean())\n    "


def check(folder, sandboxes, body, *, whole=None, lowest=True):
    """Check a metric; `body` follows the mean absolute error in `value`."""
    rng = np.random.default_rng(2)
    ids = rng.permutation(50)
    solution = [f"row_{each},{rng.normal():.3f},{('Public', 'Private', 'Ignored')[each % 3]}" for each in ids]
    sample = [f"row_{each},{each / 10}" for each in rng.permutation(50)]
    (folder / "solution.csv").write_text("\n".join(["id,target,Usage", *solution]))
    (folder / "sample.csv").write_text("\n".join(["id,prediction", *sample]))
    (folder / "metric.py").write_text(whole or f"{HEAD}{SIGNATURE}    {MAE}{body}\n")
    return check_files(
        (folder / "metric.py").read_bytes(),
        folder / "solution.csv",
        folder / "sample.csv",
        lowest=lowest,
        sandboxes=sandboxes,
    )


@pytest.mark.parametrize("largest", [None, 1e9])
def test_good_metric_passes_even_if_it_rejects_some_files(tmp_path, sandboxes, largest):
    rejection = "raise type('ParticipantVisibleError', (Exception,), {})('Too large')"
    condition = f"if submission['prediction'].abs().max() > {largest}: {rejection}\n    " if largest else ""
    result = check(tmp_path, sandboxes, f"{condition}return value")
    assert result.problems == result.warnings == []
    assert result.checks_files
    names = {"sample", "perfect", "shuffled", "constant", "extreme"}
    assert set(result.scores) == (names - {"extreme"} if largest else names)
    assert result.scores["perfect"] == 0
    assert 0 < result.seconds < 10
    assert json.loads(json.dumps(result.as_dict()))["terms"] == ["score"]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("return value + np.random.rand() + random.random()", "random numbers"),
        ("return value + np.random.default_rng().random()", "raises an error"),
        ("return value + time.time() % 1", "time"),
        ("return value + id(solution) % 1e6", r"id\(\)"),
        ("return value + hash('a') % 100", "order of a set"),
        ("return value + ''.join({'a', 'b', 'c', 'd', 'e', 'f'}).index('a')", "order of a set"),
        ("return -value", "better than perfect"),
        ("return value * np.nan", r"not a finite number\.\s*$"),
        ("return [value]", r"not return a number\.\nThe result must be a number"),
        ("return open('/etc/passwd')", "Operation not permitted"),
        ("import torch\n    return value", "package 'torch' is not available"),
    ],
)
def test_irreproducible_or_wrong_metric_is_a_problem(tmp_path, sandboxes, body, problem):
    result = check(tmp_path, sandboxes, body)
    assert any(re.search(problem, each) for each in result.problems), result


FIRST, PREDICTIONS = "float(solution['target'].iloc[0])", "submission['prediction']"


@pytest.mark.parametrize(
    ("body", "warning"),
    [
        (f"return value + float({PREDICTIONS}.iloc[0]) - {FIRST}", "order of the rows"),
        (f"return value if {FIRST} in KNOWN else None", "generated labels"),
        (f"return np.nan if {PREDICTIONS}.nunique() == 1 and {FIRST} in KNOWN else value", "constant"),
        (f"return np.nan if {PREDICTIONS}.abs().max() > 1e9 and {FIRST} in KNOWN else value", "extreme"),
    ],
)
def test_possible_mistake_is_a_warning(tmp_path, sandboxes, body, warning):
    if "KNOWN" in body:
        rng, labels = np.random.default_rng(2), []
        rng.permutation(50)
        labels = [round(float(rng.normal()), 3) for _ in range(50)]
        body = body.replace("KNOWN", str(labels))
    result = check(tmp_path, sandboxes, body)
    assert any(warning in each for each in result.warnings), result


@pytest.mark.parametrize(
    ("body", "warning"),
    [
        ("return float(np.log10(value)) if value else -np.inf", "is not a finite number"),
        (
            f"if {PREDICTIONS}.min() < 0:\n        raise ValueError('votes')\n    return value",
            "raises an error",
        ),
    ],
)
def test_true_values_that_are_no_valid_predictions_are_a_warning(tmp_path, sandboxes, body, warning):
    result = check(
        tmp_path, sandboxes, f"from tqdm.auto import tqdm\n    assert list(tqdm([1])) == [1]\n    {body}"
    )
    assert result.problems == []
    assert [each for each in result.warnings if "perfect predictions" in each and warning in each]
    assert {"sample", "shuffled"} <= set(result.scores)


def test_names_of_a_dictionary_are_determined(tmp_path, sandboxes):
    source = (
        "def grade(submission, answers):\n    e = submission['prediction'] - answers['target']\n"
        "    return {'mae': e.abs().mean(), 'mse': (e * e).mean()}\n"
    )
    result = check(tmp_path, sandboxes, "", whole=source)
    assert result.problems == []
    assert result.settings.terms == ("score", "mse")
    wrong = source.replace("'mse'", "'Mean squared error'")
    assert "does not return a number" in check(tmp_path, sandboxes, "", whole=wrong).problems[0]


def test_example_of_the_documentation_works_on_the_first_try(tmp_path, sandboxes):
    chapter = (Path(__file__).parents[2] / "docs" / "write-a-metric.md").read_text()
    metric, several = re.findall(r"^```python\n(.*?)^```", chapter, re.MULTILINE | re.DOTALL)
    solution, sample = re.findall(r"^```csv\n(.*?)^```", chapter, re.MULTILINE | re.DOTALL)
    (tmp_path / "solution.csv").write_text(solution)
    (tmp_path / "sample.csv").write_text(sample)
    files = tmp_path / "solution.csv", tmp_path / "sample.csv"
    result = check_files(metric.encode(), *files, lowest=True, arguments={"extra": 1.5}, sandboxes=sandboxes)
    assert result.problems == result.warnings == []
    assert result.checks_files
    result = check_files(several.encode(), *files, lowest=True, sandboxes=sandboxes)
    assert result.problems == result.warnings == []
    assert result.settings.terms == ("score", "mae")


def test_command_prints_what_the_setup_shows(tmp_path, sandboxes, monkeypatch):
    check(tmp_path, sandboxes, "return value * weight")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(python_check, "SandboxClient", lambda hash_seed=0: sandboxes[hash_seed])
    monkeypatch.setattr(SandboxClient, "close", lambda _: None)
    files = ["metric.py", "solution.csv", "sample.csv"]
    passed = CliRunner().invoke(main, ["metric", "check", *files, "--lowest", "--argument", "weight=2"])
    assert passed.exit_code == 0, passed.output
    assert "The metric works." in passed.output
    refused = CliRunner().invoke(main, ["metric", "check", *files, "--json"])
    assert refused.exit_code == 2
    assert "Check the direction" in json.loads(refused.stdout)["problems"][0]
    header, first, *_ = Path("solution.csv").read_text().splitlines()
    for name, text, exit_code, message in (
        ("sample.csv", "id,prediction\nrow_0,1\n", 1, "Ids of the solution that are not in the sample"),
        ("sample.csv", "key,prediction\nrow_0,1\n", 2, "The submission is rejected:"),
        ("solution.csv", f"{header}\n{first},7\n", 2, "The solution is rejected:\n- Line 2"),
        ("metric.py", "def score(x", 2, "metric.py cannot be used. Line 1: '(' was"),
    ):
        before = Path(name).read_text()
        Path(name).write_text(text)
        failed = CliRunner().invoke(main, ["metric", "check", *files])
        assert (failed.exit_code, message in failed.output) == (exit_code, True), failed.output
        Path(name).write_text(before)
