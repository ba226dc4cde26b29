"""Wheel built by `make wheel`: contents, and installation with each extra."""

import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[1]
METRIC_ALONE = """
import sys
from fairboard import bias_report, count_pairs, prepare
labels, scores, groups = [1, 0, 1, 0], [0.9, 0.2, 0.8, 0.3], {"cat": [1, 1, 0, 0]}
found = bias_report(labels, scores, groups)
assert count_pairs(prepare(labels, groups), scores).overall_wins == 2 * 2 * 2
files = {name: str(getattr(module, "__file__", "")) for name, module in sys.modules.items()}
loaded = {name.partition(".")[0] for name, file in files.items() if "site-packages" in file}
print(found.score, sorted(loaded))
"""
IMPORTS_OF_COMMANDS = """
import importlib, sys
from grader.cli import main
modules = {each.module for each in main._entries.values() if each.extra == sys.argv[1]}
assert modules
for name in modules: importlib.import_module(f"grader.cli.{name}")
"""
# The modules that each extra promises, besides those of its commands.
IMPORTS = {
    "cli": "import pandas, fairboard",
    "server": "import webapp.app, grader.worker.app, grader.worker.sweeper",
    "client": "import grader.client",
    "mcp": "import mcp, grader.client",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
    subprocess.run(build, cwd=ROOT, check=True)
    (built,) = folder.glob("fairboard-*.whl")
    return Path(built)


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """A fresh environment with the wheel and NumPy, linked from this one, so that no network is needed."""
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for path in Path(np.__file__).parents[1].glob("numpy*"):
        (site / path.name).symlink_to(path)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", folder / "bin/python"]
    subprocess.run([*pip, "install", "--quiet", "--no-index", "--no-deps", wheel], check=True)
    return folder / "bin" / "python"


def run(python, *words):
    return subprocess.run([python, "-I", *words], capture_output=True, text=True, cwd=python.parent)


def test_wheel_has_every_package_the_documentation_and_no_test(wheel):
    names = set(ZipFile(wheel).namelist())
    packages = {name.partition("/")[0] for name in names if ".dist-info" not in name}
    assert packages == {"fairboard", "grader", "webapp", "migrations"}
    fonts = {f"webapp/static/fonts/{name}" for name in ("inter.woff2", "inter-extended.woff2", "OFL.txt")}
    others = {
        "fairboard/py.typed",
        "grader/py.typed",
        "webapp/templates/base.html",
        "grader/reports/report.css",
    }
    chapters = {f"{path.stem.replace('README', 'index')}.html" for path in (ROOT / "docs").glob("*.md")}
    pages = chapters | {"search.json", "notebooks/from-data-to-rank.ipynb"}
    assert fonts | others | {f"webapp/documentation/site/{name}" for name in pages} <= names


def test_metric_imports_only_numpy(python):
    done = run(python, "-c", METRIC_ALONE)
    assert (done.returncode, done.stdout) == (0, "1.0 ['fairboard', 'numpy']\n"), done.stderr


def test_command_without_click_shows_how_to_install_it(python):
    done = run(python, python.with_name("fairboard"), "score")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("`fairboard` needs click, which is not installed. Install the wheel")
    assert "fairboard-VERSION-py3-none-any.whl[cli]" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.long
@pytest.mark.parametrize("extra", IMPORTS)
def test_each_extra_is_sufficient_for_its_modules(wheel, tmp_path, extra):
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    python = tmp_path / "venv/bin/python"
    install = [Path(sys.executable).with_name("uv"), "pip", "install", "--quiet", "--python", python]
    locked = ("--constraints", ROOT / "requirements/dev.lock")
    subprocess.run([*install, *locked, f"{wheel}[{extra}]"], check=True)
    for words in (("-c", IMPORTS[extra]), ("-c", IMPORTS_OF_COMMANDS, extra)):
        done = run(python, *words)
        assert done.returncode == 0, done.stderr
