"""Options for metric settings of `score` and `competition create`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from grader.cli.parameters import WeightList

if TYPE_CHECKING:
    from grader.metrics import MetricSettings, UndefinedPolicy, Weights

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--power",
        type=float,
        default=-5.0,
        show_default=True,
        help="Exponent of the power means; 0 is the geometric mean, inf and -inf the largest and smallest.",
    ),
    click.option(
        "--weights",
        type=WeightList(),
        default="0.25,0.25,0.25,0.25",
        show_default=True,
        help="Weights of the overall, subgroup, BPSN and BNSP AUC; they sum to 1.",
    ),
    click.option(
        "--threshold",
        type=float,
        default=0.5,
        show_default=True,
        help="A label or an identity is true at this value or above.",
    ),
)


def metric_options(command: Command) -> Command:
    """Give a command the options power, weights and threshold."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def metric_settings(
    power: float, weights: "Weights", threshold: float, undefined: "UndefinedPolicy" = "error"
) -> "MetricSettings":
    """Build the settings; a value that the metric refuses is a usage error."""
    from grader.metrics import MetricSettings

    try:
        return MetricSettings(
            power=power,
            weights=weights,
            label_threshold=threshold,
            identity_threshold=threshold,
            undefined=undefined,
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error
