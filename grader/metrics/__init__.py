"""The Jigsaw unintended bias metric, reproducible to the last bit; requires only NumPy."""

from grader.metrics.bias import power_mean, unintended_bias_score
from grader.metrics.chunked_counts import count_chunks
from grader.metrics.counts import IdentityCounts, PairCounts
from grader.metrics.metric_settings import MetricSettings, UndefinedPolicy, Weights
from grader.metrics.pair_counting import count_pairs, count_ranks
from grader.metrics.prepared import PreparedSplit, prepare
from grader.metrics.ranks import RankArray, dense_ranks
from grader.metrics.reports import BiasReport, PowerMeans, bias_report, report
from grader.metrics.selfcheck import METRIC_CODE_VERSION, check_golden_vectors
from grader.metrics.subgroups import BIAS_AUCS, SubgroupReport, Undefined

__all__ = [
    "BIAS_AUCS",
    "METRIC_CODE_VERSION",
    "BiasReport",
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
    "bias_report",
    "check_golden_vectors",
    "count_chunks",
    "count_pairs",
    "count_ranks",
    "dense_ranks",
    "power_mean",
    "prepare",
    "report",
    "unintended_bias_score",
]
