"""Benchmark of false differences between files, and of the coverage of bootstrap intervals.

    .venv/bin/python benchmarks/differences.py [--pairs 1000] [--draws 300]

Two equally good models should be called different in about 5 % of samples, and models whose scores differ by
four standard errors in at least 95 %. The intervals of `bias_bootstrap` should contain the value of a very
large sample in 91 to 98 % of samples.
"""

import argparse
from typing import Any

import numpy as np

from fairboard import MetricSettings, bias_bootstrap, bias_report
from fairboard.bias.metric import BiasMetric, identity_column
from fairboard.interface import Metric, Options
from fairboard.measured import measuring, paired_difference
from grader.metrics.registry import metric

ROWS, COVERED_ROWS, MANY_ROWS, CALIBRATION, STEPS = 1000, 5000, 400_000, 200, 8
IDENTITIES = ("female", "jewish", "muslim")
METRICS: dict[str, Metric] = {
    "bias": BiasMetric(IDENTITIES, MetricSettings()),
    "roc_auc": metric("roc_auc", Options()),
    "accuracy": metric("accuracy", Options(classes=("no", "yes"))),
    "rmse": metric("rmse", Options()),
}
Sample = tuple[dict[str, Any], list[dict[str, Any]]]


def sample(name: str, rng: np.random.Generator, effect: float, rows: int = ROWS) -> Sample:
    """Return a solution and the files of two models; the noise of the first is smaller by `effect`."""
    noise = rng.normal(size=rows)
    own = [scale * rng.normal(size=rows) for scale in (1 - effect, 1)]
    if name == "rmse":
        target = 3 * rng.normal(size=rows)
        return {"target": target}, [{"prediction": target + noise + each} for each in own]
    labels = rng.random(rows) < 0.4
    truth: dict[str, Any] = {"target": labels.astype(float)}
    truth |= {identity_column(each): (rng.random(rows) < 0.3).astype(float) for each in IDENTITIES}
    files = [2.5 * labels + noise + each for each in own]
    if name == "accuracy":
        return {"target": labels.astype(int)}, [{"prediction": (each > 1.25).astype(int)} for each in files]
    return truth, [{"prediction": each} for each in files]


def ratio(name: str, effect: float) -> float:
    """Return the mean difference between the scores of two models in standard deviations."""
    found, rng, scored = [], np.random.default_rng(1), METRICS[name]
    for _ in range(CALIBRATION):
        truth, files = sample(name, rng, effect)
        split = scored.prepare(truth, np.arange(ROWS))
        one, other = (scored.score(split, scored.encode(each)).score for each in files)
        found.append(one - other)
    return abs(float(np.mean(found) / np.std(found)))


def effect_of(name: str, wanted: float) -> float:
    """Return the effect that leads to a difference of this many standard errors."""
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if ratio(name, middle) < wanted else (low, middle)
    return (low + high) / 2


def called_different(name: str, effect: float, pairs: int) -> float:
    """Return the share of pairs whose difference is clear."""
    rng, clear = np.random.default_rng(2), 0
    for _ in range(pairs):
        truth, files = sample(name, rng, effect)
        measure = measuring(METRICS[name], truth, np.arange(ROWS))
        found = paired_difference(*(measure(METRICS[name].encode(each)) for each in files))
        clear += found is not None and abs(found.value) > found.margin
    return clear / pairs


def coverage(draws: int, samples: int) -> dict[str, float]:
    """Return the share of intervals of the score and its terms that contain the value of many rows."""

    def arguments(rng: np.random.Generator, rows: int) -> tuple[Any, Any, Any]:
        truth, files = sample("bias", rng, 0, rows)
        members = {each: truth[identity_column(each)] for each in IDENTITIES}
        return truth["target"], files[0]["prediction"], members

    many = bias_report(*arguments(np.random.default_rng(3), MANY_ROWS))
    expected = {"score": many.score, **many.terms}
    covered, rng = dict.fromkeys(expected, 0), np.random.default_rng(4)
    for draw in range(draws):
        found = bias_bootstrap(*arguments(rng, COVERED_ROWS), samples=samples, seed=draw)
        for name, low, high in found.loc[""].drop(columns="value").itertuples():
            covered[name] += low <= expected[name] <= high
    return {name: count / draws for name, count in covered.items()}


def main() -> None:
    """Print all shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("pairs", 1000), ("draws", 300), ("samples", 200)):
        parser.add_argument(f"--{name}", type=int, default=default)
    chosen = parser.parse_args()
    for name in METRICS:
        shares = (called_different(name, effect, chosen.pairs) for effect in (0, effect_of(name, 4)))
        print(name, "equally good {:.1%}, four standard errors {:.1%} called different".format(*shares))
    print("coverage:", {name: f"{each:.1%}" for name, each in coverage(chosen.draws, chosen.samples).items()})


if __name__ == "__main__":
    main()
