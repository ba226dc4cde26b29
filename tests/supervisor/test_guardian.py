import os
import subprocess
import sys

import psutil
import pytest

from grader.supervisor import guardian
from tests.fixtures.patience import HANG_SECONDS

SLEEP = "import time; time.sleep(9999)"
IGNORES_SIGTERM = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); {SLEEP}"


@pytest.fixture
def start():
    started = []

    def run(code=SLEEP, **environment):
        process = subprocess.Popen(
            [sys.executable, "-c", code], env=os.environ | environment, stdout=subprocess.PIPE
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def test_process_marked_with_the_folder_is_ended(tmp_path, start):
    process = start(**{guardian.MARK: guardian.mark_of(tmp_path)})

    assert guardian.end(tmp_path) == 1
    assert process.wait(HANG_SECONDS) != 0


def test_process_of_another_folder_is_not_ended(tmp_path, start):
    process = start(**{guardian.MARK: guardian.mark_of(tmp_path / "other")})

    assert guardian.end(tmp_path) == 0
    assert process.poll() is None


def test_guardian_ends_the_processes_when_its_standard_input_closes(tmp_path, start):
    process = start(**{guardian.MARK: guardian.mark_of(tmp_path)})
    process_of_it = subprocess.Popen(
        [sys.executable, "-m", "grader.supervisor.guardian", str(tmp_path)], stdin=subprocess.PIPE
    )
    assert process.poll() is None

    process_of_it.communicate(timeout=HANG_SECONDS)

    assert process.wait(HANG_SECONDS) != 0


def test_process_that_ignores_sigterm_is_killed(tmp_path, start):
    process = start(IGNORES_SIGTERM, **{guardian.MARK: guardian.mark_of(tmp_path)})
    process.stdout.readline()

    guardian.end(tmp_path, grace_seconds=0.3)

    assert process.wait(HANG_SECONDS) == -9


def test_caller_is_never_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(psutil.Process, "environ", lambda _: {guardian.MARK: guardian.mark_of(tmp_path)})

    assert os.getpid() not in [process.pid for process in guardian.find(tmp_path)]


def test_program_with_the_folder_as_working_directory_is_no_valkey(tmp_path, start, monkeypatch):
    (tmp_path / "valkey").mkdir()
    monkeypatch.chdir(tmp_path / "valkey")
    process = start()

    assert guardian.end(tmp_path) == 0
    assert process.poll() is None
