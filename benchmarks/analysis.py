"""Benchmark of reports with confidence intervals against plain scores and two other packages.

    .venv/bin/python benchmarks/analysis.py

All functions are measured in turn, in one process and with the same prepared split. The ratios compare
medians of the CPU time of all threads. `confidenceinterval` and MLstatkit are measured if they are
installed. Both compute DeLong's intervals for one AUC or one pair of AUCs, so they are called for each of the
121 AUCs (the overall AUC, and five cells of each identity).
"""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import jigsaw_like
import numpy as np

from grader.files import ColumnRoles, Solution
from grader.metrics import MetricSettings, PreparedSplit, count_pairs, prepare, report
from grader.metrics.bias.analysis import Rows
from grader.metrics.bias.analysis.curve import equality_curves
from grader.metrics.bias.analysis.distributions import all_distributions
from grader.metrics.bias.analysis.influence import Measured, Sets
from grader.metrics.bias.analysis.intervals import uncertainty_report
from grader.metrics.bias.analysis.paired_differences import paired_report, score_difference
from grader.metrics.bias.analysis.placements import compared_rows
from grader.reports import Material, analyse, html_page

ROWS, IDENTITIES, REPEATS, OTHERS_REPEATS = 97_320, 24, 60, 2


def auc_rows(split: PreparedSplit) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the positive and the negative rows of every AUC."""
    yield np.flatnonzero(split.labels), np.flatnonzero(~split.labels)
    for members in split.members:
        yield from compared_rows(split.labels, members).values()


def other_packages(
    aucs: list[tuple[np.ndarray, np.ndarray]], predictions: np.ndarray, others: np.ndarray
) -> dict[str, Callable[[], object]]:
    """Return the work of the installed packages; print how to install the others."""
    compared = [
        (np.repeat([1, 0], [len(first), len(second)]), np.concatenate([first, second]))
        for first, second in aucs
    ]
    found: dict[str, Callable[[], object]] = {}
    try:
        import confidenceinterval

        found["confidenceinterval, intervals"] = lambda: [
            confidenceinterval.roc_auc_score(labels, predictions[rows]) for labels, rows in compared
        ]
    except ImportError:
        print("confidenceinterval is not installed: uv pip install confidenceinterval")
    try:
        import MLstatkit

        found["MLstatkit, paired differences"] = lambda: [
            MLstatkit.Delong_test(labels, predictions[rows], others[rows], n_boot=1)
            for labels, rows in compared
        ]
    except ImportError:
        print("MLstatkit is not installed: uv pip install MLstatkit")
    return found


def main() -> None:
    """Print all times and their ratios."""
    data = jigsaw_like.make(ROWS, IDENTITIES)
    predictions = data.predictions
    split, settings = prepare(data.labels, data.identities), MetricSettings()
    sets = Sets(split)
    others = predictions + np.random.default_rng(1).normal(scale=0.01, size=ROWS)
    first, second = Measured.of(sets, predictions), Measured.of(sets, others)
    rows = Rows.of(data.labels, predictions, data.identities)
    columns = ColumnRoles("id", "target", tuple(data.identities), usage=None, unused=())
    ids: Any = range(ROWS)
    solution = Solution(ids, data.labels, data.identities, None, columns)
    works: dict[str, Callable[[], object]] = {
        "the bare score": lambda: report(count_pairs(split, predictions), settings),
        "with all intervals": lambda: uncertainty_report(sets, predictions, settings),
        "all distributions by class": lambda: list(all_distributions(rows)),
        "all curves of both classes": lambda: [curve.as_dict() for curve in equality_curves(rows)],
        "another score: tied or not": lambda: score_difference(Measured.of(sets, others), first),
        "all paired differences": lambda: paired_report(sets, first, second),
        "the report with charts": lambda: html_page(analyse(Material(solution, {"target": predictions}))),
    }
    others_by_name = other_packages(list(auc_rows(split)), predictions, others)
    times: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(REPEATS):
        for name, work in (works | (others_by_name if turn < OTHERS_REPEATS else {})).items():
            start = time.process_time()
            work()
            times.setdefault(name, []).append(time.process_time() - start)
    medians = {name: statistics.median(each) for name, each in times.items()}
    bare = medians["the bare score"]
    print(f"{ROWS:,} rows x {IDENTITIES} identities, medians of {REPEATS} (other packages: {OTHERS_REPEATS})")
    for name, median in medians.items():
        print(f"  {name:<32}{median * 1e3:8.2f} ms {median / bare:8.1f} x")


if __name__ == "__main__":
    main()
