"""The safe step: the nearest one to what two good models differ by chance."""

import pytest

from grader.feedback.ladder import SAFE_STEP, safe_step
from grader.visibility import Step


@pytest.mark.parametrize(
    ("error", "step"),
    [
        (0.0, Step.OF_0_0005),
        (0.0005, Step.OF_0_0005),
        (0.0034, Step.OF_0_002),
        (0.0036, Step.OF_0_005),
        (0.05, Step.OF_0_05),
        (0.4, Step.OF_0_05),
    ],
)
def test_the_nearest_step_is_proposed(error: float, step: Step):
    assert safe_step(error / SAFE_STEP) is step
