"""Benchmark of scoring against public notebook code.

Run ``python benchmarks/scoring.py``; ``--rows`` restricts it to smaller data. The second table covers the
entire way from a file's bytes to both reports, and the last one the built-in metrics. Every figure is a ratio
to a reference that is measured in turn in the same run, because absolute times depend on the machine. The
speed of `numpy.sort` differs most between CPUs, so the CPU and this speed are printed first.
``NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX512_ICL"`` shows the times without NumPy's vectorized sorts. The
grader computes the full report: overall AUC, three AUCs and two AEGs for each identity, power means and
score. The reference has no AEGs.
"""

import os

# As in a worker. This must be set before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import platform
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

import built_in
import files
import jigsaw_like
import numpy as np
import reference_kernel

from fairboard import BiasReport, MetricSettings, PreparedSplit, count_pairs, prepare, report

CPU_INFO = Path("/proc/cpuinfo")


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
    decimals: int | None = None

    @property
    def name(self) -> str:
        ties = "" if self.decimals is None else f", {self.decimals} decimals"
        return f"{self.rows:,} x {self.identities}{ties}"


WORKS = (
    Work(97_320, 9, 1.0, repeats=9, at_least=45, at_least_with_aegs=38, aim=60),
    Work(97_320, 24, 1.0, repeats=9, at_least=95, at_least_with_aegs=70, aim=110),
    # Less than a quarter of the competition's 1.8 million training rows are annotated.
    Work(1_804_874, 24, 0.225, repeats=3, at_least=60, at_least_with_aegs=42, aim=80),
)
WORKS += tuple(replace(work, decimals=2) for work in WORKS)


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
    predictions = data.predictions
    if work.decimals is not None:
        predictions = np.round(predictions, work.decimals)
    frame = reference_kernel.to_frame(data.labels, data.identities, predictions)
    split = prepare(data.labels, data.identities)
    reference = partial(reference_kernel.score, frame, list(data.identities))
    ours = partial(score_with_grader, split, predictions)
    if not np.isclose(ours().score, reference(), rtol=0, atol=1e-12):
        raise SystemExit(
            "The results of the grader and the reference differ, so their times are not comparable."
        )
    calls = {
        "reference": (reference, 1),
        "report": (ours, 9),
        "counting": (partial(count_pairs, split, predictions), 9),
        "sort": (partial(np.sort, predictions), 9),
    }
    return Timing(**interleaved(calls, work.repeats))


def table_of_works(works: tuple[Work, ...]) -> None:
    """Print the times for each size of data and the ratios to the reference."""
    print(
        f"{'work':<28}{'reference':>11}{'report':>10}{'ratio':>8}{'at least':>10}{'with AEGs':>11}"
        f"{'aim':>6}{'counting / sort':>17}{'report / sort':>15}"
    )
    for work in works:
        timing = measure(work)
        print(
            f"{work.name:<28}"
            f"{1000 * timing.reference:>8.0f} ms{1000 * timing.report:>7.2f} ms"
            f"{timing.reference / timing.report:>7.0f}x"
            f"{work.at_least:>9}x{work.at_least_with_aegs:>10}x{work.aim:>5}x"
            f"{timing.counting / timing.sort:>17.2f}{timing.report / timing.sort:>15.2f}",
            flush=True,
        )
    print("Sort: one numpy.sort of the predictions. Counting includes AEGs.")


def print_cpu(rows: int) -> None:
    """Print the CPU and the speed of `numpy.sort`."""
    info = CPU_INFO.read_text() if CPU_INFO.exists() else ""
    model = re.search(r"model name\s*:\s*(.+)", info)
    numbers = np.random.default_rng(0).random(rows)
    taken = min(seconds(partial(np.sort, numbers)) for _ in range(9))
    print(
        f"CPU: {model[1] if model else platform.machine()}. numpy.sort: {1e9 * taken / rows:.1f} ns per "
        f"element of {rows:,}."
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=2_000_000, help="omit data with more rows")
    arguments = parser.parse_args()
    print_cpu(WORKS[0].rows)
    table_of_works(tuple(work for work in WORKS if work.rows <= arguments.rows))
    if arguments.rows >= files.ROWS:
        print()
        files.print_file_rows()
        print()
        built_in.print_built_in_rows()


if __name__ == "__main__":
    main()
