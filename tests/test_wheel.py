"""Wheel built by `make wheel`: contents, metadata, installation."""

import json
import re
import subprocess
import sys
import tomllib
import venv
from email import message_from_string
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from ruamel.yaml import YAML
from trove_classifiers import classifiers as known_classifiers

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
METRIC_ALONE = """
import sys
from {package} import bias_report, count_pairs, prepare
labels, scores, groups = [1, 0, 1, 0], [0.9, 0.2, 0.8, 0.3], {{"cat": [1, 1, 0, 0]}}
found = bias_report(labels, scores, groups)
assert count_pairs(prepare(labels, groups), scores).overall_wins == 2 * 2 * 2
files = {{name: str(getattr(module, "__file__", "")) for name, module in sys.modules.items()}}
loaded = {{name.partition(".")[0] for name, file in files.items() if "site-packages" in file}}
print(found.score, sorted(loaded))
"""
FILES_ALONE = """
import sys
from pathlib import Path
from fairboard import bias_bootstrap
from grader.files import read_solution, read_submission
solution = read_solution(Path(sys.argv[1]))
predictions = read_submission(Path(sys.argv[2]), solution.row_ids).predictions
found = bias_bootstrap(solution.labels, predictions, solution.identities, samples=50)
print(found.by_group["cat"]["subgroup_auc"].value)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built with the locked packages as by the Makefile's target."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "webapp.documentation.build"], cwd=ROOT, check=True)
    recipe = subprocess.run(
        ["make", "--dry-run", "wheel", f"DIST={folder}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    (command,) = [line for line in recipe.stdout.splitlines() if " pip wheel " in line]
    words = command.split()
    assert words[0].endswith("/python")
    subprocess.run([sys.executable, *words[1:]], cwd=ROOT, check=True)
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


@pytest.fixture(scope="module")
def clients_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel and the packages of its extra `client`."""
    return environment(wheel, tmp_path_factory.mktemp("client") / "venv", extra="client")


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
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--python",
        python,
        "install",
        "--quiet",
    ]
    subprocess.run([*pip, "--no-index", "--no-deps", wheel], check=True)
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


@pytest.mark.parametrize("package", ["fairboard"])
def test_metric_imports_only_numpy(python: Path, package: str):
    done = run(python, "-c", METRIC_ALONE.format(package=package))
    assert done.returncode == 0, done.stderr
    score, _, loaded = done.stdout.partition(" ")
    assert float(score) == 1
    assert loaded.strip() == str(sorted({"grader", "numpy", package.partition(".")[0]}))


@pytest.mark.long
def test_files_are_read_and_intervals_computed_with_numpy_only(python: Path, files: list[Path]):
    done = run(python, "-c", FILES_ALONE, *files)
    assert done.returncode == 0, done.stderr
    assert 0.5 < float(done.stdout) < 1


def test_command_without_click_shows_how_to_install_it(python: Path):
    done = run(python, python.with_name("fairboard"), "score")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("`fairboard` needs click, which is not installed. Install the wheel")
    assert "fairboard-VERSION-py3-none-any.whl[cli]" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.long
def test_type_checker_finds_the_types_of_the_wheel(python: Path, tmp_path: Path):
    (tmp_path / "script.py").write_text(
        "from fairboard import bias_report\nreveal_type(bias_report([1, 0], [0.9, 0.1], {}).score)\n"
    )
    command = [sys.executable, "-m", "mypy", "--python-executable", python, "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert 'Revealed type is "float | None"' in done.stdout


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


def test_server_command_shows_how_to_install_the_server(commands_python: Path):
    done = run(commands_python, commands_python.with_name("fairboard"), "serve")
    assert done.returncode == 1
    assert re.search(r"`serve` needs \w+, which is not installed", done.stderr)
    assert "fairboard-VERSION-py3-none-any.whl[server]" in done.stderr


def test_http_command_shows_how_to_install_the_client(commands_python: Path):
    done = run(commands_python, commands_python.with_name("fairboard"), "submissions")
    assert done.returncode == 1
    assert "`submissions` needs httpx, which is not installed" in done.stderr
    assert "fairboard-VERSION-py3-none-any.whl[client]" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_wheel_submits_a_file_without_server_packages(
    clients_python: Path, service, live_site, predictions_csv, tmp_path: Path, monkeypatch
):
    service.competition()
    (tmp_path / "p.csv").write_bytes(predictions_csv())
    monkeypatch.setenv("FAIRBOARD_TOKEN", live_site.make_token())
    command = clients_python.with_name("fairboard")
    done = run(clients_python, command, "submit", tmp_path / "p.csv", "--site", live_site.address)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Submission #1: score 0.")
    code = (
        "import sys; from grader.client import Client; "
        "print(list(Client(sys.argv[1]).leaderboard('toxicity').to_frame()))"
    )
    table = run(clients_python, "-c", code, live_site.address)
    assert "bpsn_auc" in table.stdout, table.stderr
    assert "whl[server]" in run(clients_python, command, "user", "list").stderr
    listed = run(clients_python, command, "competition", "list", "--site", live_site.address)
    assert listed.stdout.startswith("toxicity\topen\t"), listed.stderr


def test_classifiers_are_known_and_name_the_supported_pythons(wheel: Path):
    given = PROJECT["classifiers"]
    assert set(given) <= known_classifiers
    assert given == sorted(given)
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(given))
    assert named == ["3.11", "3.12", "3.13", "3.14"]
    assert all(version in SpecifierSet(PROJECT["requires-python"]) for version in named)
    (metadata,) = [name for name in ZipFile(wheel).namelist() if name.endswith(".dist-info/METADATA")]
    told = message_from_string(ZipFile(wheel).read(metadata).decode())
    assert told.get_all("Classifier") == given
    assert told["License-Expression"] == "Apache-2.0"


def test_citation_is_valid_and_has_this_version():
    check = Path(sys.executable).with_name("check-jsonschema")
    subprocess.run(
        [check, "--builtin-schema", "vendor.citation-file-format", ROOT / "CITATION.cff"], check=True
    )
    citation = YAML(typ="safe").load((ROOT / "CITATION.cff").read_text())
    assert (citation["title"].lower(), citation["version"], citation["license"]) == (
        PROJECT["name"],
        PROJECT["version"],
        PROJECT["license"],
    )


def test_no_document_claims_that_an_index_has_fairboard():
    folders = ("docs", "fairboard", "grader", "webapp")
    files = [ROOT / "README.md", *(file for folder in folders for file in (ROOT / folder).rglob("*.*"))]
    texts = {file: file.read_text() for file in files if file.suffix in {".md", ".py", ".html", ".js"}}
    assert len(texts) > 300
    from_an_index = re.compile(r"pip install '?fairboard(?:'|\[|\s|$)", re.MULTILINE)
    assert [file for file, text in texts.items() if from_an_index.search(text)] == []
