"""Metrics of unintended bias: exact AUCs per identity; requires only NumPy.

`bias_report` measures a model, and `bias_bootstrap` estimates how far its values, or the differences to those
of a baseline, depend on the rows. To score many submissions, prepare the split once with `prepare`, then call
`count_pairs` and `report` for each submission. To score the same predictions repeatedly, rank them once with
`dense_ranks`, then call `count_ranks`. `grader.metrics` implements these functions.
"""

from grader.metrics import (
    BIAS_AUCS,
    METRIC_CODE_VERSION,
    BiasReport,
    IdentityCounts,
    MetricSettings,
    PairCounts,
    PowerMeans,
    PreparedSplit,
    RankArray,
    SubgroupReport,
    Undefined,
    UndefinedPolicy,
    Weights,
    bias_report,
    check_golden_vectors,
    count_pairs,
    count_ranks,
    dense_ranks,
    power_mean,
    prepare,
    report,
    unintended_bias_score,
)
from grader.metrics.bias.bootstrap import BootstrapInterval, BootstrapReport, bias_bootstrap
from grader.metrics.bias.inputs import identities_from_text

__all__ = [
    "BIAS_AUCS",
    "METRIC_CODE_VERSION",
    "BiasReport",
    "BootstrapInterval",
    "BootstrapReport",
    "IdentityCounts",
    "MetricSettings",
    "PairCounts",
    "PowerMeans",
    "PreparedSplit",
    "RankArray",
    "SubgroupReport",
    "Undefined",
    "UndefinedPolicy",
    "Weights",
    "bias_bootstrap",
    "bias_report",
    "check_golden_vectors",
    "count_pairs",
    "count_ranks",
    "dense_ranks",
    "identities_from_text",
    "power_mean",
    "prepare",
    "report",
    "unintended_bias_score",
]
