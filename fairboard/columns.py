"""Metrics that are the mean of another metric over several predicted columns."""

from dataclasses import replace
from typing import Any, ClassVar

from fairboard.built_in import PREDICTION, TARGET, BuiltIn, encoding_of
from fairboard.classification import LogLoss, mean
from fairboard.interface import (
    Columns,
    Description,
    MetricResult,
    Options,
    RowArray,
    TermSpec,
    UnsuitableTruth,
)
from fairboard.ranking import RocAuc
from fairboard.regression import RootMeanSquaredError


class MeanOverColumns:
    """The mean over columns of a metric of one column; the terms are the values of the columns."""

    base: ClassVar[type[BuiltIn]]
    name: ClassVar[str]
    title: ClassVar[str]
    version: ClassVar[str] = "1"

    def __init__(self, options: Options) -> None:
        if not options.columns:
            raise ValueError("The metric needs the names of its columns.")
        self.options = options
        self._one = self.base(options)

    @property
    def encoding(self) -> str:
        """The name of the form of encoded predictions."""
        return encoding_of(self.name, self.version, self.options)

    def describe(self) -> Description:
        """Describe the metric."""
        one = self._one.describe()
        truth, prediction = one.truth[0], one.predictions[0]
        return Description(
            self.title,
            f"The mean over columns. {one.sentence}",
            one.direction,
            one.exactness,
            tuple(replace(truth, name=each) for each in self.options.columns),
            tuple(replace(prediction, name=each) for each in self.options.columns),
            tuple(TermSpec(each, each, one.direction) for each in self.options.columns),
            one.decimals,
            is_nonnegative=one.is_nonnegative,
        )

    def encode(self, predictions: Columns) -> dict[str, Any]:
        """Encode each column."""
        return {each: self._one.encode({PREDICTION: predictions[each]}) for each in self.options.columns}

    def prepare(self, truth: Columns, rows: RowArray) -> dict[str, Any]:
        """Prepare each column; raise UnsuitableTruth with the reasons of all columns."""
        prepared, problems = dict[str, Any](), list[str]()
        for each in self.options.columns:
            try:
                prepared[each] = self._one.prepare({TARGET: truth[each]}, rows)
            except UnsuitableTruth as error:
                problems += [f"{each}: {problem}" for problem in error.problems]
        if problems:
            raise UnsuitableTruth(problems)
        return prepared

    def score(self, prepared: dict[str, Any], encoded: dict[str, Any]) -> MetricResult:
        """Compute the values of one file on one split."""
        results = {each: self._one.score(prepared[each], encoded[each]) for each in prepared}
        terms = {each: result.score for each, result in results.items()}
        evidence = {each: result.evidence for each, result in results.items()}
        return MetricResult(mean(list(terms.values())), terms, evidence)


class MeanColumnsRocAuc(MeanOverColumns):
    """The mean of the AUCs of all columns."""

    base, name, title = RocAuc, "mean_roc_auc", "Mean ROC AUC over columns"


class MeanColumnsRmse(MeanOverColumns):
    """The mean of the RMSEs of all columns."""

    base, name, title = RootMeanSquaredError, "mean_rmse", "Mean RMSE over columns (MCRMSE)"


class MeanColumnsLogLoss(MeanOverColumns):
    """The mean of the log losses of all columns."""

    base, name, title = LogLoss, "mean_log_loss", "Mean log loss over columns"


COLUMNS: tuple[type[MeanOverColumns], ...] = (MeanColumnsRocAuc, MeanColumnsRmse, MeanColumnsLogLoss)
