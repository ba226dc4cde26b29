"""Tables of the five bias metrics by identity and label (Borkan et al.; Hann et al.)."""

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal

import pandas as pd
from numpy.typing import ArrayLike

from fairboard.bias.analysis.data import Data, Predictions, by_label, count
from fairboard.bias.metric_settings import MetricSettings
from fairboard.bias.reports import bias_report
from fairboard.bias.score import means_and_score
from fairboard.bias.subgroups import BIAS_AUCS, cell_values

POWERS: tuple[float, ...] = tuple(float(power) for power in range(-10, 2))
AEGS = ("negative_aeg", "positive_aeg")
CELLS = (*BIAS_AUCS, *AEGS)
COLUMNS = (
    *("size", "positives", "share_positive"),
    *CELLS,
    *("mean_auc", "background_size", "background_positives"),
)


def metric_table(data: Data, predictions: ArrayLike, label: str | None = None) -> pd.DataFrame:
    """Compute all five metrics for each identity; undefined values are NaN.

    Parameters
    ----------
    data : Data
    predictions : array_like, shape (n,)
        One finite number for each row.
    label : str, optional
        By default, the first one.

    Returns
    -------
    DataFrame
        One row for each identity, with the number of its rows, the three AUCs, the two AEGs (above 0, the
        subgroup is scored higher than its background) and the mean of the three AUCs, by which Table 3 is
        sorted. The difference of two tables compares two models, or two slices as in Table 6.

    Notes
    -----
    Borkan et al., "Nuanced Metrics for Measuring Unintended Bias with Real Data for Text Classification"
    (2019), Tables 3 and 6. Table 6 leaves out identities with at most 100 rows (`Data.mentioned_by`).

    Examples
    --------
    >>> data = Data.of([1, 0, 1, 0], {"cat": [1, 1, 0, 0]})
    >>> metric_table(data, [0.9, 0.3, 0.4, 0.2]).loc["cat", ["size", "bpsn_auc", "positive_aeg"]].tolist()
    [2.0, 1.0, 0.5]
    """
    lines = {}
    for name, cells in count(data, predictions, label).items():
        inside, background = cells["subgroup_auc"], cells["background_auc"]
        lines[name] = {
            "size": inside.first + inside.second,
            "positives": inside.first,
            **cell_values(cells),
            "background_size": background.first + background.second,
            "background_positives": background.first,
        }
    table = pd.DataFrame.from_dict(lines, orient="index", columns=list(COLUMNS)).rename_axis("identity")
    table = table.astype(dict.fromkeys(CELLS, float))
    table["share_positive"] = table["positives"] / table["size"]
    table["mean_auc"] = table[list(BIAS_AUCS)].mean(axis=1, skipna=False)
    return table


def label_tables(data: Data, predictions: Predictions) -> pd.DataFrame:
    """Compute all five metrics for every label and every identity.

    Parameters
    ----------
    data : Data
    predictions : mapping of str to array_like, or array_like, shape (n,)
        The predictions of each label by name, or one array of predictions that is compared with every label.

    Returns
    -------
    DataFrame
        The tables of all predicted labels, by label and identity. `unstack("label")` makes the matrices of
        Figures 6 to 10 of Hann, Kalil and Payne, "Analyzing Identity Mention Bias in Toxic Comment
        Classification". Their text on the positive AEG uses the sign of Borkan's Definition 2; their values
        and the values here follow Definition 3.

    Examples
    --------
    >>> data = Data.of({"toxic": [1, 0, 1, 0], "insult": [0, 0, 1, 0]}, {"cat": [1, 1, 0, 0]})
    >>> tables = label_tables(data, {"toxic": [0.9, 0.2, 0.8, 0.3], "insult": [0.1, 0.4, 0.9, 0.1]})
    >>> tables["bpsn_auc"].unstack("label").loc["cat"].to_dict()
    {'toxic': 1.0, 'insult': 1.0}
    """
    tables = {label: metric_table(data, each, label) for label, each in by_label(data, predictions).items()}
    return pd.concat(tables, names=["label", "identity"])


def overall_aucs(data: Data, predictions: Predictions) -> pd.Series:
    """Return the overall AUC of each label, as in Table 1 and Table 4 of Hann, Kalil and Payne."""
    aucs = {
        label: bias_report(data.positive[label][kept], each[kept], {}).overall_auc
        for label, each in by_label(data, predictions).items()
        for kept in [data.labelled[label]]
    }
    return pd.Series(aucs, name="overall_auc", dtype=float).rename_axis("label")


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
        means, score = means_and_score(overall, columns, chosen)
        lines[power] = {**means, "score": score}
    return pd.DataFrame.from_dict(lines, orient="index", dtype=float).rename_axis("power")


def heat(cell: str, value: float) -> float:
    """Return the position of a value on the color scale of its column, as in Tables 3 and 6.

    For an AUC, 0 (best) for an AUC of 1, rising linearly to 1 (worst) for 0.5 or less. For an AEG, the value
    scaled from [-0.5, 0.5] to [-1, 1].
    """
    return value / 0.5 if cell in AEGS else min((1 - value) / 0.5, 1.0)
