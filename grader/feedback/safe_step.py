"""The step that a coarse mode needs: about what two good models differ by chance."""

from grader.feedback.ladder import SAFE_STEP
from grader.visibility import Step


def safe_step(paired_error: float) -> Step:
    """Return the step that is nearest to `SAFE_STEP` standard errors.

    Parameters
    ----------
    paired_error : float
        Standard error of the difference of two good models' scores on the same rows.
    """
    return min(Step, key=lambda step: abs(float(step) - SAFE_STEP * paired_error))
