r"""Leak budget: how many hidden labels a team can read in each mode of feedback.

The figures are of two kinds. An *estimate* is what the attacks we know read, had they the luck to use every
answer fully. A *ceiling* holds whatever the attack: it counts the answers that the files of a team can get,
and B bits of answers say B yes-or-no questions, not one more.

Notes
-----
The known attack on one identity (Whitehill 2016) puts rows of unknown label between rows of known one, so
that each positive moves an AUC by twice as much as the row before it. The most that one row can move it is
:math:`1/c`, with c the rows of the identity's rarer class; the least that is seen is the step
:math:`\delta` in which the number is shown. So a number that a row moves by up to m tells :math:`\log_2(1 +
m/\delta)` labels.

- `open`, `terms`, `score`: the sum over the numbers that are shown, as if each were used for other rows:
  the score (5 decimals, m the largest of :math:`w_0/c_{all}` and `slope` / c), the overall AUC and the
  three power means (4 decimals), the identity's three AUCs (2 decimals). Ceiling: :math:`\log_2(1 +
  1/\delta)` bits for each number, and the AUCs of all identities.
- `tiered`: the same for the score alone in steps of s. Ceiling: :math:`\log_2(1 + 1/s)` bits a file, one of
  all bands.
- `noised`: :math:`\frac12 \log_2(1 + (m/s)^2)`, the capacity of a channel with Gaussian noise of standard
  deviation s. Ceiling: :math:`\frac12 \log_2(1 + 1/(4 s^2))` bits a file, for a score from 0 to 1. Each
  file of other ranks has other noise, so that the mean of many is finer than one.
- `ladder`: the first file as in `noised`, with the least noise of a comparison. A later one asks whether
  a choice of rows makes the file better. Near the best no identity can be at the bottom, so that a row
  moves the score by at most f, the weight of its term / (N c). With the signs of r rows unknown the answer
  is a normal number of standard deviation min(1, f sqrt(r) / noise) that must exceed the errors asked for,
  through noise of 1; it tells its mutual information with the answer, and with a score that is shown the
  capacity of the noise. Never more than in `tiered`. Ceiling: what a team sees is its best so far, which
  never falls, and there are :math:`\binom{F+L-1}{F}` such sequences of F files on :math:`L = 1 + 1/s`
  levels. Who knew the noise would come near it.
- `blind`: nothing.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from grader.feedback.ladder import CERTAINTY, FEW_ROWS, NOISE, TRIES
from grader.metrics.metric_settings import MetricSettings
from grader.ranking.order import CELL_DECIMALS, SCORE_DECIMALS, TERM_DECIMALS
from grader.visibility import Feedback, Step

WARNED_SHARE = 0.05
SCORE_STEP, TERM_STEP, CELL_STEP = 10.0**-SCORE_DECIMALS, 10.0**-TERM_DECIMALS, 10.0**-CELL_DECIMALS
MEANS = 3
"""The power means of the score, and the AUCs of each identity: Subgroup, BPSN, BNSP."""


@dataclass(frozen=True, slots=True)
class PublicRows:
    """The public rows of an identity, or all of them.

    Attributes
    ----------
    name : str
    positives, rows : int
        The positive ones, and all; both classes have at least one.
    """

    name: str
    positives: int
    rows: int

    @property
    def rarer(self) -> int:
        """The rows of the rarer class: one of them moves an AUC the most."""
        return min(self.positives, self.rows - self.positives)

    @property
    def bits(self) -> float:
        """What the labels hold for somebody who knows how many are positive: log2 of their arrangements."""
        return _log2_choose(self.rows, self.positives)


@dataclass(frozen=True, slots=True)
class Identity:
    """What a team can read of one identity.

    Attributes
    ----------
    public : PublicRows
        The labels at stake.
    labels : int
        Estimate of how many labels all files read; no more than there are rows.
    labels_per_file : float
        Estimate of how many one file reads, on average over all.
    ceiling : int
        Upper bound on the labels that all responses together can reveal, for any attack.
    """

    public: PublicRows
    labels: int
    labels_per_file: float
    ceiling: int

    @property
    def share(self) -> float:
        """The share of the labels that can be read by the estimate."""
        return self.labels / self.public.rows

    @property
    def is_warned(self) -> bool:
        """Whether more than 5 % of the labels can be read."""
        return self.share > WARNED_SHARE


@dataclass(frozen=True, slots=True)
class LeakBudget:
    """What a team can learn in one mode.

    Attributes
    ----------
    feedback : Feedback
    files : int
        How many files a team may send before the close.
    ceiling_bits : float
        How many yes-or-no questions all answers can answer, whatever the attack.
    identities : tuple of Identity
        In the order given.
    """

    feedback: Feedback
    files: int
    ceiling_bits: float
    identities: tuple[Identity, ...]

    @property
    def weakest(self) -> Identity:
        """The identity of which the largest share can be read; of equal ones the smallest."""
        return max(self.identities, key=lambda each: (each.share, -each.public.rows))

    @property
    def is_large(self) -> bool:
        """Whether more than 5 % of the labels of some identity can be read."""
        return any(each.is_warned for each in self.identities)


def slope(power: float, weight: float, identities: int) -> float:
    """Return how far the score can move when the AUC of one identity moves by one.

    With M the power mean of N AUCs, dM/dm = (1/N) (M/m)^(1-p). Below 0 it is largest where m is far below the
    others, above 1 where it is far above: M/m = N^(-1/p) in both, so dM/dm = N^(-1/p); 9 identities at p = -5
    give 1.55. From 0 to 1 it has no bound.

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
    if 0 <= power < 1:
        return math.inf if weight else 0.0
    exponent = -1 / power  # zero for an infinite power
    return weight * math.exp(min(exponent * math.log(identities), 700.0))


def budget(
    identities: Iterable[PublicRows],
    *,
    everyone: PublicRows,
    settings: MetricSettings,
    feedback: Feedback,
    step: Step,
    files: int,
) -> LeakBudget:
    """Return the leak budget of a competition in one mode.

    Parameters
    ----------
    identities : iterable of PublicRows
        The identities in the score, at least one.
    everyone : PublicRows
        All public rows.
    settings : MetricSettings
        For the power and the weights.
    feedback : Feedback
    step : Step
        Of the modes that have one.
    files : int
        How many files a team may send.

    Returns
    -------
    LeakBudget
        Its figures grow with the files, and fall with the step and from `open` to `blind`.
    """
    known = list(identities)
    ceiling = _ceiling(feedback, float(step), files, len(known))
    lines = []
    for public in known:
        moves = _moves(public, everyone, settings, len(known))
        bits = min(_estimate(moves, feedback, float(step), files), ceiling)
        lines.append(
            Identity(
                public=public,
                labels=min(math.floor(bits), public.rows),
                labels_per_file=bits / files if files else 0.0,
                ceiling=math.floor(min(1.0, ceiling / public.bits) * public.rows),
            )
        )
    return LeakBudget(feedback=feedback, files=files, ceiling_bits=ceiling, identities=tuple(lines))


@dataclass(frozen=True, slots=True)
class _Moves:
    """By how much one of an identity's rows can move each number; `flat` is the score near a team's best."""

    rows: int
    score: float
    flat: float
    overall: float
    mean: float
    cell: float


def _moves(public: PublicRows, everyone: PublicRows, settings: MetricSettings, identities: int) -> _Moves:
    weights = settings.weights
    weight = max(weights.subgroup_auc, weights.bpsn_auc, weights.bnsp_auc)
    by_overall = weights.overall_auc / everyone.rarer
    return _Moves(
        rows=public.rows,
        score=max(by_overall, min(slope(settings.power, weight, identities) / public.rarer, weight)),
        flat=max(by_overall, weight / (identities * public.rarer)),
        overall=1 / everyone.rarer,
        mean=min(slope(settings.power, 1.0, identities) / public.rarer, 1.0),
        cell=1 / public.rarer,
    )


def _estimate(moves: _Moves, feedback: Feedback, step: float, files: int) -> float:
    match feedback:
        case Feedback.BLIND:
            return 0.0
        case Feedback.NOISED:
            return files * _through_noise(moves.score, step)
        case Feedback.TIERED:
            return files * _told(moves.score, step)
        case Feedback.LADDER:
            return _on_ladder(moves, step, files)
    bits = _told(moves.score, SCORE_STEP)
    if feedback is not Feedback.SCORE:
        bits += _told(moves.overall, TERM_STEP) + MEANS * _told(moves.mean, TERM_STEP)
    if feedback is Feedback.OPEN:
        bits += MEANS * _told(moves.cell, CELL_STEP)
    return files * bits


def _on_ladder(moves: _Moves, step: float, files: int) -> float:
    most = _told(moves.score, step)  # as in bands
    first = _through_noise(moves.score, NOISE * max(FEW_ROWS * moves.score, step / CERTAINTY))
    bits, before = min(files, 1) * min(first, most), 1
    while before < files:
        needed = math.sqrt(CERTAINTY**2 + 2 * TRIES * math.log(before))
        spread = min(1.0, moves.flat * math.sqrt(moves.rows) * needed / step)
        told = _comparison(needed, math.ceil(100 * spread) / 100)  # few numbers, to be kept
        bits += (min(2 * before, files) - before) * min(told, most)
        before *= 2  # the files of a block as the first of it, of which the least is asked
    return bits


@lru_cache(4096)
def _comparison(needed: float, spread: float) -> float:
    """Return what a comparison tells of a normal number that must exceed `needed` through noise, in bits."""
    chances = [math.erfc((needed - spread * at) / NOISE / math.sqrt(2)) / 2 for at in _POINTS]
    chance = _mean(chances)
    told = _entropy(chance) - _mean(map(_entropy, chances))
    return max(told, 0.0) + chance * _through_noise(spread, NOISE)


def _mean(values: Iterable[float]) -> float:
    """Return the mean of what is known at `_POINTS` of a normal number."""
    return sum(weight * value for weight, value in zip(_WEIGHTS, values, strict=True))


def _entropy(chance: float) -> float:
    return -sum(each * math.log2(each) for each in (chance, 1 - chance) if each > 0)


_POINTS = [place / 10 for place in range(-60, 61)]
_WEIGHTS = [math.exp(-at * at / 2) / 10 / math.sqrt(2 * math.pi) for at in _POINTS]


def _ceiling(feedback: Feedback, step: float, files: int, identities: int) -> float:
    match feedback:
        case Feedback.BLIND:
            return 0.0
        case Feedback.NOISED:
            return files * _through_noise(0.5, step)
        case Feedback.TIERED:
            return files * _told(1, step)
        case Feedback.LADDER:
            return _log2_choose(files + round(1 / step), files)
    bits = _told(1, SCORE_STEP)
    if feedback is not Feedback.SCORE:
        bits += (1 + MEANS) * _told(1, TERM_STEP)
    if feedback is Feedback.OPEN:
        bits += identities * MEANS * _told(1, CELL_STEP)
    return files * bits


def _told(move: float, step: float) -> float:
    """Return how many labels a number in this step tells if one row moves it by up to `move`."""
    return math.log2(1 + move / step)


def _through_noise(move: float, noise: float) -> float:
    """Return the capacity in bits of a Gaussian channel for a signal that moves by up to `move` each way."""
    return math.log2(1 + (move / noise) ** 2) / 2


def _log2_choose(total: int, chosen: int) -> float:
    ways = math.lgamma(total + 1) - math.lgamma(chosen + 1) - math.lgamma(total - chosen + 1)
    return max(ways, 0.0) / math.log(2)
