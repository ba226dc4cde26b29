"""Metric for inspect_ai that reads labels and identities from the metadata of the samples."""

import logging
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from grader.metrics import MetricSettings
from grader.metrics.bias.analysis.model_reports import bias_intervals
from grader.metrics.bias.report_tables import flat

try:
    from inspect_ai.scorer import Metric, SampleScore, Value, metric
except ImportError as error:
    raise ImportError("fairboard.inspect_ai requires inspect_ai: pip install inspect-ai") from error


@metric(scores="unreduced")
def bias(
    identities: Sequence[str] | str,
    label: str = "label",
    *,
    settings: Mapping[str, Any] | None = None,
    cluster: str | None = None,
    cells: bool = False,
) -> Metric:
    """Measure the unintended bias of an evaluation whose scores are numbers, used as predictions.

    The prediction of a sample is the mean of its scores over all epochs. The metric reads the scores before
    inspect_ai reduces them, because the reduction converts texts and ``NOANSWER`` to numbers. The metric
    returns a dictionary. Undefined values are NaN, and their reasons are logged as warnings.

    Parameters
    ----------
    identities, label : sequence of str (or one str), and str
        The keys of numbers in the sample metadata. An identity may be None.
    settings : mapping of str to Any, optional
        Metric settings by name, such as ``{"label_threshold": 0.8, "undefined": "skip"}``. They are plain
        values because inspect_ai stores them in its log.
    cluster : str, optional
        The key of a number or text in the sample metadata, equal for samples that depend on each other; a
        sample without it depends on none. The standard error ``score_stderr`` is then robust to this
        dependence.
    cells : bool
        Whether to return all cells, such as ``bpsn_auc/cat``, besides the score and its terms.

    Raises
    ------
    ValueError
        If a setting is invalid, or if scores or metadata are not finite numbers; the message contains the
        IDs of the samples.
    TypeError
        If `settings` is not a mapping.

    Examples
    --------
    >>> from inspect_ai.scorer import Score
    >>> rows = [(0.9, {"label": 1, "cat": 1}), (0.3, {"label": 0, "cat": 1}), (0.2, {"label": 0, "cat": 0})]
    >>> scores = [SampleScore(score=Score(value=value), sample_metadata=data) for value, data in rows]
    >>> bias(["cat"])(scores)["overall_auc"]
    1.0
    """

    names = [identities] if isinstance(identities, str) else list(identities)
    if isinstance(settings, MetricSettings):
        raise TypeError("`settings` must be a mapping, such as MetricSettings(...).as_dict().")
    chosen = MetricSettings.from_dict(settings or {})

    def measure(scores: list[SampleScore]) -> Value:
        rows = [{**(each.sample_metadata or {}), "score value": each.score.value} for each in scores]
        wrong = [
            f"{each.sample_id} ({key} is {row.get(key, 'missing')!r})"
            for each, row in zip(scores, rows, strict=True)
            for key in ("score value", label, *names)
            if not (_is_number(row.get(key)) or (key in names and row.get(key, "") is None))
        ]
        if wrong:
            raise ValueError(f"`bias` requires numbers; {len(wrong)} values are not: {', '.join(wrong[:9])}.")
        keys = [label, *names, *filter(None, [cluster])]
        epochs: dict[Any, list[Any]] = {}
        for each, row in zip(scores, rows, strict=True):
            epochs.setdefault(object() if each.sample_id is None else each.sample_id, []).append(row)
        data = {key: [first.get(key) for first, *_ in epochs.values()] for key in keys}
        means = [statistics.fmean(row["score value"] for row in each) for each in epochs.values()]
        report = bias_intervals(label, means, names, data=data, settings=chosen, cluster=cluster)
        for each in report.report.undefined:
            logging.getLogger(__name__).warning(str(each))
        error = report.score.standard_error if report.score else None
        values = flat(report.report) | {"score_stderr": math.nan if error is None else error}
        return {name: value for name, value in values.items() if cells or "/" not in name}

    return measure


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)
