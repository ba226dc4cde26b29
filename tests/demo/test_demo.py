"""Demo in real use: commands, service, uploads, workers, leaderboards."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.fixtures.patience import HANG_SECONDS, eventually

DEMO = [sys.executable, "-m", "grader.cli", "demo"]


def test_demo_agrees_with_the_independent_computation_before_and_after_the_rescoring():
    command = [*DEMO, "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * HANG_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("matches the independent computation in every number and rank") == 4
    assert "All leaderboards agree with the independent computation" in done.stdout


@pytest.fixture
def installation(tmp_path: Path):
    """Return the environment for a demo in its own folder; afterwards, end its leftover processes."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
    yield os.environ | {"FAIRBOARD_DATA_DIR": str(tmp_path), "FAIRBOARD_PORT": port}
    for process in running_in(tmp_path):
        process.kill()


def running_in(folder: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("FAIRBOARD_DATA_DIR") == str(folder):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return found


@pytest.mark.long
def test_killed_demo_leaves_no_processes_and_the_next_one_continues(installation, tmp_path):
    output = tmp_path / "output"
    with output.open("w") as file:
        first = subprocess.Popen(DEMO, env=installation, stdout=file, stderr=file)
    eventually(lambda: "Submitting and scoring" in output.read_text(), "the submissions")
    first.kill()
    first.wait()
    eventually(lambda: not running_in(tmp_path), "the end of every process of the demo")

    with output.open("w") as file:
        second = subprocess.Popen(DEMO, env=installation, stdout=file, stderr=file)
    eventually(lambda: "The service runs until Ctrl-C" in output.read_text(), "the finished demo")
    assert "/login/" in output.read_text()
    second.send_signal(signal.SIGINT)
    assert second.wait(HANG_SECONDS) == 0
    assert running_in(tmp_path) == []
