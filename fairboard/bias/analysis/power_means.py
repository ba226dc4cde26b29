"""Effect of the power mean exponent on the score."""

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal

import pandas as pd

from fairboard.bias.metric_settings import MetricSettings
from fairboard.bias.score import exact_mean, exact_score, rounded
from fairboard.bias.subgroups import BIAS_AUCS

POWERS: tuple[float, ...] = tuple(float(power) for power in range(-10, 2))


def power_effect(
    overall_auc: float | None,
    table: pd.DataFrame,
    settings: MetricSettings | None = None,
    powers: Iterable[float] = POWERS,
) -> pd.DataFrame:
    """Return the power means and the score for several exponents.

    Parameters
    ----------
    overall_auc : float or None
    table : DataFrame
        The AUCs of the identities that enter the score, from `metric_table` or `BiasReport.to_frame`.
    settings : MetricSettings, optional
        The metric settings; the weights and the policy on undefined AUCs are used, and the power is ignored.
    powers : iterable of float
        The exponents; by default, the integers from -10 to 1, where 1 is the arithmetic mean.

    Returns
    -------
    DataFrame
        The columns `subgroup_auc`, `bpsn_auc`, `bnsp_auc` and `score`, by power.

    Examples
    --------
    >>> table = pd.DataFrame(dict.fromkeys(BIAS_AUCS, [0.5, 1.0]))
    >>> power_effect(0.75, table, powers=[1])["score"].tolist()
    [0.75]
    """
    lines = {}
    columns = {
        cell: [None if pd.isna(value) else Decimal(value) for value in table[cell].tolist()]
        for cell in BIAS_AUCS
    }
    overall = None if overall_auc is None or pd.isna(overall_auc) else Decimal(overall_auc)
    for power in map(float, powers):
        chosen = replace(settings or MetricSettings(), power=power)
        means: dict[str, Decimal | None] = {
            cell: exact_mean(values, chosen) for cell, values in columns.items()
        }
        score = exact_score({"overall_auc": overall, **means}, chosen)
        lines[power] = {**{cell: rounded(mean) for cell, mean in means.items()}, "score": rounded(score)}
    return pd.DataFrame.from_dict(lines, orient="index", dtype=float).rename_axis("power")
