"""Crash points: each is reached once and used by a test, and has no effect by default."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grader.crash_points import EXIT_CODE, VARIABLE

HOUSE = Path(__file__).parents[2]
COMES_TWICE = "from grader.crash_points import reach; [reach('claim.after_commit') for _ in range(2)]"


def test_every_point_is_reached_once_and_used_by_a_test():
    sources = "".join(
        file.read_text() for package in ("grader", "webapp") for file in (HOUSE / package).rglob("*.py")
    )
    points = re.findall(r'\breach\("([^"]+)"', sources)
    assert len(points) == len(set(points)) > 20
    tests = "".join(file.read_text() for file in Path(__file__).parent.glob("test_*.py"))
    assert [name for name in points if f'"{name}"' not in tests] == []


@pytest.mark.parametrize(
    ("point", "code"),
    [
        ("claim.after_commit", EXIT_CODE),
        ("claim.after_commit:2", EXIT_CODE),
        ("claim.after_commit:3", 0),
        ("record.after_commit", 0),
        ("", 0),
    ],
)
def test_process_ends_at_the_requested_point(point, code):
    environment = os.environ | {VARIABLE: point}
    done = subprocess.run([sys.executable, "-c", COMES_TWICE], env=environment, capture_output=True)
    assert done.returncode == code
