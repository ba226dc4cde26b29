r"""Leak budget: number of hidden labels that a team can derive in each feedback mode.

There are two kinds of figures. An *estimate* states how many labels the known attacks derive if they use
every response perfectly. A *ceiling* holds for any attack: it is the information content of all possible
responses to a team's files, because B bits can answer at most B yes-or-no questions.

Notes
-----
The known attack on one identity (Whitehill 2016) places rows with unknown labels between rows with known
labels, so that each positive row changes an AUC by twice as much as the row before it. One row can change it
by at most :math:`1/c`, where c is the number of rows in the identity's rarer class. The smallest visible
change is the step :math:`\delta` with which the number is displayed. Therefore, a number that one row changes
by up to m discloses :math:`\log_2(1 + m/\delta)` labels.

- `open`, `terms`, `score`: the sum over all displayed numbers, as if each were used for different rows: the
  score (5 decimals, where m is the larger of :math:`w_0/c_{all}` and `slope` / c), the overall AUC and the
  three power means (4 decimals), and the identity's three AUCs (2 decimals). The ceiling is
  :math:`\log_2(1 + 1/\delta)` bits per number, including the AUCs of all identities.
- `tiered`: the same for the score only, with step s. The ceiling is :math:`\log_2(1 + 1/s)` bits per file,
  which identify one of the bands.
- `noised`: :math:`\frac12 \log_2(1 + (m/s)^2)`, the capacity of a channel with Gaussian noise of standard
  deviation s. The ceiling is :math:`\frac12 \log_2(1 + 1/(4 s^2))` bits per file for a score between 0 and 1.
  Files with different ranks have different noise, so the mean of many scores is more precise than one score.
- `ladder`: the first file is treated as in `noised`, with the minimum noise of a comparison. Each later file
  tests whether a selection of rows improves the score. Near the best score no identity can be at the bottom,
  so one row changes the score by at most f, the weight of its term / (N c). If the labels of r rows are
  unknown, the improvement is normally distributed with standard deviation min(1, f sqrt(r) / noise). It must
  exceed the required number of errors, with noise of 1. The response discloses its mutual information with
  the improvement, and a shown score additionally discloses the capacity of the noise. The result is at most
  that of `tiered`. The ceiling is based on the shown best score, which never falls: there are
  :math:`\binom{F+L-1}{F}` such sequences of F files on :math:`L = 1 + 1/s` levels. An attacker who knew the
  noise could almost reach it.
- `blind`: nothing is disclosed.
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
"""Number of power means in the score and of AUCs per identity: Subgroup, BPSN, BNSP."""


@dataclass(frozen=True, slots=True)
class PublicRows:
    """The counts of an identity's public rows, or of all public rows.

    Attributes
    ----------
    name : str
    positives, rows : int
        The numbers of positive rows and of all rows. Both classes have at least one row.
    """

    name: str
    positives: int
    rows: int

    @property
    def rarer(self) -> int:
        """The number of rows in the rarer class, the rows that individually affect an AUC most."""
        return min(self.positives, self.rows - self.positives)

    @property
    def bits(self) -> float:
        """The information in the labels, in bits, if the number of positive rows is known."""
        return _log2_choose(self.rows, self.positives)


@dataclass(frozen=True, slots=True)
class Identity:
    """The part of the leak budget that concerns one identity.

    Attributes
    ----------
    public : PublicRows
        The rows whose labels may be derived.
    labels : int
        Estimated number of labels that all files disclose, at most the number of rows.
    labels_per_file : float
        Estimated mean number of labels per file.
    ceiling : int
        Upper bound on the number of labels that all responses together can reveal to any attack.
    """

    public: PublicRows
    labels: int
    labels_per_file: float
    ceiling: int

    @property
    def share(self) -> float:
        """The estimated share of the labels that can be derived."""
        return self.labels / self.public.rows

    @property
    def is_warned(self) -> bool:
        """Whether the estimate exceeds 5 % of the labels."""
        return self.share > WARNED_SHARE


@dataclass(frozen=True, slots=True)
class LeakBudget:
    """The leak budget of a team in one feedback mode.

    Attributes
    ----------
    feedback : Feedback
    files : int
        The number of files that a team may submit before the close.
    ceiling_bits : float
        Upper bound, for any attack, on the information in all responses.
    identities : tuple of Identity
        In the given order.
    """

    feedback: Feedback
    files: int
    ceiling_bits: float
    identities: tuple[Identity, ...]

    @property
    def weakest(self) -> Identity:
        """The identity with the largest derivable share of labels; among ties, the smallest one."""
        return max(self.identities, key=lambda each: (each.share, -each.public.rows))

    @property
    def is_large(self) -> bool:
        """Whether the estimate exceeds 5 % of the labels of any identity."""
        return any(each.is_warned for each in self.identities)


def slope(power: float, weight: float, identities: int) -> float:
    """Return the maximum change of the score per unit change of one identity's AUC.

    If M is the power mean of N AUCs, dM/dm = (1/N) (M/m)^(1-p). For p < 0 it is largest if m is far below the
    other AUCs, for p > 1 if m is far above them. In both cases M/m = N^(-1/p), so dM/dm = N^(-1/p). For
    example, 9 identities and p = -5 result in 1.55. For p from 0 to 1 it is unbounded.

    Parameters
    ----------
    power : float
        The exponent p of the power mean.
    weight : float
        The largest weight of the three subgroup terms.
    identities : int
        The number of identities N, at least 1.

    Returns
    -------
    float
        The change, which is 0.39 for the default settings and nine identities.
    """
    if 0 <= power < 1:
        return math.inf if weight else 0.0
    return weight * math.exp(min(-math.log(identities) / power, 700.0))


def budget(
    identities: Iterable[PublicRows],
    *,
    everyone: PublicRows,
    settings: MetricSettings,
    feedback: Feedback,
    step: Step,
    files: int,
) -> LeakBudget:
    """Return the leak budget of a competition in one feedback mode.

    Parameters
    ----------
    identities : iterable of PublicRows
        The identities in the score, at least one.
    everyone : PublicRows
        All public rows.
    settings : MetricSettings
        Used for the exponent and the weights.
    feedback : Feedback
    step : Step
        Ignored in modes without a step.
    files : int
        The number of files that a team may submit.

    Returns
    -------
    LeakBudget
        Its figures increase with the number of files, and decrease with the step and from `open` to `blind`.
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
    """The largest effects of an identity's row on each number; `flat` applies near the best score."""

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
    most = _told(moves.score, step)  # the same as the estimate for `tiered`
    first = _through_noise(moves.score, NOISE * max(FEW_ROWS * moves.score, step / CERTAINTY))
    bits, before = min(files, 1) * min(first, most), 1
    while before < files:
        needed = math.sqrt(CERTAINTY**2 + 2 * TRIES * math.log(before))
        spread = min(1.0, moves.flat * math.sqrt(moves.rows) * needed / step)
        told = _comparison(needed, math.ceil(100 * spread) / 100)  # rounded for the cache
        bits += (min(2 * before, files) - before) * min(told, most)
        before *= 2  # all files of a block are treated like its first file, which has the lowest requirement
    return bits


@lru_cache(4096)
def _comparison(needed: float, spread: float) -> float:
    """Return the information, in bits, from comparing a noisy normal variable with `needed`."""
    chances = [math.erfc((needed - spread * at) / NOISE / math.sqrt(2)) / 2 for at in _POINTS]
    chance = _mean(chances)
    told = _entropy(chance) - _mean(map(_entropy, chances))
    return max(told, 0.0) + chance * _through_noise(spread, NOISE)


def _mean(values: Iterable[float]) -> float:
    """Return the mean over a normal distribution of values that are given at `_POINTS`."""
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
    """Return the number of labels that a number with this step discloses if a row changes it by `move`."""
    return math.log2(1 + move / step)


def _through_noise(move: float, noise: float) -> float:
    """Return the capacity of a Gaussian channel in bits, for signals of up to `move` in either direction."""
    return math.log2(1 + (move / noise) ** 2) / 2


def _log2_choose(total: int, chosen: int) -> float:
    ways = math.lgamma(total + 1) - math.lgamma(chosen + 1) - math.lgamma(total - chosen + 1)
    return max(ways, 0.0) / math.log(2)
