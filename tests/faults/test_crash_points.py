"""Crash points: each is reached at one place and used by a test, and has no effect by default."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grader.crash_points import EXIT_CODE, POINTS, VARIABLE, reach

HOUSE = Path(__file__).parents[2]
REACHED = re.compile(r'\breach(?:\(|ed=)"([^"]+)"')
COMES_TWICE = "from grader.crash_points import reach; [reach('claim.after_commit') for _ in range(2)]"


def run(program: str, *, crash_at: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {VARIABLE: crash_at}
    return subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )


def test_every_point_is_reached_at_one_place():
    found = [
        name
        for package in ("grader", "webapp", "migrations")
        for file in (HOUSE / package).rglob("*.py")
        for name in REACHED.findall(file.read_text())
    ]
    assert sorted(found) == sorted(POINTS)


def test_every_point_is_used_by_a_test():
    others = [file for file in Path(__file__).parent.glob("test_*.py") if file != Path(__file__)]
    tests = "".join(file.read_text() for file in others)
    assert [name for name in sorted(POINTS) if f'"{name}"' not in tests] == []


def test_points_do_nothing_by_default(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    reach("claim.after_commit")
    monkeypatch.setenv(VARIABLE, "record.after_commit")
    reach("claim.after_commit")


def test_process_ends_at_the_requested_point():
    assert run(COMES_TWICE, crash_at="claim.after_commit").returncode == EXIT_CODE
    assert run(COMES_TWICE, crash_at="claim.after_commit:2").returncode == EXIT_CODE
    assert run(COMES_TWICE, crash_at="claim.after_commit:3").returncode == 0


def test_unknown_point_is_rejected():
    refused = run(COMES_TWICE, crash_at="claim.after_comit")
    assert refused.returncode == 1
    assert "contains an unknown crash point: 'claim.after_comit'" in refused.stderr
