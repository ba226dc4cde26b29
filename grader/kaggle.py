"""Score function with the interface of Kaggle's metric notebooks.

Kaggle calls ``score(solution, submission, row_id_column_name)`` with two data frames. It shows the message of
a `ParticipantVisibleError` to the participant and hides all other errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairboard import MetricSettings, bias_report
from grader.errors import ParticipantError
from grader.files import ColumnRole, FileRejected, WrongColumns, read_solution, read_submission
from grader.files.solution.roles import LABEL_COLUMNS
from grader.files.submission.columns import PredictedColumn, SubmissionColumns

if TYPE_CHECKING:
    import pandas as pd

USAGE = "Usage"


class ParticipantVisibleError(ParticipantError):
    """An error in the submission; participants may see its message."""


def score(
    solution: pd.DataFrame,
    submission: pd.DataFrame,
    row_id_column_name: str,
    *,
    label: str | None = None,
    identities: Sequence[str] | None = None,
    prediction: str = "prediction",
    settings: MetricSettings | None = None,
) -> float:
    """Return the score: weighted mean of the overall AUC and the power means of the bias AUCs.

    The data frames are read like files on a site, with the same rules and messages.

    Parameters
    ----------
    solution : DataFrame
        One row per id, with the label and one column per identity. Blank identities count as not mentioned.
        A ``Usage`` column is ignored, because Kaggle passes each split separately.
    submission : DataFrame
        The same ids, in any order, with one finite prediction for each.
    row_id_column_name : str
        Name of the id column in both data frames. It is never scored.
    label : str, optional
        Name of the label column; by default, the only column called ``target``, ``label`` or ``toxicity``.
    identities : sequence of str, optional
        Names of the identity columns. By default, all other columns of the solution, which must then contain
        only numbers from 0 to 1 and blanks.
    prediction : str, optional
        Name of the prediction column.
    settings : MetricSettings, optional
        Power, weights and thresholds; by default, the settings of the Jigsaw competition.

    Returns
    -------
    float
        The score, in [0, 1], identical to the last bit to that of `fairboard.bias_report`. The two data
        frames are not modified.

    Raises
    ------
    ParticipantVisibleError
        If the submission has missing or repeated columns or ids, unexpected ids, or predictions that are
        not finite numbers. Booleans are not accepted as predictions.
    ValueError
        If the solution is invalid, or the score is undefined for it.

    Examples
    --------
    >>> import pandas as pd
    >>> solution = pd.DataFrame(
    ...     {"id": [7, 8, 9, 10], "target": [1, 0, 1, 0], "cat": [1, 1, None, 0]}
    ... )
    >>> submission = pd.DataFrame({"id": [10, 9, 8, 7], "prediction": [0.1, 0.8, 0.3, 0.9]})
    >>> score(solution, submission, "id")
    1.0
    """
    if prediction == row_id_column_name:
        raise ValueError("The column of the ids cannot be the column of the predictions.")
    booleans = dict.fromkeys(solution.select_dtypes(["bool", "boolean"]), "Int8")
    data = _csv(solution.drop(columns=USAGE, errors="ignore").astype(booleans))
    if identities is None:
        others = {row_id_column_name, USAGE, *([label] if label else LABEL_COLUMNS)}
        identities = [str(name) for name in solution.columns if name not in others]
    try:
        truth = read_solution(
            data, label=label, identities=identities, named={row_id_column_name: ColumnRole.ID}
        )
    except (FileRejected, WrongColumns) as error:
        raise ValueError(error.message) from error
    wanted = SubmissionColumns((PredictedColumn(prediction),), row_id_column_name)
    used = submission.loc[:, submission.columns.isin(wanted.names)]
    try:
        predictions = read_submission(_csv(used), truth.row_ids, wanted=wanted).columns[prediction]
    except FileRejected as error:
        raise ParticipantVisibleError(error.message) from error
    report = bias_report(truth.labels, predictions, truth.identities, settings=settings)
    if report.score is None:
        reasons = [str(undefined) for undefined in report.undefined if undefined.affects_score]
        raise ValueError(f"The score is undefined on this solution. {' '.join(reasons)}")
    return report.score


def _csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode("utf-8", "surrogatepass")
