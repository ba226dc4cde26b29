"""Score function with the interface of Kaggle's metric notebooks.

Kaggle calls ``score(solution, submission, row_id_column_name)`` with two data frames. It shows the message of
a `ParticipantVisibleError` to the participant and hides all other errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from grader.errors import ParticipantError
from grader.files.reading.numbers import finite
from grader.files.solution.column_roles import LABEL_COLUMNS, USAGE_COLUMN, Tally
from grader.metrics import MetricSettings, bias_report
from grader.text import counted

if TYPE_CHECKING:
    import pandas as pd

NAMED_AT_MOST = 5


class ParticipantVisibleError(ParticipantError):
    """An error in the submission; participants may see its message."""

    public_name = "participant_visible"


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
        Name of the label column. By default, the solution must contain exactly one of ``target``, ``label``
        and ``toxicity``.
    identities : sequence of str, optional
        Names of the identity columns. By default, these are all other columns whose values are blank or
        between 0 and 1. A column in which only nearly all values meet this condition is an error, because
        including it and excluding it would result in two different metrics.
    prediction : str, optional
        Name of the prediction column.
    settings : MetricSettings, optional
        Power, weights and thresholds; by default, the settings of the Jigsaw competition.

    Returns
    -------
    float
        The score, in [0, 1], identical to the last bit to that of `grader.metrics.bias_report`. The two data
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
    label = label or _only_label(solution)
    if identities is None:
        identities = _identity_columns(solution, {row_id_column_name, label, USAGE_COLUMN})
    missing = sorted({row_id_column_name, label, *identities} - set(solution.columns))
    if missing:
        raise ValueError(f"The solution has no column {_listed(missing)}.")
    for name in (label, *identities):
        _refuse_misfits(solution, row_id_column_name, name, may_be_blank=name != label)
    report = bias_report(
        _numbers(solution[label]),
        _joined_predictions(solution, submission, row_id_column_name, prediction),
        {name: _numbers(solution[name]) for name in identities},
        settings=settings,
    )
    if report.score is None:
        reasons = [str(undefined) for undefined in report.undefined if undefined.affects_score]
        raise ValueError(f"The score is undefined on this solution. {' '.join(reasons)}")
    return report.score


def _only_label(solution: pd.DataFrame) -> str:
    found = [name for name in LABEL_COLUMNS if name in solution.columns]
    if len(found) != 1:
        raise ValueError(
            f"The solution must have exactly one of the columns {_listed(LABEL_COLUMNS)}, but it has "
            f"{_listed(found) if found else 'none of them'}. Pass the name of the label column as `label`."
        )
    return found[0]


def _identity_columns(solution: pd.DataFrame, others: set[str]) -> list[str]:
    tallies = {name: _tally(solution[name]) for name in solution.columns if name not in others}
    near = [name for name, tally in tallies.items() if tally.is_near]
    if near:
        value = solution[near[0]][_is_misfit(solution[near[0]])].iloc[0]
        raise ValueError(
            f"The solution's column {_listed(near)} would be an identity except for a few values, such as "
            f"{str(value)!r}. Fix these values or pass `identities`."
        )
    return [name for name, tally in tallies.items() if tally.is_whole]


def _tally(column: pd.Series) -> Tally:
    tally = Tally()
    if _is_numeric(column):
        tally.add_numbers(_numbers(column))
    else:
        for value in column[~column.isna()]:
            tally.add(str(value), _float(value))
    return tally


def _is_misfit(column: pd.Series) -> NDArray[np.bool_]:
    """Return a mask of the values that are neither blank nor in [0, 1]."""
    if _is_numeric(column):
        values = _numbers(column)
        return ~(np.isnan(values) | ((values >= 0) & (values <= 1)))
    numbers = (np.nan if blank else _float(value) for value, blank in zip(column, column.isna(), strict=True))
    return np.array([number is None or number < 0 or number > 1 for number in numbers], np.bool_)


def _is_numeric(column: pd.Series) -> bool:
    return column.dtype.kind in "iufb"


def _float(value: object) -> float | None:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def _refuse_misfits(solution: pd.DataFrame, row_id: str, name: str, *, may_be_blank: bool) -> None:
    column = solution[name]
    is_wrong = _is_misfit(column)
    if not may_be_blank:
        is_wrong |= column.isna().to_numpy()
    if is_wrong.any():
        expected = "a number from 0 to 1" + (" or a blank" if may_be_blank else "")
        ids = solution[row_id][is_wrong].unique()
        raise ValueError(
            f"The solution's column `{name}` has {str(column[is_wrong].iloc[0])!r}; expected {expected}. "
            f"{counted(int(is_wrong.sum()), 'such row')}: {_listed(ids)}."
        )


def _joined_predictions(
    solution: pd.DataFrame, submission: pd.DataFrame, row_id: str, prediction: str
) -> NDArray[np.float64]:
    """Return the predictions in the order of the solution, joined on the ids as text."""
    for name in (row_id, prediction):
        if name not in submission.columns:
            raise ParticipantVisibleError(
                f"The submission has no column `{name}`; it has {_listed(submission.columns)}."
            )
        if list(submission.columns).count(name) > 1:
            raise ParticipantVisibleError(f"The submission has several columns named `{name}`; expected one.")
    expected, found = solution[row_id].astype(str), submission[row_id].astype(str)
    if expected.duplicated().any():
        raise ValueError("The solution contains repeated ids.")
    _refuse_ids(found[found.duplicated()], "Repeated in the submission")
    _refuse_ids(found[~found.isin(expected)], "In the submission but not expected")
    _refuse_ids(expected[~expected.isin(found)], "Missing from the submission")
    values = _predictions(submission[prediction])
    _refuse_ids(found[~np.isfinite(values)], "Prediction is not a finite decimal number")
    place_of = {text: place for place, text in enumerate(found)}
    return values[[place_of[text] for text in expected]]


def _predictions(column: pd.Series) -> NDArray[np.float64]:
    """Return the predictions, with NaN for values that are not numbers.

    Text is parsed like submission files.
    """
    if column.dtype.kind in "iuf":
        return _numbers(column)
    return np.array([_number(value) for value in column], np.float64)


def _number(value: object) -> float:
    if isinstance(value, bool | np.bool_):
        return np.nan
    if isinstance(value, str):
        number = finite(value.strip(" \t").encode("utf-8", "replace"))
        return np.nan if number is None else number
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return np.nan


def _refuse_ids(ids: pd.Series, what: str) -> None:
    if len(ids):
        raise ParticipantVisibleError(f"{what}: {counted(len(ids), 'id')}, {_listed(ids.unique())}.")


def _numbers(column: pd.Series) -> NDArray[np.float64]:
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _listed(names: Sequence[str] | pd.Index | NDArray[np.object_]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:NAMED_AT_MOST])
    more = len(names) - NAMED_AT_MOST
    return f"{shown} and {more} more" if more > 0 else shown
