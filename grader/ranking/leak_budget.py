"""Formula and warning limit of the leak budget: how many hidden labels a team's scores give away."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

SCORE_STEP = 1e-5
WARNED_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class PublicSubgroup:
    """An identity's rows in the public split.

    Attributes
    ----------
    name : str
    positives, rows : int
        Positive rows, and all rows, that mention the identity.
    """

    name: str
    positives: int
    rows: int


@dataclass(frozen=True, slots=True)
class LeakBudget:
    """What a team can learn.

    Attributes
    ----------
    files : int
        How many files a team may send before the close.
    labels_per_file : float
        How many labels one file can ask for through the displayed score.
    labels : int
        The most that all files can tell of the steepest subgroup: no more than it has public rows.
    steepest : PublicSubgroup
        The one whose rows move the score the most.
    smallest : PublicSubgroup
        The one with the fewest public rows.
    ceiling_bits : float
        What one displayed score can carry whatever the attack, in bits: log2(1 / step).
    """

    files: int
    labels_per_file: float
    labels: int
    steepest: PublicSubgroup
    smallest: PublicSubgroup
    ceiling_bits: float

    @property
    def is_large(self) -> bool:
        """Whether the budget is more than 5 % of the public rows of the smallest subgroup."""
        return self.labels > WARNED_SHARE * self.smallest.rows


def slope(power: float, weight: float, identities: int) -> float:
    """Return how far the score can move when the AUC of one identity moves by one.

    With M the power mean of N AUCs, dM/dm = (1/N) (M/m)^(1-p), which is largest where m is far below the
    others: M/m = N^(-1/p), so dM/dm = N^(-1/p); 9 identities at p = -5 give 1.55. It never exceeds what the
    whole term can move, for an AUC moves by at most one.

    Parameters
    ----------
    power : float
        p of the power mean.
    weight : float
        The largest weight of the three subgroup terms.
    identities : int
        N, at least 1.

    Returns
    -------
    float
        Score per unit of AUC; 0.39 for the default settings and nine identities.
    """
    if power == 0:
        return math.inf if weight else 0.0
    exponent = -1 / power  # zero for an infinite power
    return weight * math.exp(min(exponent * math.log(identities), 700.0))


def budget(
    subgroups: Iterable[PublicSubgroup],
    *,
    files: int,
    power: float,
    weight: float,
    step: float = SCORE_STEP,
) -> LeakBudget:
    """Return the leak budget of a competition.

    One positive row of subgroup g moves its AUC by 1 / n1_g and the score by slope / n1_g, so that one
    displayed score can tell log2(1 + slope / (n1_g step)) labels apart, and never more than log2(1 / step).

    Parameters
    ----------
    subgroups : iterable of PublicSubgroup
        The identities in the score; at least one, each with a positive row.
    files : int
        How many files a team may send.
    power, weight : float
        As in `slope`.
    step : float
        The step in which the score is displayed.

    Returns
    -------
    LeakBudget

    Source: Whitehill 2016 on AUC oracles; the arithmetic is in docs/organizers.md.
    """
    known = list(subgroups)
    ceiling = math.log2(1 / step)
    steepness = slope(power, weight, len(known))
    steepest = min(known, key=lambda each: each.positives)
    per_file = min(ceiling, math.log2(1 + min(steepness / steepest.positives, weight) / step))
    return LeakBudget(
        files=files,
        labels_per_file=per_file,
        labels=min(math.floor(files * per_file), steepest.rows),
        steepest=steepest,
        smallest=min(known, key=lambda each: each.rows),
        ceiling_bits=ceiling,
    )
