"""Short run of the benchmark of the complete service."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_service_benchmark_scores_all_files_in_both_services():
    options = {
        "files": 2,
        "rows": 6000,
        "workers": 1,
        "databases": "sqlite",
        "present": 20,
        "idle-seconds": 0.1,
    }
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "service.py", *words], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"^rate \(files/s\) +\d", done.stdout, re.MULTILINE)) == 2
    assert re.search(r"^rate relative to the bare service +\d+\.\dx$", done.stdout, re.MULTILINE)
    (roles,) = re.findall(r"Fairboard.*?is the pure path\n +(.*?)\n", done.stdout, re.DOTALL)
    assert "scorer" in roles
