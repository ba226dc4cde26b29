"""Fault-injection tests of a whole installation; see `tests.campaign`."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.patience import HANG_SECONDS

ROOT = Path(__file__).parents[2]
LONG = (pytest.mark.long, pytest.mark.timeout(2 * 3600))


@pytest.mark.parametrize(
    "options",
    [
        "--hasty --rows 400 --seconds 12",
        pytest.param("--database postgresql --seconds 120 --seed 11", marks=LONG),
        pytest.param("--uploads 10000 --faults 200 --seconds 900", marks=LONG),
    ],
)
def test_campaign_loses_duplicates_and_corrupts_nothing(options):
    waits = ("--patience-seconds", str(HANG_SECONDS))
    command = [sys.executable, "-W", "ignore", "-m", "tests.campaign", *options.split(), *waits]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FAIRBOARD_")}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        printed, _ = process.communicate(timeout=7000)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert process.returncode == 0, printed
