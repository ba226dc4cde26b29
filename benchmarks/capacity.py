"""Comparison of `fairboard capacity` with running sites of two sizes.

Run ``python benchmarks/capacity.py``. For each size, it starts `fairboard serve`, uploads files from four
clients at once, and prints predicted and measured values. The costs in `grader/capacity.py` were measured
with ``benchmarks/service.py --rows 194640`` and ``--rows 20000``, so neither of the two sizes here was used.
"""

import argparse

from service import Load, fairboard, measure

from grader import capacity
from tests.campaign.plan import DatabaseKind

SIZES = (50_000, 120_000)
WORKERS = 2


def main() -> None:
    """Measure each size, and print the differences."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=37, help="number of files in each phase")
    options = parser.parse_args()
    for rows in SIZES:
        load = Load(rows, options.files)
        with fairboard(load, WORKERS, DatabaseKind.SQLITE, present=1_000) as target:
            found = measure("Fairboard", target, load, idle_seconds=12)
        expected = capacity.of(
            capacity.Load(
                teams=77, rows=rows, uploads_per_minute=60 * found.rate, views_per_minute=0, submissions=1
            ),
            slowness=capacity.calibrate(),
        )
        web = sum(spent for role, spent in found.cpu.items() if role.startswith("web"))
        print(f"{rows:,} rows, {found.rate:.1f} files/s{'':20}{'predicted':>10}{'measured':>10}")
        for name, predicted, measured in (
            ("CPU time per upload (ms)", 1000 * expected.upload_cpu_seconds, web),
            ("CPU time per score (ms)", 1000 * expected.score_cpu_seconds, sum(found.cpu.values()) - web),
            ("memory under load (MB)", expected.memory_bytes / 1e6, sum(found.busy_memory.values())),
            ("file (MB)", expected.blob_bytes / 1e6, load.megabytes),
        ):
            print(f"{name:44}{predicted:>10.1f}{measured:>10.1f}  {predicted / measured:.2f}x", flush=True)


if __name__ == "__main__":
    main()
