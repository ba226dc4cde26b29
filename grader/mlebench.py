"""Score function with the interface of MLE-bench's grader for the Jigsaw competition.

MLE-bench calls ``grade(submission, answers)`` with two data frames. Its own grader rounds the predictions to
0 and 1 before it computes AUCs, so almost all pairs are ties. This grader ranks the original predictions, as
the competition did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from grader.files.solution.jigsaw import ID, IDENTITIES, LABEL
from grader.kaggle import score
from grader.metrics import MetricSettings

if TYPE_CHECKING:
    import pandas as pd


def grade(
    submission: pd.DataFrame,
    answers: pd.DataFrame,
    identity_columns: Sequence[str] = IDENTITIES,
    p: float = -5,
) -> float:
    """Return the score of a submission, computed from the predictions without thresholding.

    Parameters
    ----------
    submission : DataFrame
        ``id`` and ``prediction`` for every row of the answers, in any order. If there is no column
        ``prediction``, a column ``toxicity`` is used, as MLE-bench's grader does to grade its own answers.
    answers : DataFrame
        ``id``, ``toxicity`` and the identities, with values from 0 to 1. Values of at least 0.5 count as
        positive or mentioned. Blank identities count as not mentioned.
    identity_columns : sequence of str, optional
        The identities in the score; by default, the nine identities of the competition.
    p : float, optional
        The exponent of the power means over the identities.

    Returns
    -------
    float
        The score, in [0, 1], identical to the last bit to that of `grader.kaggle.score`. The two data frames
        are not modified.

    Raises
    ------
    ParticipantVisibleError
        If the submission cannot be scored.
    ValueError
        If the answers are invalid, or the score is undefined for them.

    Examples
    --------
    All predictions are below 0.5 but in the right order. MLE-bench's own grader treats all pairs as ties and
    returns 0.5:

    >>> import pandas as pd
    >>> answers = pd.DataFrame(
    ...     {"id": [1, 2, 3, 4], "toxicity": [0.9, 0.1, 0.6, 0.0], "male": [1, 1, 0, None]}
    ... )
    >>> submission = pd.DataFrame({"id": [1, 2, 3, 4], "prediction": [0.4, 0.1, 0.3, 0.2]})
    >>> grade(submission, answers, ["male"])
    1.0
    """
    prediction = (
        LABEL if "prediction" not in submission.columns and LABEL in submission.columns else "prediction"
    )
    return score(
        answers,
        submission,
        ID,
        label=LABEL,
        identities=identity_columns,
        prediction=prediction,
        settings=MetricSettings(power=p),
    )
