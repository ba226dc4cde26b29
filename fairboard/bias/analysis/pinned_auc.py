"""Pinned AUC, its four components and its lack of robustness."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from fairboard.bias.analysis.rows import CountedRows, Rows, count
from fairboard.bias.counts import Comparison
from fairboard.bias.prepared import FloatArray
from fairboard.bias.subgroups import BIAS_AUCS

NOT_ROBUST = (
    "Pinned AUC is not robust. It weights its four AUCs by their numbers of pairs, so it changes with the "
    "share of positive rows in the subgroup even if the predictions stay the same. Use the Subgroup, BPSN "
    "and BNSP AUC instead."
)

Part = Literal["background_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc"]


@dataclass(frozen=True, slots=True)
class PinnedPart:
    """One of the four AUCs of equation 3; `weight` is its share of the pairs."""

    name: Part
    auc: float | None
    weight: float


@dataclass(frozen=True, slots=True)
class PinnedAuc:
    """The pinned AUC of one identity.

    The metric is not robust (see `NOT_ROBUST`).

    Attributes
    ----------
    name : str
        The identity.
    rows : int
        Number of rows in the pinned set, half of them from the subgroup and half from the background.
    value : float or None
        The pinned AUC, in [0, 1]; None if undefined.
    parts : tuple of PinnedPart
        The background, Subgroup, BPSN and BNSP AUC. The value is their weighted sum; undefined parts have
        weight 0. Empty if the value is undefined.
    reason : str or None
        The reason why the value is undefined.
    """

    name: str
    rows: int
    value: float | None
    parts: tuple[PinnedPart, ...]
    reason: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data, with the warning."""
        return asdict(self) | {"robust": False, "warning": NOT_ROBUST}


def pinned_auc(rows: Rows, name: str) -> PinnedAuc:
    r"""Return the expected pinned AUC over all random samples of the background.

    For the pinned dataset with N pairs of a negative and a positive row,

    .. math:: pAUC = \frac{|D^-||D^+|}{N} AUC(D^- + D^+) + \frac{|D_g^-||D_g^+|}{N} AUC(D_g^- + D_g^+)
              + \frac{|D^-||D_g^+|}{N} AUC(D^- + D_g^+) + \frac{|D_g^-||D^+|}{N} AUC(D_g^- + D^+)

    The number of positive rows in a sample has a hypergeometric distribution. Given this number, the
    expected AUC of each part is its AUC on all rows. The expectation is therefore the same sum with the
    expected weights, and no sampling is required.

    Parameters
    ----------
    rows : Rows
    name : str
        An identity of the rows.

    Returns
    -------
    PinnedAuc
        The expected pinned AUC, which is undefined if a sample could have rows of only one class.

    Notes
    -----
    Borkan et al., "Limitations of Pinned AUC for Measuring Unintended Bias" (2019), equations 1 to 3. In
    the paper, N is printed as a sum but must be a product. The pinned set consists of all rows of the
    subgroup and an equal number of background rows, drawn without replacement. If the background is
    smaller than the subgroup, the roles are reversed.
    """
    return expected(name, count(rows.only([name])))


def pinned_aucs(rows: Rows, counted: CountedRows | None = None) -> tuple[PinnedAuc, ...]:
    """Return the expected pinned AUC of every identity, as computed by `pinned_auc`.

    Pass the result of `count` for these rows as `counted` if it is already available. It may contain
    additional identities.
    """
    counted = counted or count(rows)
    return tuple(expected(name, counted) for name in rows.names)


def parts_of(name: str, counted: CountedRows) -> dict[Part, Comparison]:
    """Return the four comparisons of which the pinned AUC of one identity consists."""
    aucs: dict[Part, Comparison] = {cell: counted.cells[name][cell] for cell in BIAS_AUCS}
    return {"background_auc": counted.backgrounds[name], **aucs}


def expected(name: str, counted: CountedRows) -> PinnedAuc:
    """Return the expected pinned AUC of one identity from its counts."""
    comparisons = parts_of(name, counted)
    subgroup = (comparisons["subgroup_auc"].first, comparisons["subgroup_auc"].second)
    background = (comparisons["background_auc"].first, comparisons["background_auc"].second)
    size = min(sum(subgroup), sum(background))
    if not size:
        return PinnedAuc(name, 0, None, (), "the subgroup or the background is empty.")
    of_subgroup, chances = _positives_drawn(*subgroup, size)
    of_background, others = _positives_drawn(*background, size)
    # The smaller set is used in full, so at least one of the two arrays has a single element.
    chances = chances * others
    pairs = (of_subgroup + of_background) * (2 * size - of_subgroup - of_background)
    if not pairs.all():
        return PinnedAuc(name, 2 * size, None, (), "a sample may have rows of only one class.")
    on_each: dict[Part, FloatArray] = {
        "background_auc": of_background * (size - of_background),
        "subgroup_auc": of_subgroup * (size - of_subgroup),
        "bpsn_auc": of_background * (size - of_subgroup),
        "bnsp_auc": of_subgroup * (size - of_background),
    }
    parts = tuple(
        PinnedPart(part, comparisons[part].auc, float((chances * (falling / pairs)).sum()))
        for part, falling in on_each.items()
    )
    value = math.fsum(part.weight * (part.auc or 0.0) for part in parts)
    # Dividing by the sum of the weights makes the value exactly 1 if all parts are 1.
    return PinnedAuc(name, 2 * size, value / math.fsum(part.weight for part in parts), parts)


def _positives_drawn(positives: int, negatives: int, size: int) -> tuple[FloatArray, FloatArray]:
    """Return the possible numbers of positive rows in a sample and their probabilities."""
    if size == positives + negatives:
        return np.array([float(positives)]), np.ones(1)
    possible = np.arange(max(0, size - negatives), min(size, positives) + 1, dtype=np.float64)
    before = possible[:-1]
    # The logarithms of the ratios of consecutive hypergeometric probabilities are summed.
    ratios = (positives - before) * (size - before) / ((before + 1) * (negatives - size + before + 1))
    logarithms = np.concatenate(([0.0], np.cumsum(np.log(ratios))))
    chances = np.exp(logarithms - logarithms.max())
    return possible, chances / chances.sum()
