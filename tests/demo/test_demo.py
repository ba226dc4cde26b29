"""Demo in real use: commands, service, uploads, workers, leaderboards."""

import os
import socket

import pytest

from grader.client import Refused
from grader.demo.dataset import SUBMISSIONS
from grader.demo.run import SLUG, Demo, serving, set_up
from grader.settings import Settings
from tests.demo import oracle


def shown_by(demo, split):
    with demo.client() as client:
        rows = [each for each in client.leaderboard(split=split).rows if each.rank is not None]
    return [oracle.Line(row.rank, row.team, row.score, *row["terms"].values()) for row in rows]


def test_demo_agrees_with_an_independent_computation_before_and_after_a_rescoring(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    for name in [each for each in os.environ if each.startswith("FAIRBOARD_")]:
        monkeypatch.delenv(name)
    demo = Demo(Settings(data_dir=tmp_path, port=port), print)
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
