"""Demo in real use: commands, service, uploads, workers, leaderboards."""

import os
import signal
import socket
import subprocess
import sys

import psutil
import pytest

from grader.client import Refused
from grader.demo.dataset import SUBMISSIONS
from grader.demo.run import SLUG, Demo, serving, set_up
from grader.settings import Settings
from tests.demo import oracle
from tests.fixtures.patience import HANG_SECONDS, eventually

DEMO = [sys.executable, "-m", "grader.cli", "demo"]


def shown_by(demo, split):
    with demo.client() as client:
        rows = [each for each in client.leaderboard(split=split).rows if each.rank is not None]
    return [oracle.Line(row.rank, row.team, row.score, *row["terms"].values()) for row in rows]


def test_demo_agrees_with_an_independent_computation_before_and_after_a_rescoring(
    installation, tmp_path, monkeypatch
):
    for name in [each for each in os.environ if each.startswith("FAIRBOARD_")]:
        monkeypatch.delenv(name)
    demo = Demo(Settings(data_dir=tmp_path, port=int(installation["FAIRBOARD_PORT"])), print)
    sent = [(file.team, demo.folder / f"{file.name}.csv") for file in SUBMISSIONS]
    with serving(demo):
        set_up(demo)
        before = oracle.leaderboards(demo.folder / "solution.csv", sent)
        assert shown_by(demo, "public") == before["public"]
        with demo.client() as client, pytest.raises(Refused):
            client.leaderboard(split="private")
        demo.command("competition", "reveal", SLUG, "--yes")
        assert shown_by(demo, "private") == before["private"]
        corrected = demo.folder / "corrected_solution.csv"
        demo.command("rescore", SLUG, str(corrected), "--reason", "Corrected labels.", "--yes")
        after = oracle.leaderboards(corrected, sent)
        assert {split: shown_by(demo, split) for split in after} == after


@pytest.fixture
def installation(tmp_path):
    """Return the environment for a demo in its own folder; afterwards, end its leftover processes."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
    yield os.environ | {"FAIRBOARD_DATA_DIR": str(tmp_path), "FAIRBOARD_PORT": port}
    for process in running_in(tmp_path):
        process.kill()


def running_in(folder):
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
