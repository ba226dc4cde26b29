"""Metrics of predicted numbers."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairboard.built_in import PREDICTION, TARGET, BuiltIn, RowStatistics
from fairboard.interface import LARGEST, ColumnKind, ColumnSpec, Direction, FloatArray
from fairboard.row_statistics import exact_mean


class RootMeanSquaredError(RowStatistics):
    """The square root of the mean squared error."""

    name = "rmse"
    title = "Root mean squared error (RMSE)"
    sentence = "The square root of the mean squared difference between prediction and target."
    direction = Direction.LOWEST

    def rows(self, truth: NDArray[Any], predictions: NDArray[Any]) -> Sequence[FloatArray]:
        """Return the squared error of each row."""
        error = predictions - truth
        return (error * error,)

    def combine(self, means: Sequence[float]) -> float:
        """Return the root of the mean."""
        return math.sqrt(means[0])


class MeanAbsoluteError(RowStatistics):
    """The mean absolute error."""

    name = "mae"
    title = "Mean absolute error (MAE)"
    sentence = "The mean absolute difference between prediction and target."
    direction = Direction.LOWEST

    def rows(self, truth: NDArray[Any], predictions: NDArray[Any]) -> Sequence[FloatArray]:
        """Return the absolute error of each row."""
        return (np.abs(predictions - truth),)


class RootMeanSquaredLogError(RootMeanSquaredError):
    """The root mean squared error of the logarithms of 1 + value."""

    name = "rmsle"
    title = "Root mean squared logarithmic error (RMSLE)"
    sentence = "RMSE of log(1 + value): an error counts by its ratio instead of its difference."

    def _truth(self) -> tuple[ColumnSpec, ...]:
        return (ColumnSpec(TARGET, ColumnKind.NUMBER, 0),)

    def _predictions(self) -> tuple[ColumnSpec, ...]:
        return (ColumnSpec(PREDICTION, ColumnKind.NUMBER, 0),)

    def _problems(self, truth: NDArray[Any]) -> list[str]:
        count = int(np.count_nonzero(truth < 0))
        return [f"The target must not be negative; negative rows: {count}."] if count else []

    def _prepared(self, truth: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.log1p(truth))

    def rows(self, truth: NDArray[Any], predictions: NDArray[Any]) -> Sequence[FloatArray]:
        """Return the squared difference of the logarithms of each row."""
        return super().rows(truth, np.log1p(predictions))


class MeanAbsolutePercentageError(RowStatistics):
    """The mean absolute error relative to the target."""

    name = "mape"
    title = "Mean absolute percentage error (MAPE)"
    sentence = "The mean of the absolute error divided by the absolute target, as a fraction."
    direction = Direction.LOWEST

    def _problems(self, truth: NDArray[Any]) -> list[str]:
        count = int(np.count_nonzero(np.abs(truth) < 1 / LARGEST))
        return [f"The target must not be 0; rows with 0: {count}."] if count else []

    def rows(self, truth: NDArray[Any], predictions: NDArray[Any]) -> Sequence[FloatArray]:
        """Return the relative error of each row, at most 1e290."""
        return (np.minimum(np.abs((predictions - truth) / truth), LARGEST**2),)


class RSquared(RowStatistics):
    """The share of the target's variance that the predictions explain."""

    name = "r2"
    is_nonnegative = False
    title = "R²"
    sentence = (
        "The share of the target's variance that the predictions explain; negative if a constant is better."
    )

    def _problems(self, truth: NDArray[Any]) -> list[str]:
        # The squares of a smaller spread would be 0.
        return constant(truth, spread=1 / LARGEST)

    def fixed(self, truth: NDArray[Any]) -> tuple[FloatArray, ...]:
        """Return the squared deviation from the mean of each row.

        Without the subtraction of the mean, all digits would be lost for a mean far above the spread.
        """
        deviation = truth - exact_mean(truth)
        return (deviation * deviation,)

    def rows(self, truth: NDArray[Any], predictions: NDArray[Any]) -> Sequence[FloatArray]:
        """Return the squared error of each row."""
        error = predictions - truth
        return (error * error,)

    def combine(self, means: Sequence[float]) -> float:
        """Return 1 minus the ratio of the two means; -1e290 if the ratio is so large that it may overflow."""
        explained = means[1] / means[0]
        return 1 - explained if explained < LARGEST**2 else -(LARGEST**2)


class Pearson(RowStatistics):
    """The linear correlation."""

    name = "pearson"
    is_nonnegative = False
    title = "Pearson correlation"
    sentence = "The linear correlation between predictions and target; 0 for constant predictions."

    def _problems(self, truth: NDArray[Any]) -> list[str]:
        return constant(truth)

    def _prepared(self, truth: NDArray[Any]) -> NDArray[Any]:
        return _deviations(truth)

    def fixed(self, truth: NDArray[Any]) -> tuple[FloatArray, ...]:
        """Return the squared deviation of the target from its mean, of each row."""
        return (truth * truth,)

    def rows(self, truth: NDArray[Any], predictions: NDArray[Any]) -> Sequence[FloatArray]:
        """Return the squared deviation of the prediction and the product of both deviations, of each row."""
        deviation = _deviations(predictions)
        return deviation * deviation, truth * deviation

    def combine(self, means: Sequence[float]) -> float:
        """Return the covariance divided by the root of the product of the variances; 0 without variance."""
        return means[2] / math.sqrt(means[0] * means[1]) if means[1] > 0 else 0.0


def _deviations(values: FloatArray) -> FloatArray:
    """Return the deviations from the mean, divided by a power of two so that products do not overflow."""
    deviations: FloatArray = values - exact_mean(values)
    largest = max(float(deviations.max()), -float(deviations.min()))
    if largest:
        deviations *= math.ldexp(1.0, -max(math.frexp(largest)[1], -1000))
    return deviations


def constant(truth: NDArray[Any], spread: float = 0.0) -> list[str]:
    """Return a problem if all values are equal, or within a spread."""
    return ["The target is the same in all rows."] if truth.max() - truth.min() <= spread else []


REGRESSION: tuple[type[BuiltIn], ...] = (
    RootMeanSquaredError,
    MeanAbsoluteError,
    RootMeanSquaredLogError,
    MeanAbsolutePercentageError,
    RSquared,
    Pearson,
)
