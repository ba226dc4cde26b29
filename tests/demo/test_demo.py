"""Demo in real use: commands, service, uploads, workers, leaderboards."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from grader.demo.classifiers import MODELS
from tests.fixtures.patience import HANG_SECONDS, eventually

DEMO = [sys.executable, "-m", "grader.cli", "demo"]


# The full check with only four models. The number of rows is kept, because with fewer rows some identities
# would be undefined.
SMALL_CHECK = """
import functools
import sys
import click
from grader.demo import competition, run

competition.generate = functools.partial(competition.generate, train_rows=2000, test_rows=6000)
competition.MODELS = competition.MODELS[:4]
competition.ACCOUNTS = (competition.ORGANIZER, *dict.fromkeys(model.team for model in competition.MODELS))
sys.exit("; ".join(run.run_check(click.echo)) or 0)
"""


@pytest.mark.parametrize(
    "command",
    [
        pytest.param([sys.executable, "-c", SMALL_CHECK], id="small"),
        pytest.param([*DEMO, "--check"], id="whole", marks=pytest.mark.long),
    ],
)
def test_demo_agrees_with_the_independent_computation_before_and_after_the_rescoring(command):
    """Use four models in the short run; the dozen models of `make demo CHECK=1` take minutes."""
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


def sent(folder: Path) -> dict[str, int]:
    path = folder / "demo/progress.json"
    return json.loads(path.read_text())["submissions"] if path.exists() else {}


@pytest.mark.long
def test_killed_demo_leaves_no_processes_and_the_next_one_continues(installation, tmp_path):
    first = subprocess.Popen(DEMO, env=installation, stdout=subprocess.DEVNULL)
    eventually(lambda: len(sent(tmp_path)) >= 3, "the third upload")
    first.kill()
    first.wait()
    before = sent(tmp_path)
    eventually(lambda: not running_in(tmp_path), "the end of every process of the demo")

    output = tmp_path / "output"
    with output.open("w") as file:
        second = subprocess.Popen(DEMO, env=installation, stdout=file, stderr=file)
    eventually(lambda: "The service runs until Ctrl-C" in output.read_text(), "the finished demo")
    assert len(sent(tmp_path)) == len(MODELS)
    assert sent(tmp_path).items() >= before.items()
    second.send_signal(signal.SIGINT)
    assert second.wait(HANG_SECONDS) == 0
    assert running_in(tmp_path) == []
