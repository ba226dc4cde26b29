"""Every bit of the scores of all metrics, compared with a recording.

`python -m tests.fairboard.test_recorded_scores` writes the recording again. Do so only after a change that is
meant to change scores.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from fairboard import MetricSettings, Weights
from fairboard.bias.metric import BiasMetric, identity_column
from fairboard.groups import GroupedMetric, GroupRules
from fairboard.interface import (
    ColumnKind,
    Options,
    UnsuitablePredictions,
    UnsuitableTruth,
)
from grader.metrics.registry import METRICS

RECORDING = Path(__file__).parents[1] / "recordings" / "scores.json"
SOLUTIONS = 50
CLASSES = ("ham", "spam", "eggs", "toast")
# The last bits of a logarithm depend on the processor.
LOGARITHMIC = {"log_loss", "multi_class_log_loss", "rmsle", "mean_log_loss"}
BINARY = {"log_loss", "brier", "roc_auc", "average_precision", "mean_roc_auc", "mean_log_loss"}


def of_name(name, rng):
    """Return a metric with options that suit it."""
    if name == "bias":
        weights = rng.dirichlet(np.ones(4)).round(2)
        weights[0] = 1 - math.fsum(weights[1:])
        power = float(rng.choice([-5, -math.inf, -1, 0, 2]))
        settings = MetricSettings(power=power, weights=Weights(*weights.tolist()), undefined="skip")
        return BiasMetric(("cat", "dog", "newt"), settings)
    if name.startswith("mean_"):
        return METRICS[name](Options(columns=("a", "b")))
    positive = str(rng.choice(CLASSES[:2])) if name == "f1" else None
    classes = CLASSES[: 2 if name == "f1" else int(rng.integers(2, 5))]
    return METRICS[name](Options(classes=classes, positive=positive, cutoff=int(rng.integers(1, 5))))


def column(name, about, rng, rows, size):
    """Return targets and predictions, with ties, skewed classes and sometimes constant predictions."""
    kind, is_constant = about.truth[0].kind, rng.random() < 0.1
    if kind is ColumnKind.CLASSES:
        truth = np.stack([rng.permutation(6)[:3] for _ in range(rows)])
        truth[rng.random((rows, 3)) < 0.3] = -1
        truth[:, 0] = np.maximum(truth[:, 0], 0)
        return truth, rng.integers(-1, 6, (rows, 5))
    if kind is ColumnKind.CLASS:
        truth = rng.choice(size, rows, p=rng.dirichlet(np.ones(size)))
        guesses = np.where(rng.random(rows) < rng.random(), truth, rng.integers(0, size, rows))
        return truth, np.full(rows, guesses[0]) if is_constant else guesses
    if name in BINARY or name == "bias":
        truth = (rng.random(rows) < rng.uniform(0.05, 0.6)).astype(float)
        guesses = np.clip(0.3 + rng.random() * truth + 0.2 * rng.normal(size=rows), 0, 1)
    else:
        # The last bits of a gamma distribution depend on the version of NumPy.
        truth = rng.gamma(2, 10.0 ** rng.integers(-3, 6), rows).astype(np.float32).astype(float) + 1e-9
        guesses = np.abs(truth + truth.std() * rng.random() * rng.normal(size=rows))
    guesses = guesses.round(int(rng.integers(1, 9)))
    return truth, np.full(rows, guesses[0]) if is_constant else guesses


def made(name, metric, rng):
    """Return a solution with groups, some of one class, and a file of predictions."""
    about, rows = metric.describe(), int(rng.integers(40, 401))
    columns = [each.name for each in about.truth if not each.name.startswith("identity: ")]
    size = len(getattr(metric, "options", Options()).classes)
    parts = {each: column(name, about, rng, rows, size) for each in columns}
    truth = {each: part[0] for each, part in parts.items()}
    predictions = {each.name: part[1] for each, part in zip(about.predictions, parts.values(), strict=False)}
    if name == "multi_class_log_loss":
        table = rng.dirichlet(np.ones(size), rows) + rng.random() * np.eye(size)[truth["target"]]
        predictions = {each.name: table[:, place] for place, each in enumerate(about.predictions)}
    first = truth[columns[0]]
    first = first[:, 0] if first.ndim > 1 else first
    truth["city"] = np.where(rng.random(rows) < 0.1, "", rng.choice(["Bonn", "Oslo", "Rome"], rows))
    truth["half"] = np.where((first > np.median(first)) & (rng.random(rows) < 0.9), "high", "low")
    for each in ("cat", "dog", "newt") if name == "bias" else ():
        truth[identity_column(each)] = (rng.random(rows) < rng.uniform(0.1, 0.6)).astype(float)
    return truth, predictions


def hexadecimal(result):
    values = [result.score, *(result.terms[name] for name in sorted(result.terms))]
    values += [each["score"] for column in result.groups.values() for each in column.values()]
    return " ".join(map(float.hex, values))


def scored(metric, truth, predictions):
    rows = np.arange(len(truth["city"]))
    try:
        return hexadecimal(metric.score(metric.prepare(truth, rows), metric.encode(predictions)))
    except (UnsuitableTruth, UnsuitablePredictions) as error:
        return type(error).__name__


def case(name, seed):
    """Return the values of one file without groups, with groups, and with groups in the score."""
    rng = np.random.default_rng([seed, *name.encode()])
    metric = of_name(name, rng)
    truth, predictions = made(name, metric, rng)
    least, weight, columns = (
        int(rng.integers(5, 30)),
        float(rng.choice([0, 0.25, 0.5, 0.8])),
        ("city", "half"),
    )
    values = [scored(metric, truth, predictions)]
    if name == "bias" or values == [UnsuitableTruth.__name__]:
        return values
    grouped = GroupedMetric(metric, GroupRules(columns))
    found = grouped.prepare(truth, np.arange(len(truth["city"]))).groups
    in_score = tuple(key for key, (rows, _) in found.items() if rows.size >= least)
    values.append(scored(grouped, truth, predictions))
    if in_score and metric.describe().is_nonnegative:
        values.append(
            scored(GroupedMetric(metric, GroupRules(columns, weight, in_score)), truth, predictions)
        )
    return values


@pytest.mark.parametrize("name", ["bias", *METRICS])
def test_scores_terms_and_groups_equal_the_recording(name):
    expected = json.loads(RECORDING.read_text())[name]
    found = [case(name, seed) for seed in range(SOLUTIONS)]
    if name not in LOGARITHMIC:
        assert found == expected
    for one, other in zip(found, expected, strict=True):
        assert [len(each.split()) for each in one] == [len(each.split()) for each in other]
        for value, wanted in zip(" ".join(one).split(), " ".join(other).split(), strict=True):
            if value != wanted:
                assert float.fromhex(value) == pytest.approx(float.fromhex(wanted), rel=1e-14, abs=0)


if __name__ == "__main__":
    found = {name: [case(name, seed) for seed in range(SOLUTIONS)] for name in ("bias", *METRICS)}
    RECORDING.write_text(json.dumps(found, indent=0) + "\n")
