"""Benchmark of scoring against public notebook code.

Run ``python benchmarks/scoring.py``; ``--rows`` restricts it to smaller data. The last table covers
everything from a file's bytes to both reports. Every figure is a ratio to a reference that is measured in
turn in the same run, because absolute times depend on the machine. The grader computes the full report:
overall AUC, three AUCs and two AEGs for each identity, power means and score. The reference has no AEGs.
"""

import os

# As in a worker. This must be set before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median

import files
import jigsaw_like
import numpy as np
import reference_kernel

from grader.metrics import BiasReport, MetricSettings, PreparedSplit, count_pairs, prepare, report

SORT_MULTIPLE_AT_MOST = 3.2


@dataclass(frozen=True)
class Work:
    """A size of the data, with the required speedups over the reference."""

    rows: int
    identities: int
    annotated: float
    repeats: int
    at_least: int
    at_least_with_aegs: int
    aim: int


WORKS = (
    Work(97_320, 9, 1.0, repeats=9, at_least=45, at_least_with_aegs=38, aim=60),
    Work(97_320, 24, 1.0, repeats=9, at_least=95, at_least_with_aegs=70, aim=110),
    # Less than a quarter of the competition's 1.8 million training rows are annotated.
    Work(1_804_874, 24, 0.225, repeats=3, at_least=60, at_least_with_aegs=42, aim=80),
)


@dataclass(frozen=True)
class Timing:
    """Median times in seconds."""

    reference: float
    report: float
    counting: float
    sort: float


def score_with_grader(split: PreparedSplit, predictions: np.ndarray) -> BiasReport:
    return report(count_pairs(split, predictions), MetricSettings())


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def interleaved(calls: dict[str, tuple[Callable[[], object], int]], repeats: int) -> dict[str, float]:
    """Measure the calls in turn, each several times in a row; return the median of each."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, (call, times) in calls.items():
            taken[name] += [seconds(call) for _ in range(times)]
    return {name: median(values) for name, values in taken.items()}


def measure(work: Work) -> Timing:
    data = jigsaw_like.make(work.rows, work.identities, annotated=work.annotated)
    frame = reference_kernel.to_frame(data.labels, data.identities, data.predictions)
    split = prepare(data.labels, data.identities)
    reference = partial(reference_kernel.score, frame, list(data.identities))
    ours = partial(score_with_grader, split, data.predictions)
    if not np.isclose(ours().score, reference(), rtol=0, atol=1e-12):
        raise SystemExit(
            "The results of the grader and the reference differ, so their times are not comparable."
        )
    calls = {
        "reference": (reference, 1),
        "report": (ours, 9),
        "counting": (partial(count_pairs, split, data.predictions), 9),
        "sort": (partial(np.sort, data.predictions), 9),
    }
    return Timing(**interleaved(calls, work.repeats))


def table_of_works(works: tuple[Work, ...]) -> None:
    """Print the times for each size of data and the ratios to the reference."""
    print(
        f"{'work':<16}{'reference':>11}{'report':>10}{'ratio':>8}{'at least':>10}{'with AEGs':>11}"
        f"{'aim':>6}{'counting / sort':>17}{'report / sort':>15}"
    )
    for work in works:
        timing = measure(work)
        print(
            f"{f'{work.rows:,} x {work.identities}':<16}"
            f"{1000 * timing.reference:>8.0f} ms{1000 * timing.report:>7.2f} ms"
            f"{timing.reference / timing.report:>7.0f}x"
            f"{work.at_least:>9}x{work.at_least_with_aegs:>10}x{work.aim:>5}x"
            f"{timing.counting / timing.sort:>17.2f}{timing.report / timing.sort:>15.2f}",
            flush=True,
        )
    print(
        f"Sort: one numpy.sort of the predictions. Counting, including AEGs, should take less than "
        f"{SORT_MULTIPLE_AT_MOST} times as long."
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=2_000_000, help="omit data with more rows")
    arguments = parser.parse_args()
    table_of_works(tuple(work for work in WORKS if work.rows <= arguments.rows))
    if arguments.rows >= files.ROWS:
        print()
        files.print_file_rows()


if __name__ == "__main__":
    main()
