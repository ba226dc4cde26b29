"""The named places to die at: each is in the code that its table says, and asleep unless it is asked for."""

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


def test_every_point_is_reached_once_in_the_file_that_the_table_says() -> None:
    found = [
        (name, file.relative_to(HOUSE).as_posix())
        for package in ("grader", "webapp", "migrations")
        for file in (HOUSE / package).rglob("*.py")
        for name in REACHED.findall(file.read_text())
    ]
    assert sorted(found) == sorted((name, point.file) for name, point in POINTS.items())


def test_every_point_is_died_at_by_a_test() -> None:
    others = [file for file in Path(__file__).parent.glob("test_*.py") if file != Path(__file__)]
    tests = "".join(file.read_text() for file in others)
    assert [name for name in POINTS if f'"{name}"' not in tests] == []


def test_nothing_happens_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    reach("claim.after_commit")
    monkeypatch.setenv(VARIABLE, "record.after_commit")
    reach("claim.after_commit")


def test_the_process_ends_where_it_was_asked_to() -> None:
    assert run(COMES_TWICE, crash_at="claim.after_commit").returncode == EXIT_CODE
    assert run(COMES_TWICE, crash_at="claim.after_commit:2").returncode == EXIT_CODE
    assert run(COMES_TWICE, crash_at="claim.after_commit:3").returncode == 0


def test_a_name_that_no_point_has_is_refused() -> None:
    refused = run(COMES_TWICE, crash_at="claim.after_comit")
    assert refused.returncode == 1
    assert "names no crash point: 'claim.after_comit'" in refused.stderr
