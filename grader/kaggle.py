"""Score function with the interface of Kaggle's metric notebooks.

Kaggle calls ``score(solution, submission, row_id_column_name)`` with two data frames. It shows the message of
a `ParticipantVisibleError` to the participant and hides all other errors.
"""

from __future__ import annotations

import csv
import warnings
from collections import Counter
from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairboard import MetricSettings, bias_report
from grader.errors import ParticipantError
from grader.files import ColumnRole, FileRejected, RowIds, Solution, WrongColumns, read_solution, unused_note
from grader.files.reading.numbers import BLANKS, finite
from grader.files.reading.row_ids import ROUNDED, describe_id, place_of
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
        Names of the identity columns. By default, the roles of the columns are guessed as for files. A column
        that may be an identity, but is continuous or codes its values in another way than from 0 to 1, is an
        error. A warning lists the other columns that are not used.
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
    read = _read(solution, row_id_column_name, label, identities)
    report = bias_report(
        read.labels,
        _joined_predictions(read.row_ids, submission, row_id_column_name, prediction),
        read.identities,
        settings=settings,
    )
    if report.score is None:
        reasons = [str(undefined) for undefined in report.undefined if undefined.affects_score]
        raise ValueError(f"The score is undefined on this solution. {' '.join(reasons)}")
    return report.score


def _read(
    solution: pd.DataFrame, row_id: str, label: str | None, identities: Sequence[str] | None
) -> Solution:
    """Read the solution as a file with the same values, so that columns and ids have the same meaning."""
    table = StringIO(newline="")
    writer = csv.writer(table)
    writer.writerow(solution.columns)
    writer.writerows(zip(*(_texts(column) for _, column in solution.items()), strict=True))
    content = table.getvalue().encode("utf-8", "replace")
    try:
        read = read_solution(content, label=label, identities=identities, named={row_id: ColumnRole.ID})
    except (FileRejected, WrongColumns) as error:
        raise ValueError(f"The solution is invalid; line 2 is the first row. {error}") from error
    if near := [each.sentence for each in read.near_misses]:
        raise ValueError(f"Line 2 is the first row. {' '.join(near)} Fix the column, or pass `identities`.")
    if read.roles.undeclared:
        warnings.warn(unused_note(read.roles.undeclared).message, stacklevel=3)
    return read


def _texts(column: pd.Series) -> list[str]:
    """Return the values as a file contains them: integral floats as integers, Booleans as 0 and 1."""
    return ["" if blank else _text(value) for value, blank in zip(column, column.isna(), strict=True)]


def _text(value: object) -> str:
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return str(value)


def _joined_predictions(
    row_ids: RowIds, submission: pd.DataFrame, row_id: str, prediction: str
) -> NDArray[np.float64]:
    """Return the predictions in the order of the solution, joined on the ids as text."""
    for name in (row_id, prediction):
        if name not in submission.columns:
            raise ParticipantVisibleError(
                f"The submission has no column `{name}`; it has {_listed(submission.columns)}."
            )
        if list(submission.columns).count(name) > 1:
            raise ParticipantVisibleError(f"The submission has several columns named `{name}`; expected one.")
    expected, texts = list(row_ids), [text.strip(BLANKS) for text in _texts(submission[row_id])]
    index = row_ids.index()
    places = [place_of(text.encode("utf-8", "surrogatepass"), index) for text in texts]
    cells = [text if place is None else expected[place] for text, place in zip(texts, places, strict=True)]
    values = _predictions(submission[prediction])
    unknown = [text for text, place in zip(texts, places, strict=True) if place is None]
    hint = describe_id("unknown_id", unknown[0].encode("utf-8", "replace"), index).sentence if unknown else ""
    _refuse_ids(unknown, "In the submission but not expected", ROUNDED if ROUNDED in hint else "")
    _refuse_ids(list((Counter(cells) - Counter(set(cells))).elements()), "Repeated in the submission")
    known = set(cells)
    _refuse_ids([text for text in expected if text not in known], "Missing from the submission")
    is_wrong = ~np.isfinite(values)
    _refuse_ids([cells[n] for n in np.flatnonzero(is_wrong)], "Prediction is not a finite decimal number")
    joined = np.empty(len(expected))
    joined[[place for place in places if place is not None]] = values
    return joined


def _predictions(column: pd.Series) -> NDArray[np.float64]:
    """Return the predictions, with NaN for values that are not numbers.

    Text is parsed like submission files.
    """
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


def _refuse_ids(ids: Sequence[str], what: str, hint: str = "") -> None:
    if ids:
        shown = _listed(list(dict.fromkeys(ids)))
        raise ParticipantVisibleError(f"{what}: {counted(len(ids), 'id')}, {shown}{hint}.")


def _listed(names: Sequence[str] | pd.Index) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:NAMED_AT_MOST])
    more = len(names) - NAMED_AT_MOST
    return f"{shown} and {more} more" if more > 0 else shown
