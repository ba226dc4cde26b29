"""The ladder: a score is shown only if it is clearly better than the best one shown before."""

import math

import numpy as np

from grader.feedback.basis import ScoredFile
from grader.visibility import Step

UNITS = 100_000
"""How many units a score of 1 has."""
CERTAINTY = 2.0
"""By how many errors a team's second file must beat its first."""
TRIES = 0.5
"""How this grows: its square by twice the constant, times the logarithm of the number of files before."""
NOISE = 1.0
"""The standard deviation, in errors, of the secret noise in a comparison and in a score that is shown."""
FEW_ROWS = 2.0
"""How many times the influence of the most important row the error is at least, for files without changes."""
NEWS = 0.1
"""By how much of itself the error grows with each score that a team was shown."""
NEAR = 0.07
"""How far a best score may be from 1 for the step itself to be asked; a lower one must be beaten by more.

Weak models get better by large steps, and who climbs from far below by small ones knows what the rows say.
"""
SAFE_STEP = 0.5
"""The step to propose, in standard errors of the difference of two typical models' scores.

Typical models are those of `grader.metrics.expected_error`: AUCs of 0.9, errors with a correlation of 0.8.
Of the steps that there are, the nearest one.
"""


def nearest(score: float, step: int) -> int:
    """Return the multiple of `step` units that is nearest to a score, within 0 and 1."""
    return min(max(round(score * UNITS / step) * step, 0), UNITS)


class Ladder:
    """What a ladder shows of one team's files, one after the other.

    Parameters
    ----------
    step_units : int
        By how much a file must beat the best at least, in units of 0.00001.

    Notes
    -----
    The ladder of Blum and Hardt (2015) shows a score only if it beats the best by a step, or, without any
    parameter, by the standard error of the paired difference. That holds against chance alone: who knows some
    labels can bring a file to just below the threshold by them, and then reads another with each file. So the
    comparison has noise, which is secret and the same for equal ranks, as large as the error that the choice
    of the rows makes. To average it out takes files that are shown, and each makes the next one dearer.

    A file that is sent again keeps its noise. Were it compared again, one with high noise would beat itself,
    and climb a step each time that it is sent.
    """

    def __init__(self, step_units: int) -> None:
        self._step = step_units
        self._best: ScoredFile | None = None
        self._shown = 0
        self._files = 0
        self._news = 0
        self._seen: set[tuple[float, float]] = set()

    def show(self, file: ScoredFile) -> int | None:
        """Return what is shown of the team's next file, in units of 0.00001; None where nothing is.

        The first file is shown; one whose error is not known never is, nor one that orders the rows as an
        earlier one does.
        """
        if file.basis is None:
            raise ValueError("A ladder needs the basis of each file.")
        needed = math.sqrt(CERTAINTY**2 + 2 * TRIES * math.log(max(self._files, 1)))
        self._files += 1
        error = self._error(file, needed)
        mark = (file.score, file.basis.noise)  # the same for files that order the rows alike
        if error is None or mark in self._seen:
            return None
        self._seen.add(mark)
        # The noise that made a file news would make each shown score too high, so that one has its own.
        shown = nearest(file.score + NOISE * file.basis.other_noise * error, self._step)
        if self._best is None:
            self._shown = shown
        elif file.score - self._best.score + NOISE * file.basis.noise * error > needed * error:
            self._shown = min(max(shown, self._shown + self._step), UNITS)
        else:
            return None
        self._best = file
        self._news += 1
        return self._shown

    def _error(self, file: ScoredFile, needed: float) -> float | None:
        """Return the error of the difference to the best, or of a first score; None if it is not known."""
        basis, best = file.basis, self._best.basis if self._best else None
        if basis is None or basis.sketch is None:
            return None
        difference = basis.sketch.astype(np.float64)
        if best is not None and best.sketch is not None:
            difference -= best.sketch
        by_chance = math.sqrt(float(difference @ difference))
        changes, before = basis.changes, best.changes if best else np.float32(0)
        if changes is None or before is None:
            by_one_row = FEW_ROWS * float(np.abs(difference).max())
        else:
            by_one_row = max(float(np.abs(changes - before).max()), basis.leap, best.leap if best else 0.0)
        missing = NEAR if self._best is None else 1 - self._best.score
        step = self._step / UNITS * max(1, missing / NEAR)
        least = max(by_chance, by_one_row, step / needed)
        return least * (1 + NEWS * max(self._news - 1, 0))


def safe_step(paired_error: float) -> Step:
    """Return the step that is nearest to `SAFE_STEP` standard errors.

    Parameters
    ----------
    paired_error : float
        Standard error of the difference of two good models' scores on the same rows.
    """
    return min(Step, key=lambda step: abs(float(step) - SAFE_STEP * paired_error))
