"""Metric for inspect_ai that reads labels and identities from the metadata of the samples."""

import logging
import math
from collections.abc import Sequence

from fairboard._values import flat
from grader.metrics.analysis.influence import Sets
from grader.metrics.analysis.intervals import uncertainty_report
from grader.metrics.inputs import Inputs

try:
    from inspect_ai.scorer import Metric, SampleScore, Value, metric
except ImportError as error:
    raise ImportError("fairboard.inspect_ai requires inspect_ai: pip install inspect-ai") from error


@metric
def bias(
    identities: Sequence[str], label: str = "label", *, cluster: str | None = None, cells: bool = False
) -> Metric:
    """Measure the unintended bias of an evaluation whose scores are numbers, used as predictions.

    The metric returns a dictionary. Undefined values are NaN, and their reasons are logged as warnings.

    Parameters
    ----------
    identities, label : sequence of str, str
        The keys of numbers in the sample metadata, with a threshold of 0.5. An identity may be None.
    cluster : str, optional
        The key of a number or text in the sample metadata, equal for samples that depend on each other. The
        standard error ``score_stderr`` is then robust to this dependence.
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
            raise ValueError(f"`bias` requires numbers; {len(wrong)} values are not: {', '.join(wrong[:9])}.")
        keys = ["score value", label, *identities, *filter(None, [cluster])]
        data = {key: [row.get(key) for row in rows] for key in keys}
        inputs = Inputs.of(label, "score value", list(identities), data=data, cluster=cluster)
        split, clusters = inputs.split, inputs.cluster
        sets = Sets(split) if clusters is None else Sets.clustered(split, clusters)
        found = uncertainty_report(sets, inputs.y_score)
        for each in found.report.undefined:
            logging.getLogger(__name__).warning(str(each))
        error = found.score.standard_error if found.score else None
        values = flat(found.report) | {"score_stderr": math.nan if error is None else error}
        return {name: value for name, value in values.items() if cells or "/" not in name}

    return measure


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)
