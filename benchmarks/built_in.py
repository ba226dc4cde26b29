"""Benchmark of the built-in metrics against scikit-learn's and scipy's functions on the same arrays.

Run ``python benchmarks/built_in.py``; ``benchmarks/scoring.py`` also prints these rows. The reference
computes the score alone. `score` does the same with exact sums, from the predictions and a prepared split.
Times are CPU times of one thread.
"""

import os

# As in a worker. This must be set before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from scipy import stats
from sklearn import metrics as oracle

from fairboard.interface import Options
from grader.metrics.registry import METRICS

ROWS = 100_000
REPEATS = 15
CLASSES = ("a", "b", "c", "d")


def macro_f1(truth: Any, guesses: Any) -> float:
    return float(oracle.f1_score(truth, guesses, average="macro", zero_division=0))


def quadratic(truth: Any, guesses: Any) -> float:
    return float(oracle.cohen_kappa_score(truth, guesses, weights="quadratic"))


def make() -> dict[str, tuple[Options, Any, dict[str, Any], Callable[..., Any]]]:
    """Return for each metric its options, the truth, the predictions by column, and the reference."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, ROWS)
    guesses = np.where(rng.random(ROWS) < 0.6, truth, rng.integers(0, 4, ROWS))
    labels = (rng.random(ROWS) < 0.1).astype(float)
    scores = np.clip(rng.normal(0.3, 0.2, ROWS) + 0.2 * labels, 0, 1)
    table = rng.dirichlet(np.ones(4), ROWS)
    target = rng.gamma(2, 10, ROWS) + 0.1
    numbers = np.abs(target + rng.normal(0, 5, ROWS))
    four, two, none = Options(classes=CLASSES), Options(classes=CLASSES[:2], positive=CLASSES[1]), Options()
    of_classes = {
        "accuracy": oracle.accuracy_score,
        "balanced_accuracy": oracle.balanced_accuracy_score,
        "macro_f1": macro_f1,
        "mcc": oracle.matthews_corrcoef,
        "kappa": oracle.cohen_kappa_score,
        "quadratic_kappa": quadratic,
    }
    of_labels = {
        "log_loss": oracle.log_loss,
        "brier": oracle.brier_score_loss,
        "roc_auc": oracle.roc_auc_score,
        "average_precision": oracle.average_precision_score,
    }
    of_numbers = {
        "rmse": oracle.root_mean_squared_error,
        "mae": oracle.mean_absolute_error,
        "rmsle": oracle.root_mean_squared_log_error,
        "mape": oracle.mean_absolute_percentage_error,
        "r2": oracle.r2_score,
        "pearson": stats.pearsonr,
        "spearman": stats.spearmanr,
    }
    return (
        {name: (four, truth, {"prediction": guesses}, call) for name, call in of_classes.items()}
        | {"f1": (two, truth % 2, {"prediction": guesses % 2}, oracle.f1_score)}
        | {name: (none, labels, {"prediction": scores}, call) for name, call in of_labels.items()}
        | {
            "multi_class_log_loss": (
                four,
                truth,
                dict(zip(CLASSES, np.ascontiguousarray(table.T), strict=True)),
                oracle.log_loss,
            )
        }
        | {name: (none, target, {"prediction": numbers}, call) for name, call in of_numbers.items()}
    )


def seconds(call: Callable[[], object]) -> float:
    start = time.thread_time()
    call()
    return time.thread_time() - start


def print_built_in_rows() -> None:
    """Print one line for each metric."""
    print(f"{f'{ROWS:,} rows':<24}{'reference':>11}{'score':>10}{'ratio':>8}")
    for name, (options, truth, columns, reference) in make().items():
        metric = METRICS[name](options)
        split = metric.prepare({"target": truth}, np.arange(ROWS))
        given = np.stack(list(columns.values()), axis=1) if len(columns) > 1 else columns["prediction"]
        calls = {
            "reference": partial(reference, truth, given),
            "score": lambda metric=metric, split=split, columns=columns: (
                metric.score(split, metric.encode(columns)).score
            ),
        }
        taken: dict[str, list[float]] = {each: [] for each in calls}
        for _ in range(REPEATS):
            for each, call in calls.items():
                taken[each].append(seconds(call))
        time_of = {each: 1000 * median(values) for each, values in taken.items()}
        print(
            f"{name:<24}{time_of['reference']:>8.2f} ms{time_of['score']:>7.2f} ms"
            f"{time_of['reference'] / time_of['score']:>7.1f}x",
            flush=True,
        )


if __name__ == "__main__":
    print_built_in_rows()
