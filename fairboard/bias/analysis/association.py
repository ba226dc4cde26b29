"""Associations of identities with labels and predictions, for data audits.

Hann, Kalil and Payne, "Analyzing Identity Mention Bias in Toxic Comment Classification": Figures 1 to 5 and
the means in section 4.2.
"""

from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from fairboard.bias.analysis.data import Data, Predictions, by_label
from fairboard.bias.analysis.distributions import mean
from fairboard.bias.prepared import refuse_where

Reading = Literal["fractions", "binarized"]
Unit = Literal["comments", "pairs"]
TENTHS = tuple(tenth / 10 for tenth in range(11))


def label_correlations(data: Data, reading: Reading = "fractions") -> pd.DataFrame:
    """Compute Pearson's correlation of every identity with every label, by identity and label (Figures 1, 2).

    Parameters
    ----------
    data : Data
        Rows in which either value is blank are left out; with the background ``"all"``, a blank identity
        counts as 0.
    reading : {"fractions", "binarized"}
        Whether to use the original values, or 1 for values of at least the threshold and 0 for lower
        values. The paper does not state which values it uses.

    Returns
    -------
    DataFrame
        NaN if fewer than two rows remain or either column is constant.

    Examples
    --------
    >>> data = Data.of({"toxic": [1, 0, 1, 0.4]}, {"cat": [1, 0, 1, 0], "dog": [0, 0, 0, 0.4]})
    >>> label_correlations(data, "binarized")["toxic"].round(3).tolist()
    [1.0, nan]
    """
    binarized = data.positive.astype(float).where(data.labelled)
    return _correlations(data, reading, binarized if reading == "binarized" else data.labels)


def prediction_correlations(
    data: Data, predictions: Predictions, reading: Reading = "fractions"
) -> pd.DataFrame:
    """Compute Pearson's correlation of every identity with the predictions of every label (Figure 4).

    The parameters are those of `label_correlations` and `label_tables`. Predictions are never binarized.
    """
    scores = pd.DataFrame(by_label(data, predictions))
    return _correlations(data, reading, scores.where(data.labelled[list(scores)]))


def _correlations(data: Data, reading: Reading, labels: pd.DataFrame) -> pd.DataFrame:
    if reading not in get_args(Reading):
        raise ValueError(f'`reading` must be "fractions" or "binarized", not {reading!r}.')
    identities = data.identities
    if reading == "binarized":
        identities = data.members.astype(float).where(identities.notna())
    if data.background == "all":
        identities = identities.fillna(0)
    both = pd.concat([identities, labels], axis=1, ignore_index=True).corr()
    table = both.iloc[: identities.shape[1], identities.shape[1] :].round(12)  # 0 instead of 1e-17
    return table.set_axis(identities.columns).set_axis(labels.columns.rename("label"), axis=1)


def mean_scores(data: Data, predictions: Predictions) -> pd.DataFrame:
    """Return the mean prediction inside and outside each subgroup, for each label and class of rows.

    Returns
    -------
    DataFrame
        A line for each label, identity and class (`of`: all, positive and negative rows), with the numbers of
        rows, the two means and their difference.

    Examples
    --------
    >>> data = Data.of([1, 0, 1, 0], {"cat": [1, 1, 0, 0]})
    >>> mean_scores(data, [0.75, 0.5, 0.75, 0.25])["difference"].tolist()
    [0.125, 0.0, 0.25]
    """
    lines = []
    for label, scores in by_label(data, predictions).items():
        positive, labelled = data.positive[label], data.labelled[label]
        classes = {"all": labelled, "positive": labelled & positive, "negative": labelled & ~positive}
        for identity, inside in data.members.items():
            outside = data.considered[identity] & ~inside
            for of, kept in classes.items():
                sets = [scores[kept & rows] for rows in (inside, outside)]
                lines.append((identity, label, of, *(each.size for each in sets), *map(mean, sets)))
    sizes, means = ["subgroup_rows", "background_rows"], ["subgroup_mean", "background_mean"]
    frame = pd.DataFrame(lines, columns=["identity", "label", "of", *sizes, *means])
    return frame.assign(difference=frame["subgroup_mean"] - frame["background_mean"])


def mean_labels(data: Data) -> pd.DataFrame:
    """Return the mean of each label, first over all rows (without an identity) and then for each identity.

    Examples
    --------
    >>> means = mean_labels(Data.of({"toxic": [0.75, 0.5, 0, 0]}, {"cat": [1, 0, 1, 0]}))
    >>> means[["rows", "positives", "mean", "mean_of_positives"]].to_numpy().tolist()
    [[4.0, 2.0, 0.3125, 0.625], [2.0, 1.0, 0.375, 0.75]]
    """
    everywhere = {None: pd.Series(True, data.labels.index)}
    lines = []
    for identity, mentions in (everywhere | dict(data.members.items())).items():
        for label, values in data.labels.items():
            masks = [mentions & of[label] for of in (data.labelled, data.positive)]
            parts = [values[rows].to_numpy() for rows in masks]
            lines.append((identity, label, *(part.size for part in parts), *map(mean, parts)))
    columns = ["identity", "label", "rows", "positives", "mean", "mean_of_positives"]
    return pd.DataFrame(lines, columns=columns)


def ppmi(data: Data, unit: Unit = "comments") -> pd.DataFrame:
    r"""Compute the positive pointwise mutual information (PPMI) of each identity and label (Figure 3).

    .. math:: PPMI = \max\left(0, \ln \frac{P(identity, label)}{P(identity) P(label)}\right)

    Parameters
    ----------
    data : Data
        The identities and labels, which count as present if they reach their thresholds.
    unit : {"comments", "pairs"}
        The unit of the probabilities. With ``"comments"``, each row counts once. With ``"pairs"``, each
        co-occurrence of an identity and a label counts once. A comment then counts as many times as its
        number of identities multiplied by its number of labels.

    Returns
    -------
    DataFrame
        The PPMI in nats: 0 if identity and label occur together no more often than if they were
        independent; NaN if a probability in the denominator is 0.

    Notes
    -----
    Hann, Kalil and Payne do not state the unit of Figure 3. Its values match pairs in nats. If the unit
    were comments, the value for ``heterosexual`` and ``toxicity`` could not be 0, because 24 % of these
    comments are toxic, compared with 8 % overall. If the values were in bits, the implied shares of the
    labels would exceed 1.

    Examples
    --------
    >>> data = Data.of({"toxic": [1, 1, 0, 0]}, {"cat": [1, 0, 0, 0], "dog": [0, 1, 1, 0]})
    >>> ppmi(data)["toxic"].round(3).tolist(), ppmi(data, "pairs")["toxic"].tolist()
    ([0.693, 0.0], [0.0, 0.0])
    """
    if unit not in get_args(Unit):
        raise ValueError(f'`unit` must be "comments" or "pairs", not {unit!r}.')
    mentions, positive = data.members.astype(int), data.positive.astype(int)
    both = mentions.T @ positive
    if unit == "pairs":
        return ppmi_of_counts(both)
    considered, labelled = data.considered.astype(int), data.labelled.astype(int)
    return _ppmi(both, (mentions.T @ labelled) * (considered.T @ positive), considered.T @ labelled)


def ppmi_of_counts(counts: pd.DataFrame) -> pd.DataFrame:
    """Compute the PPMI of pairs from the numbers of rows with each identity (rows) and label (columns)."""
    return _ppmi(counts, np.outer(counts.sum(axis=1), counts.sum()), counts.to_numpy().sum())


def _ppmi(counts: pd.DataFrame, expected: Any, total: Any) -> pd.DataFrame:
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithms: pd.DataFrame = np.log(counts * total / expected)
    return logarithms.clip(lower=0)


def co_mentions(data: Data) -> pd.DataFrame:
    """Count the rows that mention both of two identities; on the diagonal, those that mention one.

    Hann, Kalil and Payne, section 4.2.2. The mean number of identities in the rows that mention an identity
    is the sum of its line, divided by its value on the diagonal.

    Examples
    --------
    >>> co_mentions(Data.of({"toxic": [0] * 3}, {"cat": [1, 1, 0], "dog": [1, 0, 0]})).to_numpy().tolist()
    [[2, 1], [1, 1]]
    """
    mentions = data.members.astype(int)
    return (mentions.T @ mentions).rename_axis(columns=None)


def identities_per_row(data: Data) -> pd.Series:
    """Return the number of rows that mention 0, 1, 2, … identities.

    A row in which every identity is blank is not counted with the background ``"annotated"``, and mentions no
    identity with ``"all"``.
    """
    counted = data.considered.any(axis=1) | (data.background == "all")
    counts = np.bincount(data.members[counted].sum(axis=1), minlength=1)
    return pd.Series(counts, name="rows").rename_axis("identities")


def fractions(data: Data) -> pd.DataFrame:
    """Count the values of each column that round to 0, 0.1, …, 1, as the bars of Figure 5.

    A value halfway between two tenths is rounded to the even tenth, as in NumPy.

    Returns
    -------
    DataFrame
        For each label and identity, the numbers of `rows` with a value and of `blanks`, and the count of each
        tenth.

    Raises
    ------
    ValueError
        If a value is outside [0, 1].

    Examples
    --------
    >>> table = fractions(Data.of({"toxic": [0, 0.04, 0.1, 0.5, 1, None]}, {}))
    >>> table.loc["toxic", ["rows", "blanks", 0.0, 0.1]].tolist()
    [5, 1, 2, 1]
    """
    lines = {}
    for name, values in [*data.labels.items(), *data.identities.items()]:
        known = values[~np.isnan(values)]
        refuse_where((known < 0) | (known > 1), str(name), "between 0 and 1")
        tenths = np.bincount(np.rint(known * 10).astype(np.int64), minlength=11)
        lines[name] = [known.size, values.size - known.size, *tenths.tolist()]
    return pd.DataFrame.from_dict(lines, orient="index", columns=["rows", "blanks", *TENTHS])
