"""Metrics averaged over several predicted columns."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from fairboard.built_in import DEFAULTS, PREDICTION, TARGET, BuiltIn, encoding_of
from fairboard.classification import LOG_LOSS, mean
from fairboard.interface import (
    Columns,
    Description,
    MetricResult,
    Options,
    RowArray,
    TermSpec,
    UnsuitableTruth,
)
from fairboard.ranking import ROC_AUC
from fairboard.regression import RMSE


@dataclass(frozen=True)
class MeanOverColumns:
    """The mean over columns of a metric of one column; the terms are the values of the columns."""

    name: str
    title: str
    one: BuiltIn
    options: Options = DEFAULTS
    version: ClassVar[str] = "1"

    def with_options(self, options: Options) -> Self:
        """Return the metric with other options; raise ValueError without columns."""
        if not options.columns:
            raise ValueError("The metric needs the names of its columns.")
        return replace(self, options=options)

    @property
    def encoding(self) -> str:
        """The name of the form of encoded predictions."""
        return encoding_of(self.name, self.version, self.options)

    def describe(self) -> Description:
        """Describe the metric."""
        one = self.one.describe()
        truth, prediction = one.truth[0], one.predictions[0]
        return replace(
            one,
            title=self.title,
            sentence=f"The mean over columns. {one.sentence}",
            truth=tuple(replace(truth, name=each) for each in self.options.columns),
            predictions=tuple(replace(prediction, name=each) for each in self.options.columns),
            terms=tuple(TermSpec(each, each, one.direction) for each in self.options.columns),
            decimals=self.options.decimals,
        )

    def encode(self, predictions: Columns) -> dict[str, Any]:
        """Encode each column."""
        return {each: self.one.encode({PREDICTION: predictions[each]}) for each in self.options.columns}

    def prepare(self, truth: Columns, rows: RowArray) -> dict[str, Any]:
        """Prepare each column; raise UnsuitableTruth with the reasons of all columns."""
        prepared, problems = dict[str, Any](), list[str]()
        for each in self.options.columns:
            try:
                prepared[each] = self.one.prepare({TARGET: truth[each]}, rows)
            except UnsuitableTruth as error:
                problems += [f"{each}: {problem}" for problem in error.problems]
        if problems:
            raise UnsuitableTruth(problems)
        return prepared

    def score(self, prepared: dict[str, Any], encoded: dict[str, Any]) -> MetricResult:
        """Compute the values of one file on one split."""
        results = {each: self.one.score(prepared[each], encoded[each]) for each in prepared}
        terms = {each: result.score for each, result in results.items()}
        evidence = {each: result.evidence for each, result in results.items()}
        return MetricResult(mean(list(terms.values())), terms, evidence)


COLUMNS = (
    MeanOverColumns("mean_roc_auc", "Mean ROC AUC over columns", ROC_AUC),
    MeanOverColumns("mean_rmse", "Mean RMSE over columns (MCRMSE)", RMSE),
    MeanOverColumns("mean_log_loss", "Mean log loss over columns", LOG_LOSS),
)
