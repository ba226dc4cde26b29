"""Offline check that the lock files are complete and satisfy pyproject.toml.

Newer upstream releases are not reported. `make lint` also runs `uv pip check`, which checks the requirements
of the locked packages themselves.
"""

import re
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LOCKS = {
    "build.lock": ("build",),
    "app.lock": ("server",),
    "image.lock": ("server",),
    "dev.lock": ("server", "client", "dev"),
}


def faults(root: Path) -> list[str]:
    """Return a sentence for each problem with the lock files below `root`."""
    project = tomllib.loads((root / "pyproject.toml").read_text())
    found = []
    for name, extras in LOCKS.items():
        text = (root / "requirements" / name).read_text()
        locked = _locked(text)
        if "://" in text:
            found.append(f"{name} contains a URL (://). Run `make lock`.")
        found += [f"{name}: {package} has no hash. Run `make lock`." for package in _unhashed(text)]
        found += [
            f"{name} does not satisfy {requirement}, which pyproject.toml requires. Run `make lock`."
            for requirement in _required(project, extras)
            if not _satisfied(requirement, locked.get(canonicalize_name(requirement.name)))
        ]
    return found + _disagreements(root)


def _required(project: dict, extras: tuple[str, ...]) -> list[Requirement]:
    if extras == ("build",):
        lines = project["build-system"]["requires"]
    else:
        optional = project["project"]["optional-dependencies"]
        lines = project["project"]["dependencies"] + [line for extra in extras for line in optional[extra]]
    found = [Requirement(line) for line in lines]
    own = [each for each in found if each.name == project["project"]["name"]]  # such as fairboard[server]
    others = [each for each in found if each not in own]
    return others + [line for each in own for line in _required(project, tuple(sorted(each.extras)))]


def _satisfied(requirement: Requirement, version: str | None) -> bool:
    return version is not None and requirement.specifier.contains(version)


def _locked(text: str) -> dict[str, str]:
    """Return the pinned version of each package."""
    return dict(re.findall(r"^([a-z0-9-]+)==([^\s;\\]+)", text, re.MULTILINE))


def _unhashed(text: str) -> list[str]:
    entries = re.split(r"^(?=[a-z0-9-]+==)", text, flags=re.MULTILINE)[1:]
    return [entry.split("==")[0] for entry in entries if "--hash=sha256:" not in entry]


def _disagreements(root: Path) -> list[str]:
    """Return differences between the lock files: dev.lock must have the versions of all others."""
    texts = {name: (root / "requirements" / name).read_text() for name in LOCKS}
    tested = _locked(texts["dev.lock"])
    return [
        f"{name} has {package} {version}, but dev.lock has {tested.get(package)}. Run `make lock`."
        for name, text in texts.items()
        for package, version in _locked(text).items()
        if tested.get(package) != version
    ]


if __name__ == "__main__":
    sys.exit("\n".join(faults(Path(__file__).parents[1])) or 0)
