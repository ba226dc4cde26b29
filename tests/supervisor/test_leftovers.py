import json
import os
import subprocess
import sys

import psutil
import pytest

from grader.supervisor import leftovers
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


def test_a_recorded_process_is_ended(tmp_path, start):
    process = start()
    leftovers.record(tmp_path, [process.pid])

    assert leftovers.end(tmp_path) == 1
    assert process.wait(HANG_SECONDS) != 0


def test_a_process_with_the_mark_of_the_folder_is_ended_without_a_record(tmp_path, start):
    process = start(**{leftovers.MARK: leftovers.mark_of(tmp_path)})

    assert leftovers.end(tmp_path) == 1
    assert process.wait(HANG_SECONDS) != 0


def test_a_process_that_ignores_sigterm_is_killed(tmp_path, start):
    process = start(IGNORES_SIGTERM)
    process.stdout.readline()
    leftovers.record(tmp_path, [process.pid])

    leftovers.end(tmp_path, grace_seconds=0.3)

    assert process.wait(HANG_SECONDS) == -9


def test_a_stranger_that_got_a_recorded_id_is_left_alone(tmp_path, start):
    process = start()
    leftovers.record(tmp_path, [process.pid])
    record = tmp_path / "serve.processes"
    record.write_text(json.dumps({process.pid: json.loads(record.read_text())[str(process.pid)] - 3600}))

    assert leftovers.end(tmp_path) == 0
    assert process.poll() is None


def test_a_process_of_another_folder_is_left_alone(tmp_path, start):
    process = start(**{leftovers.MARK: leftovers.mark_of(tmp_path / "other")})

    assert leftovers.end(tmp_path) == 0
    assert process.poll() is None


def test_processes_that_have_ended_are_not_recorded(tmp_path, start):
    process = start("pass")
    process.wait(HANG_SECONDS)

    leftovers.record(tmp_path, [process.pid])

    assert leftovers.find(tmp_path) == []


def test_the_caller_is_never_among_the_leftovers(tmp_path):
    leftovers.record(tmp_path, [os.getpid()])

    assert leftovers.end(tmp_path) == 0
    assert psutil.pid_exists(os.getpid())


@pytest.mark.parametrize("content", ["", "{", "[]x"])
def test_a_damaged_record_is_as_good_as_none(tmp_path, content):
    (tmp_path / "serve.processes").write_text(content)

    assert leftovers.find(tmp_path) == []


def test_the_guardian_ends_the_processes_when_its_standard_input_ends(tmp_path, start):
    process = start(**{leftovers.MARK: leftovers.mark_of(tmp_path)})
    guardian = subprocess.Popen(
        [sys.executable, "-m", "grader.supervisor.guardian", str(tmp_path)], stdin=subprocess.PIPE
    )
    assert process.poll() is None

    guardian.communicate(timeout=HANG_SECONDS)

    assert process.wait(HANG_SECONDS) != 0


def test_a_record_that_cannot_be_written_ends_nothing(tmp_path, start, caplog):
    leftovers.record(tmp_path / "gone", [start().pid])

    assert "cannot be written" in caplog.text
