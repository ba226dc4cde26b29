"""Installer of hash-locked requirements, with progress and the estimated time left.

    python requirements/install.py .venv --stamp .runnable app.lock build.lock

The Makefile runs this with the system's Python, so it must not import other packages. The stamp records which
packages the environment contains. It is absent during an installation, so that an interrupted installation
starts again in an empty folder.
"""

import argparse
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).parents[1]
STAMPS = (".runnable", ".complete")
# Modules are compiled when they are first used; most never are.
PIP = (
    *("-m", "pip", "--disable-pip-version-check", "--no-input", "--no-color"),
    *("install", "--no-deps", "--no-compile"),
)
LAST_LINES = 30
# Initial estimate, measured on two shared cores. It is corrected by the speed of the current installation.
SECONDS_PER_PACKAGE = 0.5
SHARE_BEFORE, SHARE_FETCHED = 0.1, 0.3  # shares of the time for creating the folder and for downloads
TRUST = 0.2  # weight of the initial estimate, as a share of the work
SECONDS_BETWEEN_LINES = 5.0
TICK_SECONDS = 0.2


class Installation:
    """Counts of the required, downloaded and installed packages of several lock files."""

    def __init__(self, environment: Path, locks: list[Path]) -> None:
        pins = [
            pin for lock in locks for pin in re.findall(r"(?m)^([a-z0-9-]+)==([^\s;\\]+)", lock.read_text())
        ]
        self._environment = environment
        self._pins = set(pins)
        self._entries = Counter(name for name, _ in pins)
        self._fetched: set[str] = set()

    @property
    def total(self) -> int:
        """The number of packages that this machine needs, as far as it is known."""
        return sum(count > 0 for count in self._entries.values())

    @property
    def fetched(self) -> int:
        """The number of downloaded packages, including installed ones."""
        return min(len(self._fetched), self.total)

    @property
    def installed(self) -> int:
        """The number of completely installed packages."""
        records = self._environment.glob("lib/python*/site-packages/*.dist-info/RECORD")
        found = (record.parent.name.removesuffix(".dist-info").rpartition("-") for record in records)
        return len(
            {(re.sub(r"[-_.]+", "-", name).lower(), version) for name, _, version in found} & self._pins
        )

    @property
    def share(self) -> float:
        """The completed share of the work."""
        fetched, installed = self.fetched / self.total, self.installed / self.total
        return SHARE_BEFORE + SHARE_FETCHED * fetched + (1 - SHARE_BEFORE - SHARE_FETCHED) * installed

    def note(self, line: str) -> None:
        """Update the counts from a line of pip's output."""
        if ignored := re.match(r"Ignoring ([\w.-]+): markers", line):
            self._entries[ignored[1]] -= 1
        elif re.match(r"(Collecting|Processing|Requirement already satisfied:) ", line):
            self._fetched.add(line)


class Line:
    """Progress display: a single line in a terminal, otherwise a new line every few seconds."""

    def __init__(self, output: TextIO) -> None:
        self._output = output
        self._is_terminal = output.isatty()
        self._shown_at = -SECONDS_BETWEEN_LINES

    def show(self, text: str, *, at: float, is_last: bool = False) -> None:
        """Show a text, `at` seconds after the start."""
        if self._is_terminal:
            self._output.write(f"\r\x1b[K{text}" + ("\n" if is_last else ""))
        elif is_last or at - self._shown_at >= SECONDS_BETWEEN_LINES:
            self._output.write(f"{text}\n")
            self._shown_at = at
        self._output.flush()


def seconds_left(elapsed: float, share: float, first_guess: float) -> float:
    """Return the estimated remaining time, which relies on `first_guess` less and less."""
    return max(1.0, (elapsed + TRUST * first_guess) / (share + TRUST) - elapsed)


def in_words(seconds: float) -> str:
    """Return a rounded remaining time in words."""
    if seconds < 90:
        return f"about {5 * max(1, round(seconds / 5))} s left"
    return f"about {round(seconds / 60)} minutes left"


def main() -> None:
    """Install the locks given on the command line, and create the stamp."""
    parser = argparse.ArgumentParser(description="Create an environment from hash-locked requirements.")
    parser.add_argument("environment", type=Path)
    parser.add_argument("locks", nargs="+", help="lock files in the folder of this script")
    parser.add_argument("--stamp", required=True, choices=STAMPS)
    chosen = parser.parse_args()
    locks = [Path(__file__).with_name(name) for name in chosen.locks]
    install(chosen.environment, locks, chosen.stamp)


def install(environment: Path, locks: list[Path], stamp: str) -> None:
    """Install locks and the checkout itself; exit on failure."""
    begun = time.monotonic()
    packages, line = Installation(environment, locks), Line(sys.stderr)
    first_guess = packages.total * SECONDS_PER_PACKAGE
    line.show(f"Creating {environment}: {packages.total} packages, {in_words(first_guess)}", at=0)
    was_whole = [each for each in STAMPS if (environment / each).exists()]
    for each in was_whole:
        (environment / each).unlink()
    run([sys.executable, "-m", "venv", *([] if was_whole else ["--clear"]), str(environment)])

    def tell(*, is_last: bool = False) -> None:
        at = time.monotonic() - begun
        is_fetching = packages.fetched < packages.total
        what, count = ("downloaded", packages.fetched) if is_fetching else ("installed", packages.installed)
        left = "" if is_last else f", {in_words(seconds_left(at, packages.share, first_guess))}"
        line.show(
            f"Creating {environment}: {what} {count} of {packages.total} packages{left}",
            at=at,
            is_last=is_last,
        )

    python = str(environment / "bin/python")
    named = [word for lock in locks for word in ("-r", str(lock))]
    run([python, *PIP, "--progress-bar", "off", "--require-hashes", *named], packages, tell)
    tell(is_last=True)
    run([python, *PIP, "--no-build-isolation", "--editable", str(ROOT)])
    (environment / stamp).touch()
    size = sum(path.lstat().st_size for path in environment.rglob("*") if not path.is_dir())
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    sys.stderr.write(
        f"Created {environment}: {size / 1e6:.0f} MB in {time.monotonic() - begun:.0f} s, "
        f"{used.ru_utime + used.ru_stime:.0f} s of CPU time.\n"
    )


def run(
    command: list[str], packages: Installation | None = None, tell: Callable[[], None] = lambda: None
) -> None:
    """Run a command and report its progress; on failure, print its last output and exit."""
    said: deque[str] = deque(maxlen=LAST_LINES)
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:

        def listen() -> None:
            for line in process.stdout or ():
                said.append(line)
                if packages is not None:
                    packages.note(line)

        listener = threading.Thread(target=listen)
        listener.start()
        try:
            while listener.is_alive():
                tell()
                listener.join(TICK_SECONDS)
        except KeyboardInterrupt:
            process.terminate()
            raise
    if process.returncode:
        sys.exit(f"\n{''.join(said)}`{' '.join(command[:4])} …` failed with exit code {process.returncode}.")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. Run `make` to restart the installation.")
