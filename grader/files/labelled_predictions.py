"""Prediction files with one column per label, for `fairboard analyze`."""

import codecs
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.containers import open_content
from grader.files.reading.problems import FileProblem, FileRejected, Note, reading
from grader.files.reading.row_ids import RowIds
from grader.files.reading.text import split_fields
from grader.files.solution.roles import LABEL_COLUMNS
from grader.files.submission.columns import ONE_NUMBER, PREDICTION, PredictedColumn, SubmissionColumns
from grader.files.submission.submission import read_submission, submission_size_cap
from grader.text import listed, quoted

_HEADER_BYTES = 1 << 14


@reading("submission")
def read_label_predictions(
    source: Path | bytes | BinaryIO, row_ids: RowIds, *, label: str, other_labels: Sequence[str] = ()
) -> tuple[dict[str, NDArray[np.float64]], tuple[Note, ...]]:
    """Read a submission that contains predictions for several labels.

    Parameters
    ----------
    source : Path, bytes or seekable binary stream
        Columns in any order: ``id``, and one or more columns named after the labels that they predict. The
        column for the scored label may be called ``prediction``, target, label or toxicity, or have the name
        of the label.
    row_ids : RowIds
        The ids for which the file must contain predictions.
    label : str
        The solution's label.
    other_labels : sequence of str
        The solution's other labels.

    Returns
    -------
    dict of str to array of float64, shape (n,), and tuple of Note
        The finite predictions of each label that has a column, in the solution's order, and remarks.

    Raises
    ------
    FileRejected
        With all problems, as for submissions.
    """
    names = _column_names(source, submission_size_cap(len(row_ids)))
    aliases = {label: [PREDICTION, label, *LABEL_COLUMNS]} | {name: [name] for name in other_labels}
    columns = dict[str, str]()
    for name, spellings in aliases.items():
        named = [each for each in names if each in spellings and (name != label or each not in other_labels)]
        if len(set(named)) > 1:
            shown = listed([quoted(each) for each in named])
            raise FileRejected(FileProblem.of("several_predictions", name, lines=[1], names=shown))
        if named:
            columns[name] = named[0]
    wanted = SubmissionColumns(tuple(PredictedColumn(name) for name in columns.values()))
    file = read_submission(source, row_ids, wanted=wanted if columns else ONE_NUMBER)
    return {name: file.columns[column] for name, column in columns.items()}, file.notes


def _column_names(source: Path | bytes | BinaryIO, cap: int) -> list[str]:
    with open_content(source, cap=cap) as stream:
        head = stream.read(_HEADER_BYTES)
    lines = head.removeprefix(codecs.BOM_UTF8).splitlines() or [b""]
    return [field.decode("utf-8", "replace") for field in split_fields(lines[0]) or []]
