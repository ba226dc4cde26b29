"""Read a submission (at most so many bytes) and join its predictions by id; write a sample submission."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.containers import CHUNK_BYTES, open_content
from grader.files.reading.problems import FileRejected, Note, Problem
from grader.files.reading.row_ids import RowIds
from grader.files.reading.text import Text, not_utf8, wide_encoding, with_plain_line_ends
from grader.files.reading.unreadable import Unreadable
from grader.files.reading.zeros import problem_of
from grader.files.submission.explaining_path import read_rows
from grader.files.submission.fast_path import read_proven
from grader.files.submission.faults import remarks_on, underflow_notes
from grader.files.submission.header import HEADER, Header, read_header
from grader.text import counted

_SMALLEST_CAP = 50_000_000
_BYTES_PER_ROW = 64


@dataclass(frozen=True, slots=True)
class SubmissionFile:
    """An accepted submission.

    Attributes
    ----------
    predictions : array of float64, shape (n,)
        Finite, in the solution's order.
    notes : tuple of Note
        What is worth a remark.
    other_labels : tuple of str
        The columns that were passed over, called as other labels of the solution.
    """

    predictions: NDArray[np.float64]
    notes: tuple[Note, ...]
    other_labels: tuple[str, ...] = ()


def submission_size_cap(rows: int) -> int:
    """Return the largest size of a submission in bytes, as it arrives and uncompressed."""
    return max(_SMALLEST_CAP, _BYTES_PER_ROW * rows)


def read_submission(
    source: Path | bytes | BinaryIO, row_ids: RowIds, *, other_labels: Sequence[str] = ()
) -> SubmissionFile:
    """Read a submission: CSV, or gzip or zip of one CSV.

    Parameters
    ----------
    source : Path, bytes or seekable binary stream
    row_ids : RowIds
        The ids it must predict. Labels and splits are unknown here, so no message can tell them.
    other_labels : sequence of str
        Columns of these names may stand beside ``id`` and ``prediction``; nothing in them is looked at.

    Returns
    -------
    SubmissionFile

    Raises
    ------
    FileRejected
        With everything that is wrong: one problem a class, the first five lines of each.
    """
    try:
        content = open_content(source, cap=submission_size_cap(len(row_ids)))
        with content.open() as stream:
            data = _read_all(stream)
    except Unreadable as error:
        raise FileRejected("submission", [error.problem]) from error
    text = _text_of(data, row_ids)
    del data
    header = read_header(text, other_labels)
    accepted = _read_rows(text, header, row_ids)
    notes = (*content.notes, *text.notes, *accepted.notes)
    return SubmissionFile(accepted.predictions, notes, header.other_labels)


def _read_all(stream: BinaryIO) -> bytes:
    """Read without ever holding the content twice, as joining pieces would."""
    if isinstance(stream, BytesIO):
        return stream.getvalue()
    content = BytesIO()
    while piece := stream.read(CHUNK_BYTES):
        content.write(piece)
    return content.getvalue()


def _text_of(data: bytes, row_ids: RowIds) -> Text:
    if encoding := wide_encoding(data[:64]):
        raise FileRejected("submission", [not_utf8(encoding)])
    text = with_plain_line_ends(data)
    if text.end <= text.start and text.zero_tail:
        raise FileRejected("submission", [problem_of(text.zero_tail)])
    if text.end <= text.start:
        expected = f"header {HEADER} and {counted(len(row_ids), 'row')}"
        fact = "The file holds only blank space" if data else "The file is empty"
        problem = Problem("empty_file", f"{fact}; expected {expected}.", expected=expected, found=fact)
        raise FileRejected("submission", [problem])
    return text


def _read_rows(text: Text, header: Header, row_ids: RowIds) -> SubmissionFile:
    """Read the rows, the fast way if they are clean, and remark on them."""
    layout = header.layout
    problems = [] if text.zero_tail is None else [problem_of(text.zero_tail)]  # the cause of others: first
    problems += header.problems
    if layout is None:
        raise FileRejected("submission", problems)
    if layout.is_standard and not problems:
        proven = read_proven(text.data[layout.offset :], row_ids)
        if proven is not None:
            predictions = np.empty(len(row_ids))
            predictions[proven.positions] = proven.predictions
            underflow = underflow_notes([layout.first_line + row for row in proven.underflows])
            remarks = remarks_on(proven.predictions, layout.first_line)
            return SubmissionFile(predictions, (*header.notes, *underflow, *remarks))
    rows = read_rows(text, layout, row_ids)
    if problems or rows.problems:
        raise FileRejected("submission", [*problems, *rows.problems])
    remarks = remarks_on(rows.predictions[np.argsort(rows.lines)], layout.first_line)
    return SubmissionFile(rows.predictions, (*header.notes, *rows.notes, *remarks))


def write_sample_submission(row_ids: RowIds) -> bytes:
    """Return a submission that predicts 0.0 for every id, in id order.

    Id order, because the order of the solution is nobody's business.
    """
    ordered = row_ids.smallest(range(len(row_ids)), len(row_ids))
    sample = StringIO(newline="")
    writer = csv.writer(sample, lineterminator="\n")
    writer.writerow(HEADER.split(","))
    writer.writerows((name, "0.0") for name in ordered)
    return sample.getvalue().encode()
