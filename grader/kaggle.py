"""Score function with the interface of Kaggle's metric notebooks.

Kaggle calls ``score(solution, submission, row_id_column_name)`` with two data frames. It shows the message of
a `ParticipantVisibleError` to the participant and hides all other errors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairboard import MetricSettings, bias_report
from grader.errors import ParticipantError
from grader.files.reading.numbers import BLANKS, finite
from grader.files.reading.row_ids import place_of
from grader.files.solution.roles import LABEL_COLUMNS
from grader.text import counted

if TYPE_CHECKING:
    import pandas as pd

NAMED_AT_MOST = 5
USAGE = "Usage"


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
    for frame, names in ((solution, [row_id_column_name]), (submission, [row_id_column_name, prediction])):
        _require_columns(frame, names, ParticipantVisibleError if frame is submission else ValueError)
    label = _label_of(solution) if label is None else label
    if identities is None:
        explained = (row_id_column_name, label, USAGE)
        identities = [name for name in solution.columns if name not in explained]
    _require_columns(solution, [label, *identities], ValueError)
    truth = {name: _fractions(solution[name]) for name in (label, *identities)}
    if wrong := [name for name, values in truth.items() if np.isinf(values).any()]:
        hint = "" if wrong == [label] else " Pass the names of the `identities`."
        raise ValueError(f"These columns do not only contain numbers from 0 to 1: {_listed(wrong)}.{hint}")
    labels, expected = truth.pop(label), _texts(solution[row_id_column_name])
    if repeated := _repeated(expected):
        raise ValueError(f"Ids of the solution are repeated: {_listed(repeated)}.")
    predictions = _joined_predictions(expected, submission, row_id_column_name, prediction)
    report = bias_report(labels, predictions, truth, settings=settings)
    if report.score is None:
        reasons = [str(undefined) for undefined in report.undefined if undefined.affects_score]
        raise ValueError(f"The score is undefined on this solution. {' '.join(reasons)}")
    return report.score


def _require_columns(frame: pd.DataFrame, names: Sequence[str], error: type[Exception]) -> None:
    """Raise an error unless each column exists once."""
    counts, what = Counter(frame.columns), "submission" if error is ParticipantVisibleError else "solution"
    if missing := [name for name in names if not counts[name]]:
        raise error(f"The {what} has no column {_listed(missing)}; it has {_listed(frame.columns)}.")
    if repeated := [name for name in names if counts[name] > 1]:
        raise error(f"The {what} has several columns named {_listed(repeated)}; expected one.")


def _label_of(solution: pd.DataFrame) -> str:
    found = [name for name in LABEL_COLUMNS if name in solution.columns]
    if len(found) != 1:
        raise ValueError(
            f"The solution must have one of the columns {_listed(LABEL_COLUMNS)}, or pass `label`."
        )
    return found[0]


def _fractions(column: pd.Series) -> NDArray[np.float64]:
    """Return numbers from 0 to 1, with NaN for blanks and infinity for all other values."""
    cells = column.astype(object).where(column.notna(), None)
    values = np.array([_number(int(each) if each in (True, False) else each) for each in cells], np.float64)
    is_blank = column.isna().to_numpy() | (column.astype(str).str.strip() == "").to_numpy()
    return np.where(is_blank, np.nan, np.where((values >= 0) & (values <= 1), values, np.inf))


def _texts(column: pd.Series) -> list[str]:
    """Return ids as a file contains them: integral floats as integers."""
    return ["" if blank else _text(value) for value, blank in zip(column, column.isna(), strict=True)]


def _text(value: object) -> str:
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return str(value).strip(BLANKS)


def _repeated(ids: Sequence[str]) -> list[str]:
    return list((Counter(ids) - Counter(set(ids))).elements())


def _joined_predictions(
    expected: Sequence[str], submission: pd.DataFrame, row_id: str, prediction: str
) -> NDArray[np.float64]:
    """Return the predictions in the order of the solution, joined on the ids as text."""
    texts = _texts(submission[row_id])
    index = {text.encode("utf-8", "surrogatepass"): place for place, text in enumerate(expected)}
    places = [place_of(text.encode("utf-8", "surrogatepass"), index) for text in texts]
    cells = [text if place is None else expected[place] for text, place in zip(texts, places, strict=True)]
    known, values = set(cells), _numbers(submission[prediction])
    unknown = [text for text, place in zip(texts, places, strict=True) if place is None]
    _refuse_ids(unknown, "In the submission but not expected")
    _refuse_ids(_repeated(cells), "Repeated in the submission")
    _refuse_ids([text for text in expected if text not in known], "Missing from the submission")
    wrong = [cells[n] for n in np.flatnonzero(~np.isfinite(values))]
    _refuse_ids(wrong, "Prediction is not a finite decimal number")
    joined = np.empty(len(expected))
    joined[[place for place in places if place is not None]] = values
    return joined


def _numbers(column: pd.Series) -> NDArray[np.float64]:
    """Return numbers, parsed like those of files, with NaN for other values."""
    if column.dtype.kind in "iuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.array([_number(value) for value in column], np.float64)


def _number(value: object) -> float:
    if isinstance(value, bool | np.bool_):
        return np.nan
    if isinstance(value, str):
        number = finite(value.strip(BLANKS).encode("utf-8", "replace"))
        return np.nan if number is None else number
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return np.nan


def _refuse_ids(ids: Sequence[str], what: str) -> None:
    if ids:
        shown = _listed(list(dict.fromkeys(ids)))
        raise ParticipantVisibleError(f"{what}: {counted(len(ids), 'id')}, {shown}.")


def _listed(names: Sequence[str] | pd.Index) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:NAMED_AT_MOST])
    more = len(names) - NAMED_AT_MOST
    return f"{shown} and {more} more" if more > 0 else shown
