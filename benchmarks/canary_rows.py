"""Benchmark of canary rows: share of detected leaks, false alarms for honest files.

python benchmarks/canary_rows.py [--files 1000]
"""

import argparse

import numpy as np

from grader.canaries import follow, is_named

WORLDS = 300
HONEST = 20_000
SHARES = (0.3, 0.5, 0.7, 0.9, 1.0)
WEIGHTS = (0.2, 0.3, 0.5)


def main() -> None:
    """Print the share of detected files for 20, 40 and 100 canary rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000, help="number of analysed files")
    files = parser.parse_args().files
    random = np.random.default_rng(11)

    def named(rows: int, *, share: float = 0.0, weight: float = 1.0) -> bool:
        """Return whether a file that uses a leak in a share of its rows, at this weight, is detected."""
        coins, model = random.permutation(np.arange(rows) % 2 == 0), random.random(rows)
        leaked = np.where(random.random(rows) < share, weight * coins + (1 - weight) * model, model)
        return is_named(follow(leaked, coins).chance, files)

    for rows in (20, 40, 100):
        print(f"{rows} canary rows, {files} analysed files")
        for share in SHARES:
            found = sum(named(rows, share=share) for _ in range(WORLDS))
            print(f"  leak on {share:.0%} of the rows: {found / WORLDS:.0%}")
        for weight in WEIGHTS:
            found = sum(named(rows, share=1, weight=weight) for _ in range(WORLDS))
            print(f"  {weight:.0%} leak and {1 - weight:.0%} model everywhere: {found / WORLDS:.0%}")
        print(f"  honest: {sum(named(rows) for _ in range(HONEST))} of {HONEST:,}")


if __name__ == "__main__":
    main()
