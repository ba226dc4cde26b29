"""Pinned AUC, its parts, and a warning that it is not robust."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from grader.metrics.analysis.rows import Counted, Rows, count
from grader.metrics.counts import Comparison
from grader.metrics.prepared import FloatArray, IndexArray

NOT_ROBUST = (
    "Pinned AUC is not robust: it weighs its four AUCs by the pairs that fall on each, so it moves with "
    "the share of positive rows in the subgroup while the predictions stay what they are. Read the "
    "Subgroup, BPSN and BNSP AUC instead."
)

Part = Literal["background_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc"]


@dataclass(frozen=True, slots=True)
class PinnedPart:
    """One of the four AUCs of equation 3; `weight` is the share of the pairs that fall on it."""

    name: Part
    auc: float | None
    weight: float


@dataclass(frozen=True, slots=True)
class PinnedAuc:
    """The pinned AUC of one identity. It is not robust (`NOT_ROBUST`).

    Attributes
    ----------
    name : str
        The identity.
    rows : int
        Rows of the pinned set: as many of the subgroup as of the background.
    value : float or None
        In [0, 1]; None is undefined.
    parts : tuple of PinnedPart
        The AUCs of background, subgroup, BPSN and BNSP; the weighted sum of those that are defined
        is the value. A part that is None has weight 0. Empty where the value is undefined.
    reason : str or None
        Why the value is None.
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
    r"""Return the pinned AUC that is to be expected over all samples of the background.

    With the sets of the pinned dataset and N their pairs of a negative and a positive row,

    .. math:: pAUC = \frac{|D^-||D^+|}{N} AUC(D^- + D^+) + \frac{|D_g^-||D_g^+|}{N} AUC(D_g^- + D_g^+)
              + \frac{|D^-||D_g^+|}{N} AUC(D^- + D_g^+) + \frac{|D_g^-||D^+|}{N} AUC(D_g^- + D^+)

    The number of positive rows in a sample is hypergeometric, and given that number the expected
    AUC of each part is its AUC on all rows. So the expectation is the same sum with the expected
    weights, and nothing has to be drawn.

    Parameters
    ----------
    rows : Rows
    name : str
        An identity of the rows.

    Returns
    -------
    PinnedAuc
        Undefined where any sample could lack a class.

    Notes
    -----
    Borkan et al., "Limitations of Pinned AUC for Measuring Unintended Bias" (2019), equations 1 to
    3; their N is printed as a sum and must be a product. The pinned set holds all rows of the
    subgroup and as many of the background, drawn without replacement; where the background is
    the smaller of the two, all of it and as many of the subgroup.
    """
    return expected(name, count(rows.only([name])))


def pinned_aucs(rows: Rows, counted: Counted | None = None) -> tuple[PinnedAuc, ...]:
    """Return the expected pinned AUC of every identity, as `pinned_auc` does for one.

    `counted` is what `count` returns for these rows, if it is known already; it may hold more identities.
    """
    counted = counted or count(rows)
    return tuple(expected(name, counted) for name in rows.names)


def sampled_pinned_auc(rows: Rows, name: str, *, seed: int, samples: int = 1) -> tuple[PinnedAuc, ...]:
    """Return the pinned AUCs of samples, as the metric was first defined.

    Parameters
    ----------
    rows : Rows
    name : str
        An identity of the rows.
    seed : int
        The same seed gives the same samples.
    samples : int

    Returns
    -------
    tuple of PinnedAuc
        One for each sample, with the AUCs and the weights of that sample.
    """
    rng = np.random.default_rng(seed)
    subgroup = np.flatnonzero(rows.members[name])
    background = np.flatnonzero(rows.background_of(name))
    size = min(subgroup.size, background.size)
    of_one = rows.only([name])
    results = []
    for _ in range(samples):
        kept = np.zeros(rows.size, np.bool_)
        kept[_drawn(rng, subgroup, size)] = True
        kept[_drawn(rng, background, size)] = True
        results.append(_of_sample(name, count(of_one, kept)))
    return tuple(results)


def _drawn(rng: np.random.Generator, places: IndexArray, size: int) -> IndexArray:
    """Draw places without replacement; all of them without drawing."""
    return places if places.size == size else rng.choice(places, size, replace=False)


def parts_of(name: str, counted: Counted) -> dict[Part, Comparison]:
    """Return the four comparisons of one identity that its pinned AUC consists of."""
    cells = counted.cells[name]
    return {
        "background_auc": counted.backgrounds[name],
        "subgroup_auc": cells["subgroup_auc"],
        "bpsn_auc": cells["bpsn_auc"],
        "bnsp_auc": cells["bnsp_auc"],
    }


def _of_sample(name: str, counted: Counted) -> PinnedAuc:
    """Read the pinned AUC off a pinned dataset: it is the overall AUC."""
    overall = counted.overall
    rows, pairs = overall.first + overall.second, overall.first * overall.second
    if not pairs:
        return PinnedAuc(name, rows, None, (), "the sample lacks a class.")
    parts = tuple(
        PinnedPart(part, comparison.auc, comparison.first * comparison.second / pairs)
        for part, comparison in parts_of(name, counted).items()
    )
    return PinnedAuc(name, rows, overall.auc, parts)


def expected(name: str, counted: Counted) -> PinnedAuc:
    """Return the expected pinned AUC of one identity from what was counted."""
    comparisons = parts_of(name, counted)
    subgroup = (comparisons["subgroup_auc"].first, comparisons["subgroup_auc"].second)
    background = (comparisons["background_auc"].first, comparisons["background_auc"].second)
    size = min(sum(subgroup), sum(background))
    if not size:
        return PinnedAuc(name, 0, None, (), "the subgroup or the background is empty.")
    of_subgroup, chances = _positives_drawn(*subgroup, size)
    of_background, others = _positives_drawn(*background, size)
    # One of the two is taken whole, so that one of the arrays has a single element.
    chances = chances * others
    pairs = (of_subgroup + of_background) * (2 * size - of_subgroup - of_background)
    if not pairs.all():
        return PinnedAuc(name, 2 * size, None, (), "a sample may lack a class.")
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
    # By the sum of the weights, so that four perfect parts are perfect to the last bit.
    return PinnedAuc(name, 2 * size, value / math.fsum(part.weight for part in parts), parts)


def _positives_drawn(positives: int, negatives: int, size: int) -> tuple[FloatArray, FloatArray]:
    """Return how many positive rows a sample may have, and the chance of each number."""
    possible = np.arange(max(0, size - negatives), min(size, positives) + 1, dtype=np.float64)
    before = possible[:-1]
    # The ratio of the hypergeometric probabilities of neighbours, summed up as logarithms.
    ratios = (positives - before) * (size - before) / ((before + 1) * (negatives - size + before + 1))
    logarithms = np.concatenate(([0.0], np.cumsum(np.log(ratios))))
    chances = np.exp(logarithms - logarithms.max())
    return possible, chances / chances.sum()
