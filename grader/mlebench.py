"""The score with the signature of MLE-bench's grader for the Jigsaw competition.

MLE-bench calls ``grade(submission, answers)`` with two data frames. Its own grader rounds the predictions to
0 and 1 before it computes AUCs, so that almost all pairs are ties; this one ranks them as they are, as the
competition did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from grader.kaggle import score
from grader.metrics import MetricSettings

if TYPE_CHECKING:
    import pandas as pd

ID, LABEL = "id", "toxicity"
IDENTITIES = (
    "male",
    "female",
    "homosexual_gay_or_lesbian",
    "christian",
    "jewish",
    "muslim",
    "black",
    "white",
    "psychiatric_or_mental_illness",
)


def grade(
    submission: pd.DataFrame,
    answers: pd.DataFrame,
    identity_columns: Sequence[str] = IDENTITIES,
    p: float = -5,
) -> float:
    """Return the score of a submission: AUCs of the predictions, and not of their thresholds.

    Parameters
    ----------
    submission : DataFrame
        ``id`` and ``prediction`` for every row of the answers, in any order. A column ``toxicity`` is taken
        for the predictions if there is no other, as MLE-bench's grader does to grade its own answers.
    answers : DataFrame
        ``id``, ``toxicity`` and the identities, all from 0 to 1, where 0.5 and above is yes. A blank identity
        means that it is not mentioned.
    identity_columns : sequence of str, optional
        By default the nine of the competition.
    p : float, optional
        The power of the means over the identities.

    Returns
    -------
    float
        In [0, 1], the same bits as `grader.kaggle.score` gives. The two frames are left as they are.

    Raises
    ------
    ParticipantVisibleError
        If the submission cannot be scored.
    ValueError
        If the answers are at fault, or the score is undefined on them.

    Examples
    --------
    All predictions are below 0.5, but in the right order. MLE-bench's own grader sees only ties, and scores
    0.5:

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
