"""Benchmark of reports with confidence intervals against plain scores.

    .venv/bin/python benchmarks/analysis.py

All functions are measured in turn, in one process and with the same prepared split. The ratios compare
medians.
"""

import statistics
import time
from collections.abc import Callable

import jigsaw_like
import numpy as np

from grader.metrics import MetricSettings, count_pairs, prepare, report
from grader.metrics.analysis import Rows
from grader.metrics.analysis.curve import equality_curves
from grader.metrics.analysis.distributions import all_distributions
from grader.metrics.analysis.influence import Sets
from grader.metrics.analysis.intervals import uncertainty_report
from grader.metrics.analysis.paired_differences import Measured, paired_report, score_difference

ROWS, IDENTITIES, REPEATS = 97_320, 24, 60


def main() -> None:
    """Print all times and their ratios."""
    data = jigsaw_like.make(ROWS, IDENTITIES)
    predictions = data.predictions
    split, settings = prepare(data.labels, data.identities), MetricSettings()
    sets = Sets(split)
    others = predictions + np.random.default_rng(1).normal(scale=0.01, size=ROWS)
    first, second = Measured.of(sets, predictions), Measured.of(sets, others)
    rows = Rows.of(data.labels, predictions, data.identities)
    works: dict[str, Callable[[], object]] = {
        "the bare score": lambda: report(count_pairs(split, predictions), settings),
        "with all intervals": lambda: uncertainty_report(sets, predictions, settings),
        "all distributions by class": lambda: list(all_distributions(rows)),
        "all curves of both classes": lambda: [curve.as_dict() for curve in equality_curves(rows)],
        "another score: tied or not": lambda: score_difference(Measured.of(sets, others), first),
        "all paired differences": lambda: paired_report(sets, first, second),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(REPEATS):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(each) for name, each in times.items()}
    bare = medians["the bare score"]
    print(f"{ROWS:,} rows x {IDENTITIES} identities, medians of {REPEATS}")
    for name, median in medians.items():
        print(f"  {name:<28}{median * 1e3:8.2f} ms {median / bare:8.1f} x")


if __name__ == "__main__":
    main()
