"""The Jigsaw unintended bias metric, reproducible to the last bit; requires only NumPy."""

from grader.metrics.bias.counts import IdentityCounts, PairCounts
from grader.metrics.bias.metric_settings import MetricSettings, UndefinedPolicy, Weights
from grader.metrics.bias.pair_counting import count_pairs, count_ranks
from grader.metrics.bias.prepared import PreparedSplit, prepare
from grader.metrics.bias.reports import BiasReport, PowerMeans, bias_report, report
from grader.metrics.bias.score import power_mean, unintended_bias_score
from grader.metrics.bias.selfcheck import METRIC_CODE_VERSION, check_golden_vectors
from grader.metrics.bias.subgroups import BIAS_AUCS, SubgroupReport, Undefined
from grader.metrics.ranks import RankArray, dense_ranks

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
    "count_pairs",
    "count_ranks",
    "dense_ranks",
    "power_mean",
    "prepare",
    "report",
    "unintended_bias_score",
]
