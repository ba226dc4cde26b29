"""Unintended bias metrics and 23 other metrics, overall and by group.

Only NumPy is required. `score` computes any metric. `bias_report` measures a model. `bias_bootstrap` (with
pandas) estimates how far its values, or the differences to a baseline, depend on the rows. To score many
submissions, prepare the split once with `prepare`, then call `count_pairs` and `report` for each submission.
To score the same predictions repeatedly, rank them once with `dense_ranks`, then call `count_ranks`.
"""

from importlib.metadata import version

from fairboard.bias.bootstrap import bias_bootstrap
from fairboard.bias.counts import IdentityCounts, PairCounts
from fairboard.bias.metric_settings import MetricSettings, UndefinedPolicy, Weights
from fairboard.bias.pair_counting import count_pairs, count_ranks
from fairboard.bias.prepared import PreparedSplit, identities_from_text, prepare
from fairboard.bias.reports import BiasReport, bias_report, report
from fairboard.bias.score import power_mean
from fairboard.bias.selfcheck import METRIC_CODE_VERSION, check_golden_vectors
from fairboard.bias.subgroups import BIAS_AUCS, SubgroupReport, Undefined
from fairboard.metrics import METRICS, score
from fairboard.ranks import RankArray, dense_ranks

__version__ = version("fairboard")

__all__ = [
    "BIAS_AUCS",
    "METRICS",
    "METRIC_CODE_VERSION",
    "BiasReport",
    "IdentityCounts",
    "MetricSettings",
    "PairCounts",
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
    "score",
]
