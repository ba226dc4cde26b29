"""Counterfactual pairs and fuzzed texts: the effect of swapped words.

Hann, Kalil and Payne, section 4.3 and Figure 11 (WinoBias, Zhao et al. 2018), and Tables 2 to 4.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fairboard.bias.analysis.data import Data, Predictions, by_label
from fairboard.bias.analysis.distributions import deviation, mean
from fairboard.bias.analysis.table import metric_table, overall_aucs, power_effect
from fairboard.bias.prepared import BoolArray, FloatArray, IndexArray, as_vector

COMBINED = "combined"
ORIGINAL_AND_FUZZED = ("original", "fuzzed")


def match_pairs(
    pair: Sequence[str], role: Sequence[str], roles: tuple[str, str]
) -> tuple[IndexArray, IndexArray]:
    """Return the row numbers of the first and the second role of each pair, in the order of the first ones.

    Parameters
    ----------
    pair : sequence of str
        The pair of each row. Rows with an empty string belong to no pair and are ignored.
    role : sequence of str
        The role of each row.
    roles : (str, str)
        The two roles; each pair must have one row of each.

    Raises
    ------
    ValueError
        If a pair does not have exactly one row of each role.

    Examples
    --------
    >>> match_pairs(["1", "1", "", "2", "2"], ["pro", "anti", "", "anti", "pro"], ("anti", "pro"))
    (array([1, 3]), array([0, 4]))
    """
    if len(pair) != len(role):
        raise ValueError(f"`role` must have {len(pair)} values, not {len(role)}.")
    if roles[0] == roles[1]:
        raise ValueError(f"`roles` must contain two different roles, not {roles[0]!r} twice.")
    rows = dict[str, list[tuple[str, int]]]()
    for number, (name, of) in enumerate(zip(pair, role, strict=True)):
        if name:
            rows.setdefault(name, []).append((of, number))
    if wrong := [name for name, found in rows.items() if sorted(each[0] for each in found) != sorted(roles)]:
        raise ValueError(
            f"Each pair must have one row {roles[0]!r} and one row {roles[1]!r}. Wrong pairs: {len(wrong)}, "
            f"such as {', '.join(wrong[:5])}."
        )
    both = sorted((dict(found)[roles[0]], dict(found)[roles[1]]) for found in rows.values())
    first, second = np.array(both, np.int64).reshape(-1, 2).T
    return first, second


def pair_rates(
    pair: Sequence[str],
    role: Sequence[str],
    group: Sequence[str] | None,
    predictions: Mapping[str, ArrayLike],
    *,
    roles: tuple[str, str] = ("anti", "pro"),
) -> pd.DataFrame:
    """Measure how often a model scores one role of a pair higher than the other (Figure 11).

    Parameters
    ----------
    pair, role : sequence of str, n of them
        As in `match_pairs`.
    group : sequence of str, n of them, or None
        The group of each row, such as the gender of its pronoun. A pair is assigned to the group of its row
        with the first role.
    predictions : mapping of str to array_like, each of shape (n,)
        Finite predictions for each predicted label.
    roles : (str, str)
        The two roles. The rate states how often the first role is scored higher.

    Returns
    -------
    DataFrame
        For each label, a line for each group and one for all pairs (`combined`): the number of pairs, those
        in which the first role is higher and in which both are equal, the `rate`, in which ties count one
        half, and the share of ties.

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
    matched, lines = match_pairs(pair, role, roles), []
    for label, values in predictions.items():
        scores = as_vector(f"predictions[{label!r}]", values, rows=len(pair), finite=True)
        for name, (kept, _) in _groups(group, matched, len(pair)).items():
            one, other = (scores[rows[kept]] for rows in matched)
            counts = one.size, int(np.count_nonzero(one > other)), int(np.count_nonzero(one == other))
            lines.append((label, name, *counts))
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
    *,
    roles: tuple[str, str] = ("anti", "pro"),
) -> pd.DataFrame:
    """Return the mean and the sample deviation of the predictions by label, group and role (Tables 2 and 3).

    The parameters are those of `pair_rates`; each row belongs to its own group.
    """
    matched, lines = match_pairs(pair, role, roles), []
    for label, values in predictions.items():
        scores = as_vector(f"predictions[{label!r}]", values, rows=len(pair), finite=True)
        for name, masks in _groups(group, matched, len(pair)).items():
            for each, rows, kept in zip(roles, matched, masks, strict=True):
                found = scores[rows[kept]]
                lines.append((label, name, each, found.size, mean(found), deviation(found)))
    columns = ["label", "group", "role", "rows", "mean", "deviation"]
    return pd.DataFrame(lines, columns=columns).astype({"mean": float, "deviation": float})


def _groups(
    group: Sequence[str] | None, matched: tuple[IndexArray, IndexArray], size: int
) -> dict[str, tuple[BoolArray, BoolArray]]:
    """Return two masks for each group: the pairs whose first row is in it, and those whose second row is."""
    everything = np.ones(matched[0].size, np.bool_)
    combined = {COMBINED: (everything, everything)}
    if group is None:
        return combined
    if len(group) != size:
        raise ValueError(f"`group` must have {size} values, not {len(group)}.")
    names = np.array(list(group), object)
    firsts, seconds = names[matched[0]], names[matched[1]]
    both = {str(name) for name in np.concatenate([firsts, seconds])}
    if both & {"", COMBINED}:
        raise ValueError(f"`group` must have a value other than {COMBINED!r} in every row of a pair.")
    return {name: (firsts == name, seconds == name) for name in sorted(both)} | combined


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
    names = [name for name in original.identities if name in fuzzed.identities]
    columns = [_terms(data.only(names), by_label(data, scores)) for data, scores in sets]
    frame = pd.concat(columns, axis=1, join="inner", keys=ORIGINAL_AND_FUZZED)
    return frame.assign(difference=frame["fuzzed"] - frame["original"])


def _terms(data: Data, predictions: Mapping[str, FloatArray]) -> pd.Series:
    """Return the four terms and the score over all identities, by label and term."""
    overall, power = overall_aucs(data, predictions), data.settings.power
    terms = dict[str, pd.Series]()
    for label, scores in predictions.items():
        table = metric_table(data, scores, label)
        means = power_effect(overall[label], table, data.settings, [power]).loc[power]
        terms[label] = pd.Series({"overall_auc": overall[label], **means})
    found: pd.Series = pd.concat(terms, names=["label", "term"])
    return found
