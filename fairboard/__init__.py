"""Metrics of unintended bias: exact AUCs per identity, intervals and comparisons; requires only NumPy.

This package contains the public names for researchers. `grader` and `webapp` implement them and the service.
"""

from grader.metrics import (
    BiasReport,
    IdentityCounts,
    MetricSettings,
    PairCounts,
    PowerMeans,
    PreparedSplit,
    SubgroupReport,
    Undefined,
    UndefinedPolicy,
    Weights,
    bias_report,
    count_pairs,
    power_mean,
    prepare,
    report,
    unintended_bias_score,
)

__all__ = [
    "BiasReport",
    "IdentityCounts",
    "MetricSettings",
    "PairCounts",
    "PowerMeans",
    "PreparedSplit",
    "SubgroupReport",
    "Undefined",
    "UndefinedPolicy",
    "Weights",
    "bias_report",
    "count_pairs",
    "power_mean",
    "prepare",
    "report",
    "unintended_bias_score",
]
