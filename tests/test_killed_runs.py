"""Cleanup after killed test runs: no leftover processes."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.fixtures.patience import eventually
from tests.guardian import lives

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[1]
PLUGINS = ("tests.conftest", "tests.faults.conftest", "tests.supervisor.conftest")
GRANDCHILD = "import time; time.sleep(9999)"
# One grandchild has its own session; the other also lacks its parent's environment.
CHILD = (
    "import subprocess, sys\n"
    f"for environment in (None, {{}}):\n"
    f"    subprocess.Popen([sys.executable, '-c', {GRANDCHILD!r}], start_new_session=True, env=environment)\n"
    "print(flush=True)\n"
    f"{GRANDCHILD}"
)
ORPHAN = (
    "import subprocess, sys\n"
    f"subprocess.Popen([sys.executable, '-c', {GRANDCHILD!r}], start_new_session=True)"
)
CHEAP = f"""
import pathlib, subprocess, sys, time

def test_forever(valkey, short_folder):
    process = subprocess.Popen([sys.executable, "-c", {CHILD!r}], stdout=subprocess.PIPE)
    process.stdout.readline()
    pathlib.Path(__file__).with_name("ready").write_text(str(short_folder))
    time.sleep(9999)
"""
ALL = """
import pathlib, time
import pytest
from playwright.sync_api import Page
from pydantic import SecretStr

@pytest.fixture
def database_url(postgresql_url):
    return postgresql_url

def test_forever(page, valkey, make_settings, processes, make_web, make_service, short_folder):
    page.goto("data:text/html,here")
    settings = make_settings(broker_url=SecretStr(valkey.url))
    make_web(settings).start()
    processes.worker(settings)
    processes.sweeper(settings)
    make_service().start().wait_until_ready()
    pathlib.Path(__file__).with_name("ready").write_text(str(short_folder))
    time.sleep(9999)
"""


class Run:
    """A test run and all processes that it has started."""

    def __init__(self, folder: Path, test: str):
        self._folder = folder
        self.process: subprocess.Popen[bytes] | None = None
        (folder / "test_forever.py").write_text(test)
        (folder / "conftest.py").write_text(
            "from tests.browser.conftest import base_url, browser_type_launch_args"
        )
        plugins = [part for name in PLUGINS for part in ("-p", name)]
        self.options = [*plugins, "-c", "pyproject.toml", "--rootdir", str(ROOT), str(folder)]
        mine = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "MAKE"))}
        self.environment = mine | {"PYTHONPATH": str(ROOT)}

    def start(self, *command: str, **environment: str):
        """Start the run, and wait until its test has started all processes."""
        with (self._folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=self.environment | environment, stdout=log, stderr=subprocess.STDOUT
            )
        eventually(self._is_ready, lambda: (self._folder / "log").read_text())
        self.family = [psutil.Process(self.process.pid), *self.descendants()]

    def descendants(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def commands(self) -> str:
        return "\n".join(" ".join(process.cmdline()) for process in self.family if process.is_running())

    def lives(self) -> list[str]:
        """Return the surviving processes, and the folder of their sockets if it still exists."""
        living = [process for process in self.family if lives(process)]
        folder = Path((self._folder / "ready").read_text())
        return [*(f"{process}" for process in living), *([str(folder)] if folder.exists() else [])]

    def _is_ready(self) -> bool:
        assert self.process.poll() is None, (self._folder / "log").read_text()
        return (self._folder / "ready").exists()


@pytest.fixture
def make_run(tmp_path: Path) -> Iterator[Callable[[str], Run]]:
    runs: list[Run] = []

    def make(test: str) -> Run:
        runs.append(Run(tmp_path, test))
        return runs[-1]

    yield make
    for run in runs:
        if run.process is not None:
            run.process.kill()
            run.process.wait()


@pytest.mark.long
def test_killed_pytest_leaves_no_service_behind(make_run: Callable[[str], Run]):
    """This test is slow because it starts every kind of process; other tests start only a few."""
    run = make_run(ALL)
    run.start(sys.executable, "-m", "pytest", *run.options)
    commands = run.commands()
    for part in ("webapp.wsgi", "celery", "valkey-server", "sweeper", "chrom", "playwright"):
        assert part in commands, commands
    run.process.kill()
    run.process.wait()
    eventually(lambda: not run.lives(), lambda: f"the end of {run.lives()}")


@pytest.mark.long
def test_killed_xdist_worker_and_killed_xdist_run_leave_nothing_behind(
    make_run: Callable[[str], Run],
):
    run = make_run(CHEAP)
    run.start(sys.executable, "-m", "pytest", "-n", "1", "--max-worker-restart", "0", *run.options)
    worker = next(each for each in run.family if any("valkey" in name for name in _children(each)))
    assert worker.pid != run.process.pid
    assert run.commands().count(f"-c {GRANDCHILD}") == 2
    worker.kill()
    run.process.wait()
    eventually(lambda: not run.lives(), lambda: f"the end of {run.lives()}")


def _children(process: psutil.Process) -> list[str]:
    return [child.name() for child in process.children()]


@pytest.mark.long
def test_processes_started_by_make_end_when_make_is_killed(make_run: Callable[[str], Run], tmp_path: Path):
    """This test is slow because it first collects all tests, which takes a minute."""
    run = make_run(CHEAP)
    stamp = ".venv/.complete"  # The stamp of the folder that runs these tests, which is already installed.
    run.start(
        "make", "--old-file", stamp, f"BIN={Path(sys.executable).parent}", "test",
        PYTEST_ADDOPTS=" ".join(run.options),
    )  # fmt: skip
    run.process.kill()
    run.process.wait()
    eventually(lambda: not run.lives(), lambda: f"the end of {run.lives()}")


@pytest.mark.long
def test_session_that_leaves_a_process_running_is_an_error(make_run: Callable[[str], Run], tmp_path: Path):
    run = make_run(
        "import subprocess, sys\n"
        "def test_careless():\n"
        f"    subprocess.run([sys.executable, '-c', {ORPHAN!r}], check=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *run.options],
        cwd=ROOT,
        env=run.environment | {"FAIRBOARD_TEST_HANG_SECONDS": "10"},
        capture_output=True,
        text=True,
    )
    assert "Tests left processes running" in done.stdout
    assert GRANDCHILD in done.stdout
    assert done.returncode == 1
