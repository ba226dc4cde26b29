"""Metric settings of a competition (identities, power, weights) and those a scoring version keeps."""

from pydantic import Field

from grader.metrics import MetricSettings
from grader.models import Competition
from grader.services.stored_json import StoredJson, StoredMetric, StoredNames

MIN_CLASS_ROWS = 25


class MetricChoice(StoredJson):
    """The metric of a draft; its solution is checked with it and makes `Rules` of it.

    `identities` of None are those of the solution with at least `min_class_rows` rows of each class in each
    split.
    """

    identities: StoredNames | None = None
    min_class_rows: int = MIN_CLASS_ROWS
    metric: StoredMetric = Field(default_factory=MetricSettings)


class Rules(StoredJson):
    """The identities in the score and the metric's settings."""

    identities: StoredNames
    metric: StoredMetric


def of(competition: Competition) -> MetricChoice:
    """Return the metric of the live scoring version; before there is one, what was chosen."""
    draft = competition.draft_metric
    chosen = MetricChoice() if draft is None else MetricChoice.from_dict(draft)
    if competition.live_scoring_version is None:
        return chosen
    rules = Rules.from_dict(competition.live_scoring_version.metric_settings)
    return MetricChoice(
        identities=rules.identities, min_class_rows=chosen.min_class_rows, metric=rules.metric
    )
