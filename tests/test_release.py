"""Releases: checks of the commit, reproducible artifacts, installations, the image."""

import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.fixtures.patience import HANG_SECONDS

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
IMAGE_MB = 300


FAULTS = runpy.run_path(str(ROOT / "deploy/release.py"))["faults"]


def run(*command, cwd=ROOT, **given):
    """Run a command without this process's settings and return its output."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FAIRBOARD_")}
    done = subprocess.run(command, cwd=cwd, env=kept | given, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A committed copy of this checkout that can be released."""
    folder = tmp_path_factory.mktemp("checkout") / "fairboard"
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0")
    for name in filter(None, listed):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    changelog = folder / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("## Unreleased", f"## {VERSION} (2026-12-01)", 1))
    run("git", "init", "--quiet", cwd=folder)
    commit(folder)
    return folder


def commit(folder):
    run("git", "add", "--all", cwd=folder)
    author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    run("git", *author, "commit", "--quiet", "--message=Change", cwd=folder)


@pytest.fixture
def checkout(released, tmp_path):
    """A copy of `released` that a test may change."""
    return Path(shutil.copytree(released, tmp_path / "fairboard"))


def test_all_reasons_not_to_release_are_listed(checkout):
    run("git", "tag", f"v{VERSION}", cwd=checkout)
    assert list(FAULTS(checkout, VERSION)) == []
    migration = "migrations/versions/0001_initial.py"
    (checkout / migration).write_text("# changed")
    (checkout / "pyproject.toml").write_text('version = "9.9.8"\n')
    run("git", "tag", "v9.9", cwd=checkout)
    commit(checkout)
    (checkout / "untracked").touch()
    assert list(FAULTS(checkout, "9.9")) == [
        "VERSION is '9.9'. Expected a version such as 1.0.0 or 1.0.0rc1.",
        "pyproject.toml has the version 9.9.8, not 9.9.",
        f"CITATION.cff has the version {VERSION}, not 9.9.",
        f"deploy/kubernetes/kustomization.yaml has the version {VERSION}, not 9.9.",
        f"deploy/kubernetes/Chart.yaml has the version {VERSION}, not 9.9.",
        "CHANGELOG.md has no section `## 9.9` with a text.",
        "These files are not committed:\n?? untracked",
        "The tag v9.9 already exists for another commit.",
        f"{migration} is part of a release and must not change. Restore it; add a new one.",
    ]


@pytest.fixture(scope="module")
def artifacts(released):
    """The folder with the release's files."""
    run(sys.executable, "deploy/release.py", VERSION, cwd=released)
    return released / "dist" / VERSION


@pytest.mark.long
def test_release_is_complete_and_reproducible(artifacts, tmp_path):
    names = [f"fairboard-{VERSION}{end}" for end in ("-py3-none-any.whl", ".cdx.json", ".tar.gz")]
    assert {path.name for path in artifacts.iterdir()} == {*names, "RELEASE_NOTES.md", "SHA256SUMS"}
    run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=artifacts)

    sums = (artifacts / "SHA256SUMS").read_text()
    again = Path(shutil.copytree(artifacts.parents[1], tmp_path / "elsewhere"))
    run(sys.executable, "deploy/release.py", VERSION, cwd=again)
    assert (again / "dist" / VERSION / "SHA256SUMS").read_text() == sums

    run("tar", "--extract", "--file", artifacts / names[2], cwd=tmp_path)
    source = tmp_path / f"fairboard-{VERSION}"
    moment = run("git", "log", "-1", "--format=%ct", cwd=again).strip()
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", cwd=source, SOURCE_DATE_EPOCH=moment)
    assert (source / "dist" / names[0]).read_bytes() == (artifacts / names[0]).read_bytes()

    locked = re.findall(r"(?m)^([a-z0-9-]+)==", (ROOT / "requirements/image.lock").read_text())
    bill = (artifacts / names[1]).read_text()
    assert set(re.findall(r'"purl": "pkg:pypi/([a-z0-9.-]+)@', bill)) >= set(locked)


def serve_until_ready(bin_folder, folder):
    """Serve a new installation on a free port, without writing bytecode, until it is ready."""
    environment = {"FAIRBOARD_DATA_DIR": str(folder), "FAIRBOARD_PORT": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FAIRBOARD_")}
    with subprocess.Popen(
        [bin_folder / "fairboard", "serve"], env=kept | environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout
            served = next(line for line in process.stdout if line.startswith("Fairboard serves"))
            address = re.findall(r"http://\S+", served)[0]
            wait = "import sys, time, urllib.request as u\n"
            wait += "while True:\n try: print(u.urlopen(sys.argv[1]).read().decode()); break\n"
            wait += " except OSError: time.sleep(0.2)"
            assert '"ready"' in run(bin_folder / "python", "-c", wait, f"{address}/readyz")
        finally:
            process.terminate()
            process.wait(HANG_SECONDS)


@pytest.mark.long
def test_image_is_small_and_serves(tmp_path):
    """Run the steps of the build stage in a folder, and measure the tree that the image contains."""
    dockerfile = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    _, build, _ = re.split(r"^FROM base.*$", dockerfile, flags=re.MULTILINE)
    source, tree = tmp_path / "source", tmp_path / "opt/fairboard"
    steps = re.findall(r"^(COPY|RUN) (.+)$", build, re.MULTILINE)
    assert [kind for kind, _ in steps].count("RUN") == 3
    source.mkdir()
    for kind, words in steps:
        if kind == "COPY":
            *paths, target = words.split()
            for path in paths:
                if (ROOT / path).is_dir():
                    ignored = shutil.ignore_patterns("__pycache__")
                    shutil.copytree(ROOT / path, source / target, ignore=ignored)
                else:
                    (source / target).mkdir(exist_ok=True)
                    shutil.copy(ROOT / path, source / target)
        elif "apt-get" not in words:
            moved = words.replace("/opt/fairboard", str(tree)).replace("/tools", str(tmp_path / "tools"))
            moved = moved.replace("/wheels", str(tmp_path / "wheels")).replace(
                "python3 -m", f"{sys.executable} -m"
            )
            run("sh", "-euc", moved, cwd=source, PIP_NO_CACHE_DIR="1")

    size = sum(path.lstat().st_size for path in tree.rglob("*") if not path.is_dir()) / 1e6
    print(f"The image contains {size:.0f} MB above its base.")
    assert size < IMAGE_MB
    installed = {path.name.rpartition("-")[0] for path in tree.glob("lib/*/site-packages/*.dist-info")}
    assert not installed & {"pip", "setuptools", "scikit_learn", "scipy"}

    before = set(tree.rglob("*"))
    serve_until_ready(tree / "bin", tmp_path / "data")
    assert set(tree.rglob("*")) == before
