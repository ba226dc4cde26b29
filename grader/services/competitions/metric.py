"""Metric settings of drafts and scoring versions."""

from pydantic import Field

from grader.metrics import MetricSettings, registry
from grader.metrics.interface import Metric
from grader.models import Competition, ScoringVersion
from grader.services.stored_json import StoredJson, StoredMetric, StoredNames

MIN_CLASS_ROWS = 25


class MetricChoice(StoredJson):
    """The metric settings of a draft, from which the solution check creates the `Rules`.

    If `identities` is None, the check chooses the identities with at least `min_class_rows` rows of each
    class in each split.
    """

    identities: StoredNames | None = None
    min_class_rows: int = MIN_CLASS_ROWS
    metric: StoredMetric = Field(default_factory=MetricSettings)


class Rules(StoredJson):
    """The settings of the bias metric in a scoring version, including the identities in the score."""

    identities: StoredNames
    metric: StoredMetric

    @property
    def term_names(self) -> tuple[str, ...]:
        """The names of the terms, in the metric's order."""
        return tuple(self.metric.weights.as_dict())


def of(competition: Competition) -> MetricChoice:
    """Return the metric settings of the live scoring version or, if there is none, of the draft."""
    draft = competition.draft_metric
    chosen = MetricChoice() if draft is None else MetricChoice.from_dict(draft)
    if competition.live_scoring_version is None:
        return chosen
    rules = Rules.from_dict(competition.live_scoring_version.metric_settings)
    return MetricChoice(
        identities=rules.identities, min_class_rows=chosen.min_class_rows, metric=rules.metric
    )


def of_version(version: ScoringVersion) -> Metric:
    """Return the metric of a scoring version."""
    return registry.of_settings(version.metric_settings)


def term_names(version: ScoringVersion) -> tuple[str, ...]:
    """Return the names of the terms of a scoring version, in the metric's order."""
    return tuple(term.name for term in of_version(version).describe().terms)
