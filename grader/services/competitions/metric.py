"""Metric settings of drafts and scoring versions."""

from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, InstanceOf, PlainSerializer, PlainValidator, TypeAdapter
from pydantic.json_schema import SkipJsonSchema

from fairboard import MetricSettings, Weights
from fairboard.bias.metric import BiasMetric
from fairboard.groups import LEAST_ROWS, without_mean
from fairboard.interface import Description, Metric, Options
from grader.files.submission.columns import ID, PREDICTION, SubmissionColumns
from grader.metrics import registry
from grader.models import Competition, ScoringVersion
from grader.scored_files import MOST_CLASSES, columns_of, with_some_classes
from grader.services.site.stored_json import StoredJson, StoredNames
from grader.text import is_storable, listed

MIN_CLASS_ROWS = LEAST_ROWS
MAX_CUTOFF = 1000


def _storable(text: str) -> str:
    if not is_storable(text):
        raise ValueError("must not contain NUL (U+0000)")
    return text


Name = Annotated[str, Field(max_length=255), AfterValidator(_storable)]
# A repeated name counts once.
Names = Annotated[
    tuple[Name, ...],
    Field(strict=False, max_length=MOST_CLASSES),
    AfterValidator(lambda names: tuple(dict.fromkeys(names))),
]


# Columns of leaderboards and exports, and the id.
RESERVED = frozenset({"id", "score", "rank", "team", "members", "entries", "overall"})
PYTHON_FIELDS = ("source", "python")
# A column and a value; a list of any length has the simpler schema.
Group = Annotated[tuple[Name, ...], Field(strict=False, min_length=2, max_length=2)]


class NamedMetric(StoredJson):
    """The metric of a competition with its options; blank ones are taken from the solution.

    `columns`, `classes`, `positive`, `cutoff` and `decimals` are the options of the metric. `weight` is the
    weight of the overall value in the score; the rest is the weight of the power mean over the groups in
    `scored_groups`. `groups` are columns of the solution; the solution check sets them and `scored_groups`.
    `target` is the column with the true values, unless the metric is a mean over `columns`. `reported` are
    further metrics of the same columns that are terms, but not part of the score. `id` and `prediction` are
    the columns of submissions; the solution check sets `id`.

    The bias metric has only a `formula`: the weights, the power and the thresholds. Its groups are the
    identities.

    The metric `python` has the hash of its metric.py in `source` and its `PythonSettings` in `python`. Only
    an upload sets them.
    """

    name: Name = registry.BIAS
    columns: Names = ()
    classes: Names = ()
    positive: Name | None = None
    cutoff: Annotated[int, Field(ge=1, le=MAX_CUTOFF)] = 5
    decimals: Annotated[int, Field(ge=0, le=15)] = 5
    id: Name = ID
    prediction: Name = PREDICTION
    weight: Annotated[float, Field(ge=0, le=1)] = 1.0
    target: Name | None = None
    groups: Names = ()
    scored_groups: Annotated[tuple[Group, ...], Field(strict=False)] = ()
    reported: Names = ()
    source: Name | None = None
    python: dict[str, Any] | None = None
    formula: SkipJsonSchema[InstanceOf[MetricSettings]] = Field(default_factory=MetricSettings, exclude=True)

    @property
    def is_python(self) -> bool:
        """Whether the metric is a metric.py."""
        return self.name == registry.PYTHON

    @property
    def takes_identities(self) -> bool:
        """Whether the groups are columns of annotations, which organizers choose, and may overlap."""
        return self.name == registry.BIAS

    @property
    def group_words(self) -> tuple[str, str]:
        """The words for a group, in singular and plural."""
        return ("identity", "identities") if self.takes_identities else ("group", "groups")

    def as_dict(self) -> dict[str, Any]:
        """Return JSON data without the fields of other metrics; that of the bias metric is untagged."""
        names = {"id": ID, "prediction": PREDICTION}
        named = {name: value for name in names if (value := getattr(self, name)) != names[name]}
        if self.takes_identities:
            return self.formula.as_dict() | named
        omitted = {*(() if self.is_python else PYTHON_FIELDS), *(() if self.reported else ("reported",))}
        omitted |= names.keys() | ({"decimals"} if self.decimals == Options().decimals else set())
        return {name: each for name, each in super().as_dict().items() if name not in omitted} | named

    @property
    def blank_options(self) -> Options:
        """The options of the metric, without classes if they are not known yet."""
        return Options(self.columns, self.classes, self.positive, self.cutoff, self.decimals)

    @property
    def options(self) -> Options:
        """The options of the metric; classes that are not known yet are replaced by others."""
        return with_some_classes(self.blank_options)

    @property
    def alternatives(self) -> dict[str, str]:
        """The titles of the metrics for the same columns of solutions and submissions, by name."""
        if self.takes_identities:
            return {}
        if self.name not in registry.METRICS:
            return {self.name: self.describe().title}
        names, positive = registry.fitting(self.name, self.options), self.positive or self.options.classes[-1]
        changed = {"reported": (), "positive": positive}
        metrics = [self.model_copy(update={"name": name, **changed}) for name in names]
        return {
            each.name: each.describe().title
            for each in metrics
            if each.name == self.name or not each.problems()
        }

    def describe(self) -> Description:
        """Describe the metric; raise ValueError if it does not exist or needs other options."""
        if self.takes_identities:
            return BiasMetric((), self.formula).describe()
        if self.is_python:
            if self.source is None or self.python is None:
                raise ValueError("Upload the metric.py of this metric.")
            return registry.of_settings(self.as_dict()).describe()
        metric = registry.metric(self.name, self.options)
        return registry.reporting(metric, self.reported, self.options).describe()

    def problems(self) -> list[str]:
        """Return the reasons why the metric cannot be used."""
        try:
            about = self.describe()
        except ValueError as error:
            return [str(error)]
        problems = []
        if self.columns and tuple(each.name for each in about.truth) != self.columns:
            problems.append(f"{about.title} has one column. Remove the names of several columns.")
        if reserved := sorted(RESERVED.intersection(self.columns)):
            problems.append(f"These column names are reserved: {', '.join(reserved)}.")
        elif self.id in {each.name for each in about.predictions} | {self.prediction}:
            problems.append(f"The column {self.id} contains the ids. Predictions need another name.")
        if self.classes and self.positive is not None and self.positive not in self.classes:
            problems.append(f"The positive class {self.positive!r} is not one of the classes.")
        if self.weight < 1 and (reason := without_mean(about)):
            declare = (
                " If the metric is never negative, declare this when you upload it." if self.is_python else ""
            )
            problems.append(reason + declare)
        return problems


def is_other_file(before: NamedMetric, after: NamedMetric) -> bool:
    """Return whether changed settings would use another metric.py, which requires an upload."""
    new = after.source, after.python
    return new != (None, None) and new != (before.source, before.python)


_BIAS = TypeAdapter(MetricSettings)
_PARTS_OF_BIAS = {each.name for kind in (MetricSettings, Weights) for each in fields(kind)}


def metric_of(data: Any) -> NamedMetric:
    """Parse metric settings; those without a name are of the bias metric. Raise ValueError."""
    if isinstance(data, NamedMetric):
        return data
    if isinstance(data, MetricSettings):
        return NamedMetric(formula=data)
    if not isinstance(data, Mapping):
        raise ValueError("must be an object")  # noqa: TRY004  (pydantic expects it)
    if data.get(registry.TAG, registry.BIAS) != registry.BIAS:
        return NamedMetric.from_dict(data)
    named = {name: data[name] for name in ("id", "prediction") if name in data}
    parts = {name: each for name, each in data.items() if name not in (registry.TAG, *named)}
    weights = parts.get("weights")
    if unknown := sorted({*parts, *(weights if isinstance(weights, dict) else ())} - _PARTS_OF_BIAS):
        raise ValueError(f"{listed(unknown)}: not a part of the bias metric")
    return NamedMetric(formula=_BIAS.validate_python(parts), **named)


StoredMetric = Annotated[
    NamedMetric,
    PlainValidator(metric_of, json_schema_input_type=MetricSettings | NamedMetric),
    PlainSerializer(lambda each: each.as_dict(), return_type=dict),
]


class MetricChoice(StoredJson):
    """The metric settings of a draft, from which the solution check creates the `Rules`.

    If `identities` is None, the check chooses the identities with at least `min_class_rows` rows of each
    class in each split.
    """

    identities: StoredNames | None = None
    min_class_rows: int = MIN_CLASS_ROWS
    metric: StoredMetric = Field(default_factory=NamedMetric)


class Rules(StoredJson):
    """The metric of a scoring version, and the identities in the score of the bias metric."""

    identities: StoredNames = ()
    metric: StoredMetric

    @classmethod
    def of(cls, version: ScoringVersion) -> Self:
        """Return the rules of a scoring version."""
        stored = version.metric_settings
        return cls.from_dict(stored if registry.is_default(stored) else {"metric": stored})

    def as_settings(self) -> dict[str, Any]:
        """Return the settings of a scoring version."""
        return self.as_dict() if self.metric.takes_identities else self.metric.as_dict()

    @cached_property
    def scorer(self) -> Metric:
        """The metric."""
        return registry.of_settings(self.as_settings())

    @cached_property
    def about(self) -> Description:
        """The description of the metric."""
        return self.scorer.describe()

    @property
    def columns(self) -> SubmissionColumns:
        """The columns that a submission must have."""
        return columns_of(self.as_settings())

    @property
    def term_names(self) -> tuple[str, ...]:
        """The names of the terms, in the metric's order."""
        return tuple(term.name for term in self.about.terms)

    def choice(self, min_class_rows: int) -> MetricChoice:
        """Return the settings of a draft that lead to these rules."""
        identities = self.identities or None
        return MetricChoice(identities=identities, min_class_rows=min_class_rows, metric=self.metric)


def rules_of(competition: Competition) -> Rules:
    """Return the rules of the live scoring version or, if there is none, the planned rules of the draft."""
    if competition.live_scoring_version is not None:
        return Rules.of(competition.live_scoring_version)
    choice = of(competition)
    return Rules(identities=choice.identities or (), metric=choice.metric)


def of(competition: Competition) -> MetricChoice:
    """Return the metric settings of the live scoring version or, if there is none, of the draft."""
    draft = competition.draft_metric
    chosen = MetricChoice() if draft is None else MetricChoice.from_dict(draft)
    if competition.live_scoring_version is None:
        return chosen
    return Rules.of(competition.live_scoring_version).choice(chosen.min_class_rows)
