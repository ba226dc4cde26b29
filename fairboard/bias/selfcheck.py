"""Metric version, and a check that the machine's arithmetic reproduces golden values."""

import hashlib
import json

import numpy as np

from fairboard.bias.metric_settings import MetricSettings
from fairboard.bias.pair_counting import count_pairs, count_ranks
from fairboard.bias.prepared import FloatArray, PreparedSplit, prepare
from fairboard.bias.reports import report
from fairboard.ranks import dense_ranks

# Increase this number whenever a metric's value, or whether it is undefined, changes for any input.
METRIC_CODE_VERSION = 1

GOLDEN_ROWS = 4096
GOLDEN_DIGEST = "d77cc2a606b44bc8853502a9bbef4c6540b053f8774441e57b09250f5b170c2b"


class MetricDisagrees(RuntimeError):
    """The metric does not reproduce the golden values on this machine."""


def check_golden_vectors() -> None:
    """Verify that all counts and reports of fixed inputs match the golden values bit for bit.

    Raises
    ------
    MetricDisagrees
        If a value differs. A worker must then not process jobs.

    Examples
    --------
    >>> check_golden_vectors()
    """
    if golden_digest() != GOLDEN_DIGEST:
        raise MetricDisagrees(
            f"The metric (code version {METRIC_CODE_VERSION}) returns wrong values on this machine "
            f"with NumPy {np.__version__}. Do not score submissions here."
        )


def golden_digest() -> str:
    """Return the SHA-256 of all counts and reports for the golden inputs, or an error message."""
    results = []
    split, scattered = _golden_input()
    powers = (-5.0, 0.0, 1.0, 2.5)
    for y_score in (scattered, np.round(scattered, 2), 5e-324 * np.round(100 * scattered)):
        counts = count_pairs(split, y_score)
        if count_ranks(split, dense_ranks(y_score)) != counts:
            return "Pair counts from ranks differ from pair counts from predictions."
        results.append(counts.as_dict())
        for power in powers:
            values = report(counts, MetricSettings(power=power)).as_dict()
            del values["undefined"]  # Reasons are texts that may change.
            results.append(values)
    return hashlib.sha256(json.dumps(results).encode()).hexdigest()


def _golden_input() -> tuple[PreparedSplit, FloatArray]:
    # Only integer arithmetic is used, because the stream of a random generator may change.
    step = np.arange(GOLDEN_ROWS, dtype=np.uint64)
    noise = (step * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)) >> np.uint64(40)
    labels = noise % 11 == 0
    identities = {f"identity {k}": noise % (3 + 7 * k) == k for k in range(5)}
    y_score = (noise.astype(np.float64) + labels * 2.0**22) / 2.0**25
    return prepare(labels, identities), y_score
