"""Prove that tests notice 200 deliberate faults: `python -m tests.faults200 [--only ID …] [--files PATH …]`.

Each fault of faults200.toml is applied to a copy of the checkout. Its recorded killers run first, then the
tests of the package of the faulty file. A fault that no test notices within ten minutes survives. The
first killer of each fault is stored in the list. Faults whose snippet does not occur exactly once are errors.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_suffix(".toml")
SECONDS = 600
FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/[^\s:]+\.py(?:::\w+)*)", re.MULTILINE)
OPTIONS = (
    *("-q", "-rfE", "--tb", "short", "-n", "0", "-p", "no:randomly", "-p", "no:cacheprovider"),
    *("--timeout", "120", "-m", "not long"),
)
WITHOUT_PLUGINS = ("-p", "no:playwright", "-p", "no:schemathesis")  # which take seconds to load
ALL_PASSED, TESTS_FAILED, COLLECTION_FAILED = 0, 1, 2
_recording = threading.Lock()


@dataclass(frozen=True)
class Fault:
    """A replacement of one snippet in one file, the promise it breaks, and the tests that should notice."""

    id: str
    promise: str
    file: str
    old: str
    new: str
    behaviour: str
    killers: list[str]

    @property
    def is_stale(self) -> bool:
        """Whether the snippet no longer occurs exactly once."""
        path = ROOT / self.file
        return not path.is_file() or path.read_text().count(self.old) != 1


def read(path: Path = LIST) -> list[Fault]:
    """Return all faults."""
    return [Fault(**each) for each in tomllib.loads(path.read_text())["fault"]]


def write(faults: Iterable[Fault], path: Path = LIST) -> None:
    """Store faults; equal faults give equal bytes."""
    lines = ["# Deliberate faults, each of which a test must notice; see faults200.py.", ""]
    for fault in faults:
        texts = {name: text for name, text in vars(fault).items() if name != "killers"}
        lines += ["[[fault]]", *(f"{name} = {_quoted(text)}" for name, text in texts.items())]
        lines += ["killers = [", *(f'    "{each}",' for each in fault.killers), "]", ""]
    temporary = path.with_suffix(".new")
    temporary.write_text("\n".join(lines))
    temporary.replace(path)


def _quoted(text: str) -> str:
    """Return text in TOML without escape sequences; it must not contain three apostrophes."""
    if "\n" not in text and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f"'{text}'" if "\n" not in text and "'" not in text else f"'''\n{text}'''"


class Copy:
    """A copy of the checkout's files, to which faults are applied one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for name in filter(None, names.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        (folder / ".venv").symlink_to(ROOT / ".venv")
        # The editable installation refers to the checkout, so the copy must come first.
        self._environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": ""}
        code = "import grader, webapp; print(grader.__file__, webapp.__file__)"
        for path in self._run("-c", code, cwd="/").stdout.split():
            if not path.startswith(f"{folder}/"):
                raise RuntimeError(f"{path} would be imported instead of the copy.")

    def find_killer(self, fault: Fault) -> str | None:
        """Return the first test that notices the fault, or None if it survives."""
        end = time.monotonic() + SECONDS
        path = self.folder / fault.file
        facts = path.stat()
        path.write_text(path.read_text().replace(fault.old, fault.new))
        try:
            for tests in (fault.killers, self._tests_of(fault.file)):
                known = [each for each in tests if self._exists(each)]
                for killer in self.failures(known, end - time.monotonic(), "-x"):
                    return next((each for each in known if each.partition("[")[0] == killer), killer)
            return None
        finally:
            shutil.copy2(ROOT / fault.file, path)
            os.utime(
                path, ns=(facts.st_atime_ns, facts.st_mtime_ns)
            )  # so that the bytecode is that of the file

    def failures(self, tests: Sequence[str], seconds: float, *options: str) -> list[str]:
        """Return the tests that fail, without parameters; none if time is up."""
        if not tests or seconds <= 0:
            return []
        plugins = () if any(each.startswith("tests/browser") for each in tests) else WITHOUT_PLUGINS
        try:
            done = self._run("-m", "pytest", *OPTIONS, *plugins, *options, *tests, timeout=seconds)
        except subprocess.TimeoutExpired:
            return []
        found = FAILED.findall(done.stdout)
        if done.returncode not in (ALL_PASSED, TESTS_FAILED, COLLECTION_FAILED) or (
            done.returncode and not found
        ):
            raise RuntimeError(
                f"pytest ends with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
            )
        return found

    def _run(
        self, *command: str, cwd: str = "", timeout: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            (sys.executable, *command), cwd=cwd or self.folder, env=self._environment, check=False,
            capture_output=True, text=True, timeout=timeout,
        )  # fmt: skip

    def _exists(self, test: str) -> bool:
        """Return whether a test file, folder or function exists."""
        path, _, name = test.partition("::")
        found = self.folder / path
        return found.exists() and (not name or f"def {name.partition('[')[0]}(" in found.read_text())

    def _tests_of(self, file: str) -> list[str]:
        """Return the folder of tests that mirrors a file's package, or the nearest existing one."""
        folder = Path("tests", *Path(file).parent.parts[1:])
        while not (self.folder / folder).is_dir():
            folder = folder.parent
        found = (self.folder / folder).glob("test_*.py" if folder.name == "tests" else "**/test_*.py")
        return sorted(str(each.relative_to(self.folder)) for each in found)


def run(faults: list[Fault], jobs: int) -> list[str]:
    """Run faults, store their killers, and return the problems."""
    problems = [f"{each.id}: `old` does not occur exactly once" for each in faults if each.is_stale]
    found = dict[str, str]()
    with tempfile.TemporaryDirectory(prefix="faults") as folder, ThreadPoolExecutor(jobs) as pool:
        copies = SimpleQueue[Copy]()
        for number in range(jobs):
            place = Path(folder).resolve() / str(number)
            place.mkdir()
            copies.put(Copy(place))

        def check(fault: Fault) -> None:
            copy, started = copies.get(), time.monotonic()
            try:
                killer = copy.find_killer(fault)
            finally:
                copies.put(copy)
            print(f"{fault.id:32} {time.monotonic() - started:4.0f} s  {killer or 'SURVIVES'}", flush=True)
            if killer:
                found[fault.id] = killer
                _record(fault.id, killer)
            else:
                problems.append(f"{fault.id}: survives")

        list(pool.map(check, [each for each in faults if not each.is_stale]))
        # A test that fails in any case proves nothing.
        broken = copies.get().failures(sorted(set(found.values())), 3 * SECONDS)
    return problems + [
        f"{name}: {killer} also fails without the fault"
        for name, killer in found.items()
        if killer.partition("[")[0] in broken
    ]


def _record(name: str, killer: str) -> None:
    """Move a killer to the front of the stored killers of its fault."""
    with _recording:
        faults = read()
        for fault in faults:
            if fault.id == name:
                fault.killers[:] = [killer, *(each for each in fault.killers if each != killer)]
        write(faults)


def main() -> int:
    """Run the chosen faults and print the problems."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="ID")
    parser.add_argument("--files", nargs="+", metavar="PATH", help="run the faults of these files only")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    faults = [
        each
        for each in read()
        if (not options.only or each.id in options.only) and (not options.files or each.file in options.files)
    ]
    problems = run(faults, options.jobs)
    print(f"{len(faults)} faults, {len(problems)} problems", *problems, sep="\n")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
