"""Regression metrics."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairboard.interface import LARGEST, ColumnKind, ColumnSpec, Direction, FloatArray
from fairboard.metric_bases import PREDICTION, TARGET, BuiltIn, RowMetric, problem
from fairboard.row_statistics import deviations


def squared_errors(truth: NDArray[Any], predictions: NDArray[Any]) -> Sequence[FloatArray]:
    """Return the squared difference between prediction and true value of each row."""
    error = predictions - truth
    return (error * error,)


def _relative_errors(truth: NDArray[Any], predictions: NDArray[Any]) -> Sequence[FloatArray]:
    return (np.minimum(np.abs((predictions - truth) / truth), LARGEST**2),)  # at most 1e290


def constant(truth: NDArray[Any], spread: float = 0.0) -> list[str]:
    """Return a problem if all values are equal, or within a spread."""
    difference = float(truth.max() - truth.min())
    if not difference:
        return ["The target is the same in all rows."]
    return [f"The target differs by less than {spread:g}. Multiply it."] if difference <= spread else []


def _squared_deviations(truth: NDArray[Any]) -> Sequence[FloatArray]:
    deviation = deviations(truth)
    return (deviation * deviation,)


def _explained(means: Sequence[float]) -> float:
    """Return 1 minus the ratio of two means; -1e290 if the ratio is so large that it may overflow."""
    unexplained = means[1] / means[0]
    return 1 - unexplained if unexplained < LARGEST**2 else -(LARGEST**2)


def _scaled_deviations(values: NDArray[Any]) -> NDArray[Any]:
    """Return the deviations from the mean, divided by a power of two so that products do not overflow."""
    scaled = deviations(values)
    largest = max(float(scaled.max()), -float(scaled.min()))
    if largest:
        scaled *= math.ldexp(1.0, -max(math.frexp(largest)[1], -1000))
    return scaled


def _products(truth: NDArray[Any], predictions: NDArray[Any]) -> Sequence[FloatArray]:
    """Return the squared deviation of the prediction and the product of both deviations, of each row."""
    deviation = _scaled_deviations(predictions)
    return deviation * deviation, truth * deviation


def _correlation(means: Sequence[float]) -> float:
    """Return the covariance divided by the root of the product of the variances; 0 without variance."""
    return means[2] / math.sqrt(means[0] * means[1]) if means[1] > 0 else 0.0


REGRESSION: tuple[BuiltIn, ...] = (
    RMSE := RowMetric(
        name="rmse",
        title="Root mean squared error (RMSE)",
        sentence="The square root of the mean squared difference between prediction and target.",
        direction=Direction.LOWEST,
        rows=squared_errors,
        combine=lambda means: math.sqrt(means[0]),
    ),
    RowMetric(
        name="mae",
        title="Mean absolute error (MAE)",
        sentence="The mean absolute difference between prediction and target.",
        direction=Direction.LOWEST,
        rows=lambda truth, predictions: (np.abs(predictions - truth),),
    ),
    RowMetric(
        name="rmsle",
        title="Root mean squared logarithmic error (RMSLE)",
        sentence="RMSE of log(1 + value): an error counts by its ratio instead of its difference.",
        direction=Direction.LOWEST,
        columns=(ColumnSpec(TARGET, ColumnKind.NUMBER, 0), ColumnSpec(PREDICTION, ColumnKind.NUMBER, 0)),
        problems=lambda truth: problem(truth < 0, "The target must not be negative; negative rows"),
        prepared=np.log1p,
        rows=lambda truth, predictions: squared_errors(truth, np.log1p(predictions)),
        combine=lambda means: math.sqrt(means[0]),
    ),
    RowMetric(
        name="mape",
        title="Mean absolute percentage error (MAPE)",
        sentence="The mean of the absolute error divided by the absolute target, as a fraction.",
        direction=Direction.LOWEST,
        problems=lambda truth: problem(np.abs(truth) < 1 / LARGEST, "The target must not be 0; rows with 0"),
        rows=_relative_errors,
    ),
    RowMetric(
        name="r2",
        title="R²",
        sentence="The share of the target's variance that the predictions explain; negative if a constant is "
        "better.",
        is_nonnegative=False,
        # The squares of a smaller spread would be 0.
        problems=lambda truth: constant(truth, spread=1 / LARGEST),
        fixed=_squared_deviations,
        rows=squared_errors,
        combine=_explained,
    ),
    RowMetric(
        name="pearson",
        title="Pearson correlation",
        sentence="The linear correlation between predictions and target; 0 for constant predictions.",
        is_nonnegative=False,
        problems=constant,
        prepared=_scaled_deviations,
        fixed=lambda truth: (truth * truth,),
        rows=_products,
        combine=_correlation,
    ),
)
