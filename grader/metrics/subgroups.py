"""What one identity's counts say: three AUCs and two AEGs, or the reason why one is undefined."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from grader.metrics.auc import Comparison, Side
from grader.metrics.counts import IdentityCounts, PairCounts

BiasAuc = Literal["subgroup_auc", "bpsn_auc", "bnsp_auc"]
Cell = Literal[BiasAuc, "positive_aeg", "negative_aeg"]
Term = Literal["overall_auc", Cell]

BIAS_AUCS: tuple[BiasAuc, ...] = ("subgroup_auc", "bpsn_auc", "bnsp_auc")


@dataclass(frozen=True, slots=True)
class Undefined:
    """A value that does not exist, and why.

    Attributes
    ----------
    term : str
        Which value: ``"overall_auc"``, one of the five cells of an identity, or, without a
        subgroup, the power mean of that name.
    subgroup : str or None
        The identity; None for the overall AUC and for a power mean.
    reason : str
        A clause that says which rows are missing.
    affects_score : bool
        Whether it enters the score: not the AEGs, nor identities outside the score.
    """

    term: Term
    subgroup: str | None
    reason: str
    affects_score: bool

    def __str__(self) -> str:
        of = f" of {self.subgroup}" if self.subgroup is not None else ""
        return f"{self.term}{of} is undefined: {self.reason}"


@dataclass(frozen=True, slots=True)
class SubgroupReport:
    """One identity's line of the report; None is undefined.

    Attributes
    ----------
    name : str
        The identity.
    in_score : bool
        Whether it enters the power means.
    size, positives : int
        Rows that mention it, and how many of them are positive.
    subgroup_auc, bpsn_auc, bnsp_auc : float or None
        In [0, 1].
    positive_aeg, negative_aeg : float or None
        In [-0.5, 0.5]; above 0 the subgroup is scored higher than the background.
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

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return asdict(self)


def overall_comparison(counts: PairCounts) -> Comparison:
    """Return positive against negative rows of the whole split."""
    return Comparison(
        counts.overall_wins,
        Side("positive rows", counts.positives),
        Side("negative rows", counts.negatives),
    )


def comparisons(counts: PairCounts, identity: IdentityCounts) -> dict[Cell, Comparison]:
    """Return the five comparisons of one identity, by the name of their cell."""
    mentioned = "that mention the identity"
    elsewhere = "that do not mention the identity"
    positive = Side(f"positive rows {mentioned}", identity.positives)
    negative = Side(f"negative rows {mentioned}", identity.negatives)
    background_positive = Side(f"positive rows {elsewhere}", counts.positives - identity.positives)
    background_negative = Side(f"negative rows {elsewhere}", counts.negatives - identity.negatives)
    return {
        "subgroup_auc": Comparison(identity.subgroup_wins, positive, negative),
        "bpsn_auc": Comparison(identity.bpsn_wins, background_positive, negative),
        "bnsp_auc": Comparison(identity.bnsp_wins, positive, background_negative),
        "positive_aeg": Comparison(identity.positive_background_wins, background_positive, positive),
        "negative_aeg": Comparison(identity.negative_background_wins, background_negative, negative),
    }


def subgroup_report(identity: IdentityCounts, cells: dict[Cell, Comparison]) -> SubgroupReport:
    """Return the line of one identity from its comparisons."""
    return SubgroupReport(
        name=identity.name,
        in_score=identity.in_score,
        size=identity.positives + identity.negatives,
        positives=identity.positives,
        subgroup_auc=cells["subgroup_auc"].auc,
        bpsn_auc=cells["bpsn_auc"].auc,
        bnsp_auc=cells["bnsp_auc"].auc,
        positive_aeg=cells["positive_aeg"].gap,
        negative_aeg=cells["negative_aeg"].gap,
    )
