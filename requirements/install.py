"""Installer of hash-locked requirements and of the checkout itself.

    python requirements/install.py .venv --stamp .runnable app.lock build.lock

The Makefile runs this with the system's Python, so it must not import other packages. The stamp records which
packages the environment contains. It is absent during an installation, so that an interrupted installation
starts again in an empty folder.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
STAMPS = (".runnable", ".complete")
# Only the modules that the site imports are compiled, afterwards; most never are used.
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--no-deps", "--no-compile")
# uv does not read pip's configuration, so pip itself installs from mirrors and folders.
PIP_SOURCES = ("index-url", "no-index")


def main() -> None:
    """Install the locks given on the command line and the checkout, and create the stamp."""
    parser = argparse.ArgumentParser(description="Create an environment from hash-locked requirements.")
    parser.add_argument("environment", type=Path)
    parser.add_argument("locks", nargs="+", help="lock files in the folder of this script")
    parser.add_argument("--stamp", required=True, choices=STAMPS)
    options = parser.parse_args()
    environment: Path = options.environment
    locks = [Path(__file__).with_name(name) for name in options.locks]
    packages = {name for lock in locks for name in re.findall(r"(?m)^([a-z0-9-]+)==", lock.read_text())}
    begun = time.monotonic()
    sys.stderr.write(f"Creating {environment} with {len(packages)} packages. This can take two minutes.\n")
    is_complete = any((environment / stamp).exists() for stamp in STAMPS)
    for stamp in STAMPS:
        (environment / stamp).unlink(missing_ok=True)
    run([sys.executable, "-m", "venv", *([] if is_complete else ["--clear"]), str(environment)])
    install(str(environment / "bin/python"), locks)
    (environment / options.stamp).touch()
    size = sum(path.lstat().st_size for path in environment.rglob("*") if not path.is_dir())
    sys.stderr.write(f"Created {environment}: {size / 1e6:.0f} MB in {time.monotonic() - begun:.0f} s.\n")


def install(python: str, locks: list[Path]) -> None:
    """Install the locks with the uv that they pin, or with pip, and then the checkout."""
    requirements = [word for lock in locks for word in ("--requirement", str(lock))]
    pins = [
        pin for lock in locks for pin in re.findall(r"(?m)^uv==[^\\\n]*(?:\\\n[^\\\n]*)*", lock.read_text())
    ]
    settings = subprocess.run(
        [python, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    is_installed = False
    if pins and not any(f".{source}=" in settings for source in PIP_SOURCES):
        bootstrap = Path(python).with_name("uv.txt")
        bootstrap.write_text(pins[0])
        run([python, *PIP, "--quiet", "--require-hashes", "--requirement", str(bootstrap)])
        uv = [str(Path(python).with_name("uv")), "pip", "install", "--python", python, "--quiet", "--no-deps"]
        is_installed = subprocess.run([*uv, "--require-hashes", *requirements]).returncode == 0
    if not is_installed:
        run([python, *PIP, "--progress-bar", "off", "--require-hashes", *requirements])
    run([python, *PIP, "--quiet", "--no-build-isolation", "--editable", str(ROOT)])
    run([python, str(Path(__file__).with_name("precompile.py"))])


def run(command: list[str]) -> None:
    """Run a command; exit with its code if it fails."""
    completed = subprocess.run(command, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    if completed.returncode:
        sys.exit(f"\n`{' '.join(command[:4])} …` failed with exit code {completed.returncode}.")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. Run `make` to restart the installation.")
