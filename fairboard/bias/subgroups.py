"""Per-identity metrics: Subgroup, BPSN and BNSP AUC, and the AEGs."""

from collections.abc import Mapping
from dataclasses import dataclass

from fairboard.bias.counts import Comparison, IdentityCounts, PairCounts

BIAS_AUCS = ("subgroup_auc", "bpsn_auc", "bnsp_auc")
GAPS = ("positive_aeg", "negative_aeg")
CELLS = (*BIAS_AUCS, *GAPS)


@dataclass(frozen=True, slots=True)
class Undefined:
    """An undefined value and the reason.

    Attributes
    ----------
    term : str
        The undefined value: ``"overall_auc"``, one of the five cells of an identity, or a power mean, such as
        ``"mean_bpsn_auc"``.
    subgroup : str or None
        The identity; None for the overall AUC and for a power mean.
    reason : str
        A clause that states which rows are missing.
    affects_score : bool
        Whether the value enters the score. AEGs and identities outside the score do not.

    Examples
    --------
    >>> from fairboard import bias_report
    >>> print(bias_report([1, 0, 0], [0.9, 0.2, 0.1], {"cat": [1, 0, 0]}).undefined[0])
    subgroup_auc of cat is undefined: there are no negative rows that mention the identity.
    """

    term: str
    subgroup: str | None
    reason: str
    affects_score: bool

    def __str__(self) -> str:
        of = f" of {self.subgroup}" if self.subgroup is not None else ""
        return f"{self.term}{of} is undefined: {self.reason}"


@dataclass(frozen=True, slots=True)
class SubgroupReport:
    """The metrics of one identity; undefined values are None.

    Attributes
    ----------
    name : str
        The identity.
    in_score : bool
        Whether the identity enters the power means.
    size, positives : int
        Number of rows that mention the identity, and number of positive rows among them.
    subgroup_auc, bpsn_auc, bnsp_auc : float or None
        The three bias AUCs, in [0, 1].
    positive_aeg, negative_aeg : float or None
        The average equality gaps, in [-0.5, 0.5]. Above 0, the subgroup is scored higher than the
        background.

    Examples
    --------
    >>> from fairboard import bias_report
    >>> (cat,) = bias_report([1, 0, 1, 0], [0.9, 0.6, 0.5, 0.1], {"cat": [1, 1, 0, 0]}).subgroups
    >>> cat.size, cat.subgroup_auc, cat.bpsn_auc, cat.negative_aeg
    (2, 1.0, 0.0, 0.5)
    """

    name: str
    in_score: bool
    size: int
    positives: int
    subgroup_auc: float | None
    bpsn_auc: float | None
    bnsp_auc: float | None
    positive_aeg: float | None
    negative_aeg: float | None


_INSIDE, _OUTSIDE = "rows that mention the identity", "rows that do not mention the identity"
# The two sets of rows that each value compares, used to state why a value is undefined.
_COMPARED: dict[str, tuple[str, str]] = {
    "overall_auc": ("positive rows", "negative rows"),
    "subgroup_auc": (f"positive {_INSIDE}", f"negative {_INSIDE}"),
    "bpsn_auc": (f"positive {_OUTSIDE}", f"negative {_INSIDE}"),
    "bnsp_auc": (f"positive {_INSIDE}", f"negative {_OUTSIDE}"),
    "positive_aeg": (f"positive {_OUTSIDE}", f"positive {_INSIDE}"),
    "negative_aeg": (f"negative {_OUTSIDE}", f"negative {_INSIDE}"),
}


def comparisons(counts: PairCounts, identity: IdentityCounts) -> dict[str, Comparison]:
    """Return the five comparisons of one identity, by cell."""
    n1, n0 = identity.positives, identity.negatives
    background1, background0 = counts.positives - n1, counts.negatives - n0
    return {
        "subgroup_auc": Comparison(identity.subgroup_wins, n1, n0),
        "bpsn_auc": Comparison(identity.bpsn_wins, background1, n0),
        "bnsp_auc": Comparison(identity.bnsp_wins, n1, background0),
        "positive_aeg": Comparison(identity.positive_background_wins, background1, n1),
        "negative_aeg": Comparison(identity.negative_background_wins, background0, n0),
    }


def cell_values(cells: Mapping[str, Comparison]) -> dict[str, float | None]:
    """Return the AUCs and gaps of comparisons, by cell; None if undefined."""
    return {cell: each.gap if cell in GAPS else each.auc for cell, each in cells.items()}


def reason(term: str, comparison: Comparison) -> str:
    """Describe which rows are missing from an undefined comparison."""
    missing = [
        rows
        for rows, size in zip(_COMPARED[term], (comparison.first, comparison.second), strict=True)
        if not size
    ]
    return f"there are no {' and no '.join(missing)}."
