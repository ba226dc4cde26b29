"""Metric, readers and local commands with the oldest supported versions of NumPy and pandas."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.fixtures.locks import install_locked

pytestmark = [pytest.mark.system, pytest.mark.long]

ROOT = Path(__file__).parents[1]
TESTED = (
    "tests/fairboard",
    "tests/files",
    "tests/test_kaggle_metric.py",
    *(f"tests/cli/test_{name}.py" for name in ("analyze", "score")),
    "tests/client/test_organizer.py",
)
VERSIONS = "import numpy, pandas; print(numpy.__version__, pandas.__version__)"


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Variables with which this Python imports the packages of `pandas-2.lock`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return kept | {"PYTHONPATH": str(install_locked("pandas-2", tmp_path_factory.mktemp("pandas-2")))}


def test_the_lower_bounds_are_the_tested_versions(environment):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["cli"]]
    bounds = {each.name: next(iter(each.specifier)).version for each in map(Requirement, lines)}
    found = subprocess.run([sys.executable, "-c", VERSIONS], env=environment, capture_output=True, text=True)
    numpy, pandas = found.stdout.split()
    assert pandas.startswith("2.")
    if sys.version_info < (3, 13):  # newer versions of Python need newer ones
        assert (numpy, pandas) == (bounds["numpy"], bounds["pandas"])


@pytest.mark.timeout(900)
def test_metric_readers_and_local_commands_pass_their_tests(environment):
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not long and not system", *TESTED]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
