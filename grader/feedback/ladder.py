"""Ladder mode: only scores that are clearly better than the team's best are shown."""

import math

import numpy as np

from grader.feedback.basis import ScoredFile
from grader.visibility import Step

UNITS = 100_000
"""The number of units in a score of 1."""
CERTAINTY = 2.0
"""The improvement, in standard errors, required of a team's second file over its first."""
TRIES = 0.5
"""The growth of the requirement: its square grows by 2 * TRIES * log(number of earlier files)."""
NOISE = 1.0
"""Standard deviation, in standard errors, of the secret noise in comparisons and in shown scores."""
FEW_ROWS = 2.0
"""The minimum error of files that have no changes, as a multiple of the largest influence of a row."""
NEWS = 0.1
"""Relative growth of the error with each score that is shown to the team."""
NEAR = 0.07
"""If the best score is within this distance of 1, it must be beaten by the step; lower scores must be beaten
by proportionally more. Weak models improve in large steps. Small steps from a low score indicate that an
attacker knows some labels.
"""
SAFE_STEP = 0.5
"""Suggested step in standard errors of the difference of two typical models' scores.

Typical models are defined in `grader.metrics.expected_error`: they have AUCs of 0.9, and their errors have a
correlation of 0.8. The nearest available step is suggested.
"""


def nearest(score: float, step: int) -> int:
    """Return the multiple of `step` units that is nearest to a score, clipped to the range from 0 to 1."""
    return min(max(round(score * UNITS / step) * step, 0), UNITS)


class Ladder:
    """The ladder of one team, which processes the team's files in order.

    Parameters
    ----------
    step_units : int
        The minimum improvement over the best file, in units of 0.00001.

    Notes
    -----
    The ladder of Blum and Hardt (2015) shows a score only if it beats the best score by a step or, in the
    parameter-free variant, by the standard error of the paired difference. This protects only against chance.
    An attacker who knows some labels can bring a file to just below the threshold and then learn another
    label with each file. Therefore, comparisons include secret noise, which is the same for equal ranks and
    as large as the sampling error. Averaging out this noise requires shown scores, and each shown score
    raises the threshold for the next one.

    A file that is sent again keeps its noise and is not compared again. Otherwise, a file with high noise
    would beat itself and gain a step each time it is sent.
    """

    def __init__(self, step_units: int) -> None:
        self._step = step_units
        self._best: ScoredFile | None = None
        self._shown = 0
        self._files = 0
        self._news = 0
        self._seen: set[tuple[float, float]] = set()

    def show(self, file: ScoredFile) -> int | None:
        """Return the shown score of the next file in units of 0.00001, or None if it is hidden.

        The first file's score is always shown, unless its error is unknown. The scores of files with an
        unknown error, or with the same row order as an earlier file, are never shown.
        """
        if file.basis is None:
            raise ValueError("A ladder needs the basis of each file.")
        needed = math.sqrt(CERTAINTY**2 + 2 * TRIES * math.log(max(self._files, 1)))
        self._files += 1
        error = self._error(file, needed)
        mark = (file.score, file.basis.noise)  # identical for files with the same order of rows
        if error is None or mark in self._seen:
            return None
        self._seen.add(mark)
        # The shown score has separate noise, because the noise of a successful comparison would bias it
        # upwards.
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
        """Return the error of the difference from the best file, or of the first file's score, if known."""
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
    """Return the available step that is nearest to `SAFE_STEP` standard errors.

    Parameters
    ----------
    paired_error : float
        Standard error of the difference of two typical models' scores on the same rows.
    """
    return min(Step, key=lambda step: abs(float(step) - SAFE_STEP * paired_error))
