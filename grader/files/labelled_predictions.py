"""Prediction files with one column per label, for `fairboard analyze`."""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.containers import Content, open_content
from grader.files.reading.problems import FileProblem, FileRejected, Findings, Note
from grader.files.reading.row_ids import RowIds, describe_id, fault_of_id, place_of
from grader.files.reading.unreadable import NotReadable
from grader.files.solution.column_roles import ID_COLUMN, LABEL_COLUMNS
from grader.files.solution.columns import Columns, Wanted
from grader.files.solution.header import read_beginning
from grader.files.solution.rows import read_rows
from grader.files.solution.solution import PREDICTION, SIZE_CAP
from grader.files.submission.faults import Coverage, remarks_on
from grader.files.submission.submission import read_submission
from grader.text import listed, plural, quoted

PREDICTION_COLUMN = "prediction"
_HEADER = "a header with id and columns of predictions"


@dataclass(frozen=True, slots=True)
class LabelPredictions:
    """A model's predictions for each label.

    Attributes
    ----------
    by_label : dict of str to array of float64, shape (n,)
        Finite, in the solution's order. Contains only labels that have a column, in the order of the labels.
    unpredicted : tuple of str
        The labels without a column.
    notes : tuple of Note
        Remarks on the file.
    """

    by_label: dict[str, NDArray[np.float64]]
    unpredicted: tuple[str, ...]
    notes: tuple[Note, ...]


def read_label_predictions(
    source: Path | bytes | BinaryIO, row_ids: RowIds, *, label: str, other_labels: Sequence[str] = ()
) -> LabelPredictions:
    """Read predictions for several labels from a plain, gzip or ZIP CSV of at most 2 GB.

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
    LabelPredictions
        Joined by id, never by position.

    Raises
    ------
    FileRejected
        With all problems: one per class and column, with the first five lines of each.
    """
    try:
        content = open_content(source, cap=SIZE_CAP)
        names, _, problems = read_beginning(content, _HEADER)
        if sorted(names) == sorted([ID_COLUMN, PREDICTION_COLUMN]):
            # This reader accepts more formats and explains more problems.
            alone = read_submission(source, row_ids)
            return LabelPredictions({label: alone.predictions}, tuple(other_labels), alone.notes)
        places = _Places.among(names, label, other_labels)
        columns = _columns(content, names, places, problems)
    except NotReadable as error:
        raise FileRejected("submission", [error.problem]) from error
    except FileRejected as error:
        raise FileRejected("submission", error.problems) from None
    assert columns.row_ids is not None  # noqa: S101 (an id was requested)
    positions = _positions(columns.row_ids, row_ids)
    by_label = {}
    notes = list(content.notes)
    for name, column in places.of_labels.items():
        in_file_order = columns.numbers[column]
        by_label[name] = np.empty(len(row_ids))
        by_label[name][positions] = in_file_order
        notes += [
            replace(note, message=f"Column {quoted(column)}: {note.message}")
            for note in remarks_on(in_file_order, 2)
        ]
    unpredicted = tuple(name for name in (label, *other_labels) if name not in by_label)
    return LabelPredictions(by_label, unpredicted, tuple(notes))


@dataclass(frozen=True, slots=True)
class _Places:
    """The column for each label, in the order of the labels, and the problems of the names."""

    of_labels: dict[str, str]
    problems: tuple[FileProblem, ...]

    @classmethod
    def among(cls, names: Sequence[str], label: str, other_labels: Sequence[str]) -> "_Places":
        called = {label: _names_of(label, other_labels)} | {name: (name,) for name in other_labels}
        found = {name: [each for each in names if each in texts] for name, texts in called.items()}
        known = {ID_COLUMN, *(text for texts in called.values() for text in texts)}
        expected = (
            f"id and columns called {listed([quoted(PREDICTION_COLUMN), *map(quoted, called)], most=20)}"
        )
        problems = list(_duplicates(names))
        if ID_COLUMN not in names:
            problems.append(_problem("missing_column", f"no column {quoted(ID_COLUMN)}", names, expected))
        if not any(found.values()):
            problems.append(_problem("missing_column", "no column of predictions", names, expected))
        strange = [name for name in names if name not in known]
        if strange:
            sentence = f"unexpected {plural('column', len(strange))}"
            problems.append(_problem("unexpected_column", sentence, strange, expected))
        for name, columns in found.items():
            if len(set(columns)) > 1:
                sentence = f"several columns predict {quoted(name)}"
                problems.append(_problem("several_predictions", sentence, columns, "one for each label"))
        return cls(
            {name: columns[0] for name, columns in found.items() if columns},
            tuple(problems),
        )


def _names_of(label: str, other_labels: Sequence[str]) -> tuple[str, ...]:
    """Return the allowed names of the column with predictions for the scored label."""
    aliases = (PREDICTION_COLUMN, label, *LABEL_COLUMNS)
    return tuple(name for name in dict.fromkeys(aliases) if name not in other_labels)


def _duplicates(names: Sequence[str]) -> Iterator[FileProblem]:
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            sentence = f"column {quoted(name)} appears {names.count(name)} times"
            yield _problem("duplicate_column", sentence, [], "each name once")


def _problem(code: str, sentence: str, names: Sequence[str], expected: str) -> FileProblem:
    shown = listed([quoted(name) if name else "(unnamed)" for name in names], most=20)
    found = f": {shown}" if names else ""
    message = f"Line 1: {sentence}{found}; expected {expected}."
    return FileProblem(code, message, 1, (1,), max(len(names), 1), expected, shown or None)


def _columns(content: Content, names: list[str], places: _Places, problems: Sequence[FileProblem]) -> Columns:
    problems = [*problems, *places.problems]
    if ID_COLUMN not in names or not places.of_labels:
        raise FileRejected("submission", problems)
    numbers = dict.fromkeys(places.of_labels.values(), PREDICTION)
    wanted = Wanted(ID_COLUMN, None, numbers)
    columns, problems_of_rows = read_rows(content.open, wanted, names)
    if problems or problems_of_rows:
        raise FileRejected("submission", [*problems, *problems_of_rows])
    return columns


def _positions(found: RowIds, expected: RowIds) -> NDArray[np.int64] | slice:
    """Return the position of each id of the file in the solution's order.

    Raises
    ------
    FileRejected
        An id is unknown or missing.
    """
    if found.text == expected.text:
        return slice(None)
    index = expected.index()
    coverage = Coverage(expected, array("l", bytes(array("l").itemsize * len(expected))))
    unknown = Findings()
    positions = np.full(len(found), -1, np.int64)
    for line, text in enumerate(found, start=2):
        place = place_of(text.encode(), index)
        if place is None:
            code = fault_of_id(text.encode(), are_integers=expected.are_integers)
            unknown.add(code, line, describe_id, code, text.encode(), index)
        else:
            positions[line - 2] = place
            coverage.mark(place, line)
    problems = [*unknown.problems(), *coverage.problems(len(found), is_complete=True)]
    if problems:
        raise FileRejected("submission", problems)
    return positions
