"""Counterfactual pairs and fuzzed texts: the effect of swapped words.

Hann, Kalil and Payne, section 4.3 and Figure 11 (WinoBias, Zhao et al. 2018), and Tables 2 to 4.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fairboard.bias.analysis.data import Data, Predictions, by_label
from fairboard.bias.analysis.distributions import deviation, mean
from fairboard.bias.analysis.table import metric_table, overall_aucs, power_effect
from fairboard.bias.prepared import FloatArray, as_vector

COMBINED = "combined"
ROLES = ["anti", "pro"]


def pair_rates(
    pair: Sequence[str],
    role: Sequence[str],
    group: Sequence[str] | None,
    predictions: Mapping[str, ArrayLike],
) -> pd.DataFrame:
    """Measure how often a model scores the row `anti` of a pair higher than the row `pro` (Figure 11).

    Parameters
    ----------
    pair : sequence of str, n of them
        The pair of each row. Rows with an empty text belong to no pair and are ignored.
    role : sequence of str, n of them
        The role of each row; each pair has one row ``anti`` and one row ``pro``.
    group : sequence of str, n of them, or None
        The group of each row, such as the gender of its pronoun. A pair is assigned to the group of its row
        ``anti``.
    predictions : mapping of str to array_like, each of shape (n,)
        Finite predictions for each predicted label.

    Returns
    -------
    DataFrame
        For each label, a line for each group and one for all pairs (`combined`): the number of pairs, those
        in which ``anti`` is higher and in which both are equal, the `rate`, in which ties count one half, and
        the share of ties.

    Raises
    ------
    ValueError
        If a pair is incomplete, a row of a pair has no group, or an array has the wrong length or content.

    Notes
    -----
    The rows require no labels. A rate near one half over all pairs does not exclude bias, because rates of
    0.9 and 0.1 in two groups of equal size also average to one half.

    Examples
    --------
    >>> groups, roles = ["F", "M", "M", "F"], ["anti", "pro", "anti", "pro"]
    >>> rates = pair_rates(["1", "1", "2", "2"], roles, groups, {"insult": [0.9, 0.1, 0.2, 0.2]})
    >>> rates[["group", "pairs", "rate", "share_tied"]].to_numpy().tolist()
    [['F', 1, 1.0, 0.0], ['M', 1, 0.5, 1.0], ['combined', 2, 0.75, 0.5]]
    """
    rows, lines = _rows_of_pairs(pair, role, group), []
    anti, pro = (rows[rows["role"] == each].set_index("pair") for each in ROLES)
    for label, values in predictions.items():
        scores = as_vector(f"predictions[{label!r}]", values, rows=len(pair), finite=True)
        one, other = scores[anti["row"]], scores[pro.loc[anti.index, "row"]]
        for name, kept in _grouped(anti["group"].to_numpy()):
            counts = int((one > other)[kept].sum()), int((one == other)[kept].sum())
            lines.append((label, name, int(kept.sum()), *counts))
    rates = pd.DataFrame(lines, columns=["label", "group", "pairs", "higher", "tied"])
    return rates.assign(
        rate=(2 * rates["higher"] + rates["tied"]) / (2 * rates["pairs"]),
        share_tied=rates["tied"] / rates["pairs"],
    )


def role_scores(
    pair: Sequence[str],
    role: Sequence[str],
    group: Sequence[str] | None,
    predictions: Mapping[str, ArrayLike],
) -> pd.DataFrame:
    """Return the mean and the sample deviation of the predictions by label, group and role (Tables 2 and 3).

    The parameters are those of `pair_rates`; each row belongs to its own group.
    """
    rows, lines = _rows_of_pairs(pair, role, group), []
    for label, values in predictions.items():
        scores = as_vector(f"predictions[{label!r}]", values, rows=len(pair), finite=True)[rows["row"]]
        for name, kept in _grouped(rows["group"].to_numpy()):
            for each in ROLES:
                part = scores[kept & (rows["role"] == each).to_numpy()]
                lines.append((label, name, each, part.size, mean(part), deviation(part)))
    return pd.DataFrame(lines, columns=["label", "group", "role", "rows", "mean", "deviation"])


def _rows_of_pairs(pair: Sequence[str], role: Sequence[str], group: Sequence[str] | None) -> pd.DataFrame:
    """Return the pair, role, group and number of the rows in pairs; raise ValueError."""
    columns = {"pair": pair, "role": role, "group": [COMBINED] * len(pair) if group is None else group}
    if len({len(values) for values in columns.values()}) > 1:
        raise ValueError("`pair`, `role` and `group` must have equally many values.")
    texts = {name: ["" if pd.isna(each) else each for each in values] for name, values in columns.items()}
    rows = pd.DataFrame(texts, dtype=object)
    rows = rows.assign(row=range(len(rows)))[rows["pair"] != ""]
    counts = pd.crosstab(rows["pair"], rows["role"])
    has_both = (counts.reindex(columns=ROLES, fill_value=0) == 1).all(axis=1) & (counts.sum(axis=1) == 2)
    if wrong := [str(each) for each in counts.index[~has_both]]:
        raise ValueError(
            f"Each pair must have one row 'anti' and one row 'pro'. Wrong pairs: {len(wrong)}, such as "
            f"{', '.join(wrong[:5])}."
        )
    if group is not None and rows["group"].isin(["", COMBINED]).any():
        raise ValueError(f"`group` must have a value other than {COMBINED!r} in every row of a pair.")
    return rows


def _grouped(groups: NDArray[np.object_]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield each group with a mask of its rows, and at last all rows."""
    for name in sorted(set(groups) - {COMBINED}):
        yield name, groups == name
    yield COMBINED, np.ones(groups.size, np.bool_)


def fuzzed_terms(
    original: Data, predictions: Predictions, fuzzed: Data, fuzzed_predictions: Predictions
) -> pd.DataFrame:
    """Return the four terms and the score on a set and on its fuzzed counterpart (Table 4), with differences.

    Parameters
    ----------
    original, fuzzed : Data
        Labels and identities of the two sets, which may have different rows. Only labels and identities of
        both sets are used.
    predictions, fuzzed_predictions : mapping of str to array_like, or array_like
        As in `label_tables`.

    Returns
    -------
    DataFrame
        The columns `original`, `fuzzed` and `difference` (fuzzed minus original), by label and term. The
        differences of all cells are those of the two `label_tables`.
    """
    sets = [(original, predictions), (fuzzed, fuzzed_predictions)]
    names = [name for name in original.sizes() if name in fuzzed.identities]
    columns = [_terms(data.only(names), by_label(data, scores)) for data, scores in sets]
    frame = pd.concat(columns, axis=1, join="inner", keys=["original", "fuzzed"])
    return frame.assign(difference=frame["fuzzed"] - frame["original"])


def _terms(data: Data, predictions: Mapping[str, FloatArray]) -> pd.Series:
    """Return the four terms and the score over all identities, by label and term."""
    overall, power = overall_aucs(data, predictions), data.settings.power
    terms = dict[str, pd.Series]()
    for label, scores in predictions.items():
        table = metric_table(data, scores, label)
        means = power_effect(overall[label], table, data.settings, [power]).loc[power]
        terms[label] = pd.Series({"overall_auc": overall[label], **means})
    joined: pd.Series = pd.concat(terms, names=["label", "term"])
    return joined
