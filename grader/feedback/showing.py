"""From a team's scored files to what is shown of each: the score, a band, a new best, noise, nothing."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.feedback.basis import Basis, paired_error
from grader.ranking.order import score_units
from grader.visibility import Feedback

UNITS = 100_000
CERTAINTY = 2.0
"""By how many standard errors of the paired difference a file must beat the best on a ladder."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What a competition shows.

    Attributes
    ----------
    feedback : Feedback
    step_units : int
        The step of the coarse modes in units of 0.00001: the width of a band, the step of a ladder, the
        standard deviation of the noise.
    """

    feedback: Feedback
    step_units: int


@dataclass(frozen=True, slots=True)
class ScoredFile:
    """One file of a team: its exact public score, and its basis where the mode needs one."""

    score: float
    basis: Basis | None = None


def show(files: Sequence[ScoredFile], rule: Rule) -> list[int | None]:
    """Return what is shown of each file, in units of 0.00001.

    Parameters
    ----------
    files : sequence of ScoredFile
        All scored files of one team in the order of their acceptance.
    rule : Rule

    Returns
    -------
    list of int or None
        None where nothing is shown: in `blind` of every file, on a `ladder` of a file that is not clearly
        better than the best shown before it.

    Notes
    -----
    A ladder (Blum and Hardt 2015, the variant without a parameter) shows a file only if its score beats the
    best by the step *and* by `CERTAINTY` standard errors of the paired difference, and rounds it to the step.
    """
    match rule.feedback:
        case Feedback.TIERED:
            return [_floor(file.score, rule.step_units) for file in files]
        case Feedback.LADDER:
            return list(_ladder(files, rule.step_units))
        case Feedback.NOISED:
            return [_noised(file, rule.step_units) for file in files]
        case Feedback.BLIND:
            return [None] * len(files)
        case _:
            return [score_units(file.score) for file in files]


def _floor(score: float, step: int) -> int:
    return score_units(score) // step * step


def _nearest(score: float, step: int) -> int:
    return min(max(round(score * UNITS / step) * step, 0), UNITS)


def _noised(file: ScoredFile, step: int) -> int:
    if file.basis is None:
        raise ValueError("Noise needs the basis of a file.")
    return _nearest(file.score + file.basis.noise * step / UNITS, step)


def _ladder(files: Sequence[ScoredFile], step: int) -> Iterator[int | None]:
    best: ScoredFile | None = None
    for file in files:
        if best is None or file.score - best.score > _needed(file, best, step):
            best = file
            yield _nearest(file.score, step)
        else:
            yield None


def _needed(file: ScoredFile, best: ScoredFile, step: int) -> float:
    """Return by how much a file must beat the best; infinite where its error is not known."""
    if file.basis is None or best.basis is None:
        raise ValueError("A ladder needs the basis of each file.")
    error = paired_error(file.basis, best.basis)
    return math.inf if error is None else max(step / UNITS, CERTAINTY * error)
