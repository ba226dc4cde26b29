"""Metric for inspect_ai that reads labels and identities from the metadata of the samples."""

import logging
import math
from collections.abc import Sequence

from fairboard._values import flat
from grader.metrics import bias_report

try:
    from inspect_ai.scorer import Metric, SampleScore, Value, metric
except ImportError as error:
    raise ImportError("fairboard.inspect_ai requires inspect_ai: pip install inspect-ai") from error

logger = logging.getLogger(__name__)


@metric
def bias(identities: Sequence[str], label: str = "label", *, cells: bool = False) -> Metric:
    """Measure the unintended bias of an evaluation whose scores are numbers, used as predictions.

    The metric returns a dictionary. Undefined values are NaN, and their reasons are logged as warnings.

    Parameters
    ----------
    identities : sequence of str
        The keys of the identities in the sample metadata; None and numbers below 0.5 are not mentioned.
    label : str
        The key of the label in the sample metadata; positive if at least 0.5.
    cells : bool
        Whether to return all cells, such as ``bpsn_auc/cat``, besides the score and its terms.

    Raises
    ------
    ValueError
        If scores or metadata are not finite numbers; the message contains the IDs of the samples.

    Examples
    --------
    >>> from inspect_ai.scorer import Score
    >>> rows = [(0.9, {"label": 1, "cat": 1}), (0.3, {"label": 0, "cat": 1}), (0.2, {"label": 0, "cat": 0})]
    >>> scores = [SampleScore(score=Score(value=value), sample_metadata=data) for value, data in rows]
    >>> bias(["cat"])(scores)["overall_auc"]
    1.0
    """

    def measure(scores: list[SampleScore]) -> Value:
        rows = [{**(each.sample_metadata or {}), "score value": each.score.value} for each in scores]
        wrong = [
            f"{each.sample_id} ({key} is {row.get(key, 'missing')!r})"
            for each, row in zip(scores, rows, strict=True)
            for key in ("score value", label, *identities)
            if not (_is_number(row.get(key)) or (key in identities and row.get(key, "") is None))
        ]
        if wrong:
            more = f", and {len(wrong) - 9} more" if len(wrong) > 9 else ""
            raise ValueError(f"`bias` requires numbers, but not all are: {', '.join(wrong[:9])}{more}.")
        columns = {key: [row[key] for row in rows] for key in ("score value", label, *identities)}
        report = bias_report(label, "score value", list(identities), data=columns)
        for each in report.undefined:
            if each.affects_score or cells:
                logger.warning(str(each))
        return {name: value for name, value in flat(report).items() if cells or "/" not in name}

    return measure


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)
