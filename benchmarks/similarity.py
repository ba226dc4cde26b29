"""Benchmark of the fair play analysis against scoring, for 10,000 submissions.

    python benchmarks/similarity.py [FILES] [ROWS] [TEAMS]

Ranks are cached on disk, as in a worker. Like the daily job, the benchmark reads them, compares each file
with earlier files of its team, and compares all files with each other. The reference in the same run is a
rescoring with the same ranks, which reads them and counts the pairs of one split.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from grader.fair_play import FileOrder, TeamFiles, is_listed, matches, secret_rows, sketch_of
from grader.metrics import count_ranks, dense_ranks, prepare
from grader.storage.disk_cache import DiskCache
from grader.worker.calculator import EncodedCache, EncodedFile

IDENTITIES = 9
REFERENCE_FILES = 200


def timed(what: str, work: Callable[[], object], count: int) -> float:
    start = time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    print(f"{what:58} {seconds:8.1f} s {1000 * seconds / count:8.2f} ms per file")
    return seconds


def main(files: int = 10_000, rows: int = 97_320, teams: int = 1000) -> None:
    rng = np.random.default_rng(1)
    labels = rng.random(rows) < 0.08
    mentions = {f"identity {number}": rng.random(rows) < 0.02 for number in range(IDENTITIES)}
    shared = 2 * labels + rng.normal(size=rows)
    sample = secret_rows(b"benchmark", rows)
    split = prepare(labels, mentions)
    with tempfile.TemporaryDirectory() as folder:
        cache = EncodedCache(DiskCache(Path(folder), max_bytes=100 * files * rows))
        own = {}
        start = time.perf_counter()
        for number in range(files):
            team = number % teams
            if number < teams:
                own[team] = rng.normal(size=rows).astype(np.float32)
            noise = rng.standard_normal(rows, dtype=np.float32)
            ranks = dense_ranks(shared + 0.8 * own[team] + 0.2 * noise)
            cache.put(f"{number}", "rows", EncodedFile(ranks, []))
        print(f"{files:,} files of {teams:,} teams, {rows:,} rows; took {time.perf_counter() - start:.0f} s")

        @lru_cache(32)
        def order_of(number: int) -> FileOrder:
            kept = cache.get(f"{number}", "rows")
            assert kept is not None
            return FileOrder(kept.ranks)

        reference = timed(
            f"reference: read and count one split of {REFERENCE_FILES} files",
            lambda: [count_ranks(split, order_of(number).ranks) for number in range(REFERENCE_FILES)],
            REFERENCE_FILES,
        )
        sketches, owners = [], []

        def look() -> None:
            for team in range(teams):
                found, team_files = [], TeamFiles(order_of)
                for number in range(team, files, teams):
                    order = order_of(number)
                    sketch = sketch_of(order, sample)
                    found.append(team_files.add(number, order, sketch.places, auc=0.9))
                    sketches.append(sketch)
                    owners.append(team)
                is_listed(found)

        looked = timed("read, sketch and detect signs of probing", look, files)
        compared = timed("compare all files of different teams", lambda: matches(sketches, owners), files)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    per_file = (looked + compared) / files / (reference / REFERENCE_FILES)
    print(f"{(looked + compared) / 60:.1f} minutes; {per_file:.1f} times the reference; peak {peak:.0f} MB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
