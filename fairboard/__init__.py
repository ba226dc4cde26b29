"""Metrics of unintended bias: exact AUCs per identity, intervals and comparisons; requires only NumPy.

`bias_report` measures one model, `bias_intervals` adds confidence intervals, and `compare_models` compares
two models. To score many submissions, prepare the split once with `prepare`, then call `count_pairs` and
`report` for each submission. To score the same predictions repeatedly, rank them once with `dense_ranks`,
then call `count_ranks`. `grader.metrics` implements these functions.
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
from grader.metrics.bias.analysis.intervals import Estimate, UncertaintyReport
from grader.metrics.bias.analysis.model_reports import (
    Confusion,
    ConfusionReport,
    bias_intervals,
    compare_models,
    confusion_report,
)
from grader.metrics.bias.analysis.paired_differences import Difference, PairedReport
from grader.metrics.bias.bootstrap import BootstrapInterval, BootstrapReport, bias_bootstrap
from grader.metrics.bias.expected_error import rows_needed
from grader.metrics.bias.inputs import identities_from_text

__all__ = [
    "BIAS_AUCS",
    "METRIC_CODE_VERSION",
    "BiasReport",
    "BootstrapInterval",
    "BootstrapReport",
    "Confusion",
    "ConfusionReport",
    "Difference",
    "Estimate",
    "IdentityCounts",
    "MetricSettings",
    "PairCounts",
    "PairedReport",
    "PowerMeans",
    "PreparedSplit",
    "RankArray",
    "SubgroupReport",
    "UncertaintyReport",
    "Undefined",
    "UndefinedPolicy",
    "Weights",
    "bias_bootstrap",
    "bias_intervals",
    "bias_report",
    "check_golden_vectors",
    "compare_models",
    "confusion_report",
    "count_pairs",
    "count_ranks",
    "dense_ranks",
    "identities_from_text",
    "power_mean",
    "prepare",
    "report",
    "rows_needed",
    "unintended_bias_score",
]
