"""Wheel built by `make wheel`: contents, metadata, installation."""

import json
import subprocess
import sys
import tomllib
import venv
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
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


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "webapp.documentation.build"], cwd=ROOT, check=True)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
        cwd=ROOT,
        check=True,
    )
    (built,) = folder.glob("fairboard-*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel and its required packages, but none of the extras' packages."""
    return environment(wheel, tmp_path_factory.mktemp("fresh") / "venv", extra="")


@pytest.fixture(scope="module")
def commands_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel and the packages of its extra `cli`."""
    return environment(wheel, tmp_path_factory.mktemp("cli") / "venv", extra="cli")


def environment(wheel: Path, folder: Path, *, extra: str) -> Path:
    """Create an environment with packages linked from this one, so that no network is needed."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    (site,) = folder.glob("lib/python*/site-packages")
    tops = {
        Path(str(distribution(name).locate_file(file.parts[0])))
        for name in required("fairboard", extra=extra)
        for file in distribution(name).files or []
        if file.parts[0] != ".."
    }
    for top in tops:
        (site / top.name).symlink_to(top)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "install"]
    subprocess.run([*pip, "--quiet", "--no-index", "--no-deps", wheel], check=True)
    return python


def required(name: str, *, extra: str = "") -> set[str]:
    """Return a package's dependencies for an extra, including indirect ones."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        asked = waiting.pop()
        wanted = {"extra": extra if asked == name else ""}
        for line in distribution(asked).requires or []:
            requirement = Requirement(line)
            is_wanted = requirement.marker is None or requirement.marker.evaluate(wanted)
            if is_wanted and requirement.name not in found:
                found.add(requirement.name)
                waiting.append(requirement.name)
    return found


def run(python: Path, *words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [python, "-I", *words], capture_output=True, text=True, check=False, cwd=python.parent
    )


def test_wheel_has_every_package_and_no_test(wheel: Path):
    names = ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == {
        "fairboard",
        "grader",
        "webapp",
        "migrations",
    }
    typed = {"fairboard/py.typed", "grader/py.typed"}
    fonts = {f"webapp/static/fonts/{name}" for name in ("inter.woff2", "inter-extended.woff2", "OFL.txt")}
    assert {*typed, *fonts, "webapp/templates/base.html", "grader/reports/report.css"} <= set(names)


def test_wheel_has_the_built_documentation(wheel: Path):
    folder = "webapp/documentation/site/"
    names = {name.removeprefix(folder) for name in ZipFile(wheel).namelist() if name.startswith(folder)}
    chapters = {f"{path.stem.replace('README', 'index')}.html" for path in (ROOT / "docs").glob("*.md")}
    assert chapters | {"search.json", "notebooks/from-data-to-rank.ipynb"} <= names


def test_metric_imports_only_numpy(python: Path):
    done = run(python, "-c", METRIC_ALONE)
    assert done.returncode == 0, done.stderr
    score, _, loaded = done.stdout.partition(" ")
    assert float(score) == 1
    assert loaded.strip() == "['fairboard', 'numpy']"


def test_command_without_click_shows_how_to_install_it(python: Path):
    done = run(python, python.with_name("fairboard"), "score")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("`fairboard` needs click, which is not installed. Install the wheel")
    assert "fairboard-VERSION-py3-none-any.whl[cli]" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """A solution and a submission of 40 rows."""
    rows = [(f"r{row}", row % 2, row // 2 % 2) for row in range(40)]
    lines = [f"{name},{label * 0.5 + row / 1000}" for row, (name, label, _) in enumerate(rows)]
    solution, submission = tmp_path / "solution.csv", tmp_path / "submission.csv"
    solution.write_text("\n".join(["id,target,cat", *(",".join(map(str, each)) for each in rows)]))
    submission.write_text("\n".join(["id,prediction", *lines]))
    return [solution, submission]


def test_command_of_the_wheel_scores_a_file(commands_python: Path, files: list[Path]):
    python = commands_python
    command = python.with_name("fairboard")
    done = run(python, command, "score", *files, "--json")
    assert done.returncode == 0, done.stderr
    assert '"score": 1.0' in done.stdout
    assert json.loads(done.stdout)
    assert run(python, command, "analyze", *files).returncode == 0
