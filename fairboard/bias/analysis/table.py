"""Tables of the five bias metrics by identity and label (Borkan et al.; Hann et al.)."""

import pandas as pd
from numpy.typing import ArrayLike

from fairboard.bias.analysis.data import Data, Predictions, by_label, count
from fairboard.bias.counts import IdentityCounts, PairCounts
from fairboard.bias.subgroups import BIAS_AUCS, Cell, comparisons, reason

AEGS: tuple[Cell, ...] = ("negative_aeg", "positive_aeg")
CELLS: tuple[Cell, ...] = (*BIAS_AUCS, *AEGS)
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
    lines = []
    for cells in count(data, predictions, label).cells.values():
        inside, background = cells["subgroup_auc"], cells["background_auc"]
        size = inside.first + inside.second
        values = [cells[cell].gap if cell in AEGS else cells[cell].auc for cell in CELLS]
        share = inside.first / size if size else None
        aucs = [each for each in values[:3] if each is not None]
        mean = sum(aucs) / 3 if len(aucs) == 3 else None
        outside = background.first + background.second, background.first
        lines.append([size, inside.first, share, *values, mean, *outside])
    index = pd.Index(list(data.identities), name="identity", dtype=object)
    floats = ("share_positive", *CELLS, "mean_auc")
    return pd.DataFrame(lines, index, list(COLUMNS)).astype(
        {column: float if column in floats else int for column in COLUMNS}
    )


def undefined(table: pd.DataFrame) -> pd.DataFrame:
    """Return the identity, the term and the reason of each undefined value of a table.

    Examples
    --------
    >>> undefined(metric_table(Data.of([1, 0], {"cat": [1, 0]}), [0.9, 0.3]))["term"].tolist()
    ['subgroup_auc', 'bpsn_auc', 'positive_aeg', 'negative_aeg']
    """
    lines = []
    for name, line in table.iterrows():
        n1, b1 = int(line["positives"]), int(line["background_positives"])
        n0, b0 = int(line["size"]) - n1, int(line["background_size"]) - b1
        counts = PairCounts(n1 + n0 + b1 + b0, n1 + b1, 0, ())
        cells = comparisons(counts, IdentityCounts(str(name), True, n1, n0, 0, 0, 0, 0, 0))
        lines += [(name, term, reason(term, each)) for term, each in cells.items() if not each.is_defined]
    return pd.DataFrame(lines, columns=["identity", "term", "reason"])


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
        label: count(data.only([]), each, label).overall.auc
        for label, each in by_label(data, predictions).items()
    }
    return pd.Series(aucs, name="overall_auc", dtype=float).rename_axis("label")


def heat(cell: str, value: float) -> float:
    """Return the position of a value on the color scale of its column, as in Tables 3 and 6.

    For an AUC, 0 (best) for an AUC of 1, rising linearly to 1 (worst) for 0.5 or less. For an AEG, the value
    scaled from [-0.5, 0.5] to [-1, 1].
    """
    return value / 0.5 if cell in AEGS else min((1 - value) / 0.5, 1.0)
