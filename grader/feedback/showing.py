"""Displayed public scores of a team's files, by feedback mode."""

from collections.abc import Sequence
from dataclasses import dataclass

from grader.feedback.basis import ScoredFile
from grader.feedback.ladder import UNITS, Ladder, nearest
from grader.ranking.order import score_units
from grader.visibility import Feedback


@dataclass(frozen=True, slots=True)
class Rule:
    """The feedback mode and the step of a competition.

    Attributes
    ----------
    feedback : Feedback
    step_units : int
        The step of the coarse modes in units of 0.00001: the width of a band, the step of a ladder, or the
        standard deviation of the noise.
    """

    feedback: Feedback
    step_units: int


def show(files: Sequence[ScoredFile], rule: Rule) -> list[int | None]:
    """Return the shown score of each file in units of 0.00001.

    Parameters
    ----------
    files : sequence of ScoredFile
        All scored files of one team in the order in which they were accepted.
    rule : Rule

    Returns
    -------
    list of int or None
        None if a score is not shown: in `blind` for all files, and in `ladder` for files that are not clearly
        better than the best file before them.
    """
    match rule.feedback:
        case Feedback.TIERED:
            return [_floor(file.score, rule.step_units) for file in files]
        case Feedback.LADDER:
            ladder = Ladder(rule.step_units)
            return [ladder.show(file) for file in files]
        case Feedback.NOISED:
            return [_noised(file, rule.step_units) for file in files]
        case Feedback.BLIND:
            return [None] * len(files)
        case _:
            return [score_units(file.score) for file in files]


def _floor(score: float, step: int) -> int:
    return score_units(score) // step * step


def _noised(file: ScoredFile, step: int) -> int:
    if file.basis is None:
        raise ValueError("Noise needs the basis of a file.")
    return nearest(file.score + file.basis.noise * step / UNITS, step)
