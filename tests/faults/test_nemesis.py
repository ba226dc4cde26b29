"""Nemesis fault campaigns on a whole installation; see `tests.campaign`."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.patience import HANG_SECONDS

ROOT = Path(__file__).parents[2]
HASTY = ("--hasty", "--rows", "400")
GREEN = 0
DATABASE_FAULTS = ("database connections terminated", "database crashed")


def campaign(*options: str, timeout: float = 2 * HANG_SECONDS) -> tuple[int, str]:
    """Run a campaign; return its exit code and its output."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.campaign", *options]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FAIRBOARD_")}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        printed, _ = process.communicate(timeout=timeout)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return process.returncode, printed


@pytest.mark.parametrize("seconds", [8, 20])
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.long
def test_short_campaign_loses_duplicates_and_corrupts_nothing(database: str, seconds: int):
    """Inject only database faults on PostgreSQL; faults of workers have the same effect as on SQLite."""
    options = ["--seconds", str(seconds), "--patience-seconds", str(HANG_SECONDS), "--database", database]
    if database == "postgresql":
        options += [word for fault in DATABASE_FAULTS for word in ("--only", fault)]
    code, printed = campaign(*HASTY, *options)
    assert code == GREEN, printed


@pytest.mark.long
@pytest.mark.parametrize("seed", [11, 12])
def test_postgresql_campaign_loses_duplicates_and_corrupts_nothing(seed: int):
    options = ("--database", "postgresql", "--seconds", "120", "--seed", str(seed))
    code, printed = campaign(*options)
    assert code == GREEN, printed


@pytest.mark.long
@pytest.mark.timeout(2 * 3600)
def test_ten_thousand_uploads_survive_two_hundred_faults():
    code, printed = campaign("--uploads", "10000", "--faults", "200", "--seconds", "900", timeout=7000)
    assert code == GREEN, printed
