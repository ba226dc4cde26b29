"""Counterfactual pairs: how often a model scores one row of a pair above the other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairboard.bias.analysis.distributions import deviation, mean
from fairboard.bias.prepared import BoolArray, FloatArray, IndexArray, as_vector
from fairboard.bias.subgroups import Flat

COMBINED = "combined"
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class PairRate(Flat):
    """The rate at which one role is scored higher than the other; one bar of Figure 11.

    Attributes
    ----------
    label : str
        The predicted label.
    group : str
        The group of the row with the first role, or ``"combined"``.
    pairs : int
    higher, tied : int
        Number of pairs in which the first role has the higher prediction, and in which both predictions
        are equal.
    """

    DERIVED = ("rate", "share_tied")

    label: str
    group: str
    pairs: int
    higher: int
    tied: int

    @property
    def rate(self) -> float | None:
        """Share of pairs in which the first role is higher; ties count 1/2. None if there are no pairs."""
        return (2 * self.higher + self.tied) / (2 * self.pairs) if self.pairs else None

    @property
    def share_tied(self) -> float | None:
        """Share of pairs that are ties; None if there are no pairs."""
        return self.tied / self.pairs if self.pairs else None


@dataclass(frozen=True, slots=True)
class RoleScores(Flat):
    """A summary of the predictions for the rows with one role; one cell of Tables 2 and 3.

    Attributes
    ----------
    label, group, role : str
        The label, the group of the row itself or ``"combined"``, and the role.
    rows : int
    mean, deviation : float or None
        Mean and sample standard deviation (denominator n - 1); None if there are too few rows.
    """

    label: str
    group: str
    role: str
    rows: int
    mean: float | None
    deviation: float | None


@dataclass(frozen=True, slots=True)
class PairReport:
    """The predictions of a model for counterfactual pairs.

    Attributes
    ----------
    roles : tuple of str
        The two roles. A rate states how often the first role is scored higher.
    rates : tuple of PairRate
        For each label, the rate of each group, followed by that of all pairs.
    scores : tuple of RoleScores
        For each label, the scores of both roles in each group, followed by those of all rows.
    """

    roles: tuple[str, str]
    rates: tuple[PairRate, ...]
    scores: tuple[RoleScores, ...]

    def rate(self, label: str, group: str = COMBINED) -> PairRate:
        """Return the rate of one label and group."""
        return next(rate for rate in self.rates if (rate.label, rate.group) == (label, group))

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {
            "roles": list(self.roles),
            "rates": [rate.as_dict() for rate in self.rates],
            "scores": [scores.as_dict() for scores in self.scores],
        }


@dataclass(frozen=True, slots=True)
class Matched:
    """The row numbers of matched pairs.

    Attributes
    ----------
    first, second : ndarray of int64, shape (pairs,)
        Row numbers of the first and the second role, in the order of the first role's row numbers.
    """

    first: IndexArray
    second: IndexArray


def match_pairs(pair: Sequence[str], role: Sequence[str], roles: tuple[str, str]) -> Matched:
    """Find the two rows of each pair.

    Parameters
    ----------
    pair : sequence of str, n of them
        The pair of each row. Rows with an empty string belong to no pair and are ignored.
    role : sequence of str, n of them
        The role of each row.
    roles : (str, str)
        The two roles; each pair must have one row of each.

    Returns
    -------
    Matched

    Raises
    ------
    ValueError
        If a pair does not have exactly one row of each role. The message contains all kinds of errors, with
        the first five pairs of each kind.

    Examples
    --------
    >>> found = match_pairs(["1", "1", "", "2", "2"], ["pro", "anti", "", "anti", "pro"], ("anti", "pro"))
    >>> found.first, found.second
    (array([1, 3]), array([0, 4]))
    """
    if len(pair) != len(role):
        raise ValueError(f"`role` must have {len(pair)} values, not {len(role)}.")
    if roles[0] == roles[1]:
        raise ValueError(f"`roles` must contain two different roles, not {roles[0]!r} twice.")
    rows: dict[str, dict[str, list[int]]] = {}
    for number, (name, of) in enumerate(zip(pair, role, strict=True)):
        if name:
            rows.setdefault(name, {}).setdefault(of, []).append(number)
    faults = list(_faults(rows, roles))
    if faults:
        raise ValueError(" ".join(faults))
    both = sorted((by_role[roles[0]][0], by_role[roles[1]][0]) for by_role in rows.values())
    matched = np.array(both, np.int64).reshape(-1, 2)
    return Matched(matched[:, 0], matched[:, 1])


def compare_pairs(
    pair: Sequence[str],
    role: Sequence[str],
    group: Sequence[str] | None,
    predictions: Mapping[str, ArrayLike],
    *,
    roles: tuple[str, str] = ("anti", "pro"),
) -> PairReport:
    """Measure how often a model scores one role of a pair higher than the other.

    Parameters
    ----------
    pair, role : sequence of str, n of them
        As in `match_pairs`.
    group : sequence of str, n of them, optional
        The group of each row, such as the gender of its pronoun. A pair is assigned to the group of its row
        with the first role.
    predictions : mapping of str to array_like, each of shape (n,)
        Finite predictions for each predicted label.
    roles : (str, str)
        The two roles. The rate states how often the first role is scored higher.

    Returns
    -------
    PairReport

    Raises
    ------
    ValueError
        If a pair is incomplete, a row of a pair has no group, or an array has the wrong length or content.

    Notes
    -----
    Hann, Kalil and Payne, section 4.3, on WinoBias (Zhao et al. 2018). The rows require no labels. A rate
    near one half over all pairs does not exclude bias, because rates of 0.9 and 0.1 in two groups of equal
    size also average to one half.

    Examples
    --------
    >>> found = compare_pairs(
    ...     ["1", "1", "2", "2"],
    ...     ["anti", "pro", "anti", "pro"],
    ...     ["F", "M", "M", "F"],
    ...     {"insult": [0.9, 0.1, 0.2, 0.2]},
    ... )
    >>> for each in found.rates:
    ...     print(each.group, each.pairs, each.rate, each.share_tied)
    F 1 1.0 0.0
    M 1 0.5 1.0
    combined 2 0.75 0.5
    """
    matched = match_pairs(pair, role, roles)
    groups = _groups(group, matched, len(pair))
    scores = {
        label: as_vector(f"predictions[{label!r}]", values, rows=len(pair), finite=True)
        for label, values in predictions.items()
    }
    return PairReport(
        roles=roles,
        rates=tuple(
            _rate(label, name, values[matched.first], values[matched.second], of_first)
            for label, values in scores.items()
            for name, (of_first, _) in groups.items()
        ),
        scores=tuple(
            _role_scores(label, name, each_role, values[rows[of]])
            for label, values in scores.items()
            for name, of_both in groups.items()
            for each_role, rows, of in zip(roles, (matched.first, matched.second), of_both, strict=True)
        ),
    )


def _groups(
    group: Sequence[str] | None, matched: Matched, size: int
) -> dict[str, tuple[BoolArray, BoolArray]]:
    """Return two masks for each group: the pairs whose first row is in it, and those whose second row is."""
    everything = np.ones(matched.first.size, np.bool_)
    combined = {COMBINED: (everything, everything)}
    if group is None:
        return combined
    if len(group) != size:
        raise ValueError(f"`group` must have {size} values, not {len(group)}.")
    names = np.array(list(group), object)
    firsts, seconds = names[matched.first], names[matched.second]
    both = [str(name) for name in np.concatenate([firsts, seconds])]
    if "" in both:
        count = both.count("")
        raise ValueError(f"`group` must have a value in every row of a pair. Rows without a value: {count}.")
    if COMBINED in both:
        raise ValueError(f"`group` must not be {COMBINED!r}, which is reserved for all pairs together.")
    return {name: (firsts == name, seconds == name) for name in sorted(set(both))} | combined


def _rate(
    label: str,
    group: str,
    firsts: FloatArray,
    seconds: FloatArray,
    kept: BoolArray,
) -> PairRate:
    outcomes = ((firsts > seconds) + (firsts == seconds) / 2)[kept]
    higher, tied = (int(np.count_nonzero(outcomes == value)) for value in (1, 0.5))
    return PairRate(label, group, outcomes.size, higher, tied)


def _role_scores(label: str, group: str, role: str, scores: NDArray[np.float64]) -> RoleScores:
    return RoleScores(label, group, role, scores.size, mean(scores), deviation(scores))


def _faults(rows: Mapping[str, Mapping[str, list[int]]], roles: tuple[str, str]) -> Iterator[str]:
    for role in roles:
        missing = [name for name, by_role in rows.items() if role not in by_role]
        repeated = [name for name, by_role in rows.items() if len(by_role.get(role, ())) > 1]
        if missing:
            yield f"Pairs without a row for the role {role!r}: {_listed(missing)}."
        if repeated:
            yield f"Pairs with several rows for the role {role!r}: {_listed(repeated)}."
    strange = [name for name, by_role in rows.items() if by_role.keys() - set(roles)]
    if strange:
        yield f"Pairs with a role that is neither {roles[0]!r} nor {roles[1]!r}: {_listed(strange)}."


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown
