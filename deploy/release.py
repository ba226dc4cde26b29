"""Artifacts of a release: wheel, source distribution, SBOM, checksums and release notes in dist/VERSION.

    make release VERSION=1.0.0

All timestamps are the time of the commit, so a commit always results in the same files.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

MIGRATIONS = "migrations/versions"
VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")


def main(root: Path, version: str) -> None:
    """Check the checkout, then build the artifacts; exit with all problems if there are any."""
    if problems := list(faults(root, version)):
        sys.exit("\n".join(problems))
    folder = root / "dist" / version
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    build(root, version, folder)
    (folder / "RELEASE_NOTES.md").write_text(f"{notes(root, version)}\n")
    sums = [f"{sha256(path)}  {path.name}\n" for path in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("".join(sums))
    sys.stdout.write("".join(f"{path.relative_to(root)}\n" for path in sorted(folder.iterdir())))


def faults(root: Path, version: str) -> Iterator[str]:
    """Yield a sentence for each reason not to release the checkout as this version."""
    if not VERSION.fullmatch(version):
        yield f"VERSION is {version!r}. Expected a version such as 1.0.0 or 1.0.0rc1."
    for name, pattern in (
        ("pyproject.toml", r'^version = "(.+)"$'),
        ("CITATION.cff", r"^version: (.+)$"),
        ("deploy/kubernetes/kustomization.yaml", r"^    newTag: (.+)$"),
        ("deploy/kubernetes/Chart.yaml", r"^appVersion: (.+)$"),
    ):
        found = re.findall(pattern, (root / name).read_text(), re.MULTILINE)
        if found != [version]:
            yield f"{name} has the version {' '.join(found)}, not {version}."
    if not notes(root, version):
        yield f"CHANGELOG.md has no section `## {version}` with a text."
    if changed := git(root, "status", "--porcelain"):
        yield f"These files are not committed:\n{changed}"
    tagged = git(root, "tag", "--list", f"v{version}", "--format", "%(objectname) %(*objectname)").split()
    if tagged and tagged[-1] != git(root, "rev-parse", "HEAD"):
        yield f"The tag v{version} already exists for another commit."
    yield from changed_migrations(root)


def notes(root: Path, version: str) -> str:
    """Return the changelog's section of a version, without its heading."""
    sections = re.split(r"^## (.+)$", (root / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    found = [
        text for title, text in zip(sections[::2], sections[1::2], strict=True) if title.split()[0] == version
    ]
    return "".join(found).strip()


def changed_migrations(root: Path) -> Iterator[str]:
    """Yield a sentence for each migration of an earlier release that was changed or deleted."""
    changed = {
        name
        for tag in git(root, "tag", "--list", "v*").split()
        for name in git(
            root, "diff", "--name-only", "--no-renames", "--diff-filter=MD", tag, "--", MIGRATIONS
        ).split()
    }
    for name in sorted(changed):
        yield f"{name} is part of a release and must not change. Restore it; add a new one."


def build(root: Path, version: str, folder: Path) -> None:
    """Write the documentation, the wheel, the source distribution and the SBOM of the image's packages."""
    (root / "grader/build.txt").write_text(git(root, "rev-parse", "--short=12", "HEAD") + "\n")
    environment = {**os.environ, "SOURCE_DATE_EPOCH": git(root, "log", "-1", "--format=%ct")}
    bill = folder / f"fairboard-{version}.cdx.json"
    options = ("--pyproject", "pyproject.toml", "--output-reproducible", "--output-file", bill)
    for command in (
        ("webapp.documentation.build",),
        ("hatchling", "build", "--directory", folder, "--target", "sdist", "--target", "wheel"),
        ("cyclonedx_py", "requirements", "requirements/image.lock", *options),
    ):
        # cyclonedx-py warns that a requirements file contains no dependency graph.
        subprocess.run(
            [sys.executable, "-W", "ignore", "-m", *command], cwd=root, env=environment, check=True
        )


def git(root: Path, *words: str) -> str:
    """Return the output of a git command."""
    return subprocess.run(
        ["git", *words], cwd=root, capture_output=True, text=True, check=True
    ).stdout.strip()


def sha256(path: Path) -> str:
    """Return the hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main(Path(__file__).parents[1], sys.argv[1] if len(sys.argv) > 1 else "")
