"""Submission reader: size limit, fast path (pandas, if installed), and joining predictions by id."""

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.containers import CHUNK_BYTES, SMALL_BYTES, open_content
from grader.files.reading.numbers import LONGEST_NUMBER, NUMBER_BYTES, may_underflow, underflows
from grader.files.reading.problems import FileProblem, FileRejected, Note
from grader.files.reading.row_ids import PADDING_BYTES, RowIds
from grader.files.reading.text import Text, not_utf8, wide_encoding, with_plain_line_ends
from grader.files.reading.unreadable import NotReadable
from grader.files.reading.zeros import problem_of
from grader.files.submission.explaining_path import read_rows
from grader.files.submission.faults import remarks_on, underflow_notes
from grader.files.submission.header import HEADER, Header, read_header
from grader.text import counted

_LONGEST_MEAN_NUMBER = 64
_WHOLE_FIELDS_QUOTED = re.compile(rb'(?:("?)[^",\n]*+\1,("?)[^",\n]*+\2\n)*+')
_WORD_BYTES = 8
_LF, _COMMA = ord("\n"), ord(",")
_SMALLEST_CAP = 50_000_000
_FREE_UPLOAD_BYTES = 1_000_000
_BYTES_PER_ROW, _ID_BYTES, _LABEL_BYTES = 64, 24, 24  # of each row, of its id, and of each other label


@dataclass(frozen=True, slots=True)
class Proven:
    """The predictions of a clean submission, in the order of the file.

    Attributes
    ----------
    predictions : array of float64, shape (n,)
    positions : array of int64, shape (n,), or slice
        The position of each row in the solution's order.
    underflows : list of int
        The rows in which a nonzero prediction is read as 0.
    """

    predictions: NDArray[np.float64]
    positions: NDArray[np.int64] | slice
    underflows: list[int]


def read_proven(body: bytes, row_ids: RowIds) -> Proven | None:
    """Read the rows ``id,prediction`` of a clean file, one row per line.

    Parameters
    ----------
    body : bytes
        Everything below the header.
    row_ids : RowIds

    Returns
    -------
    Proven or None

    Notes
    -----
    None is returned unless all of these conditions are proven:

    - quotes, if any, enclose whole fields; they are removed;
    - every line is an id, one comma and a field of at most 512 bytes;
    - the ids are the expected ones, each once, byte for byte;
    - outside the ids, there are only bytes that can occur in numbers, because the body has no more other
      bytes than the ids have. Given only such bytes, pandas accepts exactly our grammar and rounds correctly
      (a test tries all short texts);
    - all numbers are finite.
    """
    rows = len(row_ids)
    if not rows or not row_ids.are_plain:
        return None
    if len(body) > len(row_ids.text) + rows * _LONGEST_MEAN_NUMBER:
        return None
    body = body.replace(b"\r\n", b"\n") if b"\r" in body else body
    body = body if body.endswith(b"\n") else body + b"\n"
    if b'"' in body:
        if not _WHOLE_FIELDS_QUOTED.fullmatch(body):
            return None
        body = body.translate(None, b'"')
    positions = _positions(body, row_ids)
    if positions is None:
        return None
    foreign = body.translate(None, NUMBER_BYTES + b",\n")
    predictions = _predictions(body) if len(foreign) == row_ids.foreign_bytes else None
    if predictions is None or len(predictions) != rows or not np.isfinite(predictions).all():
        return None
    return Proven(predictions, positions, _underflows(body, predictions))


def _positions(body: bytes, row_ids: RowIds) -> NDArray[np.int64] | slice | None:
    data = np.frombuffer(body, np.uint8)
    # The plus sign is the only byte in numbers that is not above the comma. It is rare, so files that contain
    # it use the slower search below.
    marks = np.flatnonzero(data <= _COMMA)
    if len(marks) != 2 * len(row_ids):
        marks = np.flatnonzero((data == _LF) | (data == _COMMA))
    commas, ends = marks[0::2], marks[1::2]
    if len(marks) != 2 * len(row_ids) or (data[commas] != _COMMA).any() or (data[ends] != _LF).any():
        return None
    starts = np.concatenate(([0], ends[:-1] + 1))
    widths = ends - commas
    if widths.min() <= 1 or widths.max() > LONGEST_NUMBER + 1:
        return None
    if starts[-1] + row_ids.longest + _WORD_BYTES > len(data):
        data = np.concatenate((data, np.zeros(PADDING_BYTES, np.uint8)))
    return row_ids.positions(data, starts, commas - starts)


def _underflows(body: bytes, predictions: NDArray[np.float64]) -> list[int]:
    if predictions.all() or not may_underflow(body):
        return []
    ends = np.flatnonzero(np.frombuffer(body, np.uint8) == _LF)
    zeros = np.flatnonzero(predictions == 0)
    starts = np.where(zeros > 0, ends[zeros - 1] + 1, 0)
    lines = zip(zeros.tolist(), starts.tolist(), ends[zeros].tolist(), strict=True)
    return [row for row, start, end in lines if underflows(body[start:end].partition(b",")[2])]


def _predictions(body: bytes) -> NDArray[np.float64] | None:
    if len(body) <= SMALL_BYTES:
        try:
            return np.array([float(line.partition(b",")[2]) for line in body.split(b"\n")[:-1]])
        except ValueError:
            return None
    read_csv = _pandas_reader()
    if read_csv is None:
        return None
    try:
        frame = read_csv(
            BytesIO(body),
            header=None,
            usecols=[1],
            dtype={1: np.float64},
            index_col=False,
            na_filter=False,
            low_memory=False,
        )
    except (ValueError, OverflowError):
        return None
    predictions: NDArray[np.float64] = frame[1].to_numpy()
    return predictions


def _pandas_reader() -> Callable[..., Any] | None:
    """Return `pandas.read_csv`, which rounds correctly; None if pandas is not installed."""
    # Web processes import this package but never call this function.
    try:
        import pandas as pd
    except ModuleNotFoundError:
        return None
    # The default is exact since pandas 3.1, which deprecates the argument. Before, last bits may be wrong.
    is_exact = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
    return pd.read_csv if is_exact else partial(pd.read_csv, float_precision="round_trip")


@dataclass(frozen=True, slots=True)
class SubmissionFile:
    """An accepted submission.

    Attributes
    ----------
    predictions : array of float64, shape (n,)
        Finite, in the solution's order.
    notes : tuple of Note
        Remarks on the file.
    other_labels : tuple of str
        Columns named after other labels of the solution; they were not read.
    """

    predictions: NDArray[np.float64]
    notes: tuple[Note, ...]
    other_labels: tuple[str, ...] = ()


def submission_size_cap(rows: int) -> int:
    """Return the maximum size of a submission in bytes, as read and decompressed."""
    return max(_SMALLEST_CAP, _BYTES_PER_ROW * rows)


def submission_upload_cap(row_ids: RowIds, other_labels: Sequence[str] = ()) -> int:
    """Return the maximum size in bytes of a submission that a site receives and stores."""
    rows = len(row_ids)
    long_ids = max(0, len(row_ids.text) - _ID_BYTES * rows)
    return _FREE_UPLOAD_BYTES + (_BYTES_PER_ROW + _LABEL_BYTES * len(other_labels)) * rows + long_ids


def read_submission(
    source: Path | bytes | BinaryIO, row_ids: RowIds, *, other_labels: Sequence[str] = ()
) -> SubmissionFile:
    """Read a submission from a plain, gzip or ZIP CSV.

    Parameters
    ----------
    source : Path, bytes or seekable binary stream
    row_ids : RowIds
        The ids for which it must contain predictions. Labels and splits are unknown here, so no message can
        disclose them.
    other_labels : sequence of str
        Columns with these names are allowed besides ``id`` and ``prediction``; they are not read.

    Returns
    -------
    SubmissionFile

    Raises
    ------
    FileRejected
        With all problems: one per class, with the first five lines of each.
    """
    try:
        content = open_content(source, cap=submission_size_cap(len(row_ids)))
        with content.open() as stream:
            data = _read_all(stream)
    except NotReadable as error:
        raise FileRejected("submission", [error.problem]) from error
    text = _text_of(data, row_ids)
    del data
    header = read_header(text, other_labels)
    accepted = _read_rows(text, header, row_ids)
    notes = (*content.notes, *text.notes, *accepted.notes)
    return SubmissionFile(accepted.predictions, notes, header.other_labels)


def _read_all(stream: BinaryIO) -> bytes:
    """Read a stream into memory; joining pieces would hold its content in memory twice."""
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
        fact = "The file contains only whitespace" if data else "The file is empty"
        problem = FileProblem("empty_file", f"{fact}; expected {expected}.", expected=expected, found=fact)
        raise FileRejected("submission", [problem])
    return text


def _read_rows(text: Text, header: Header, row_ids: RowIds) -> SubmissionFile:
    """Read the rows, with the fast reader if they are clean, and add notes."""
    layout = header.layout
    # Zero bytes are reported first, because they cause other problems.
    problems = [] if text.zero_tail is None else [problem_of(text.zero_tail)]
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

    The ids are sorted, because the order of the solution is secret.
    """
    ordered = row_ids.smallest(range(len(row_ids)), len(row_ids))
    sample = StringIO(newline="")
    writer = csv.writer(sample, lineterminator="\n")
    writer.writerow(HEADER.split(","))
    writer.writerows((name, "0.0") for name in ordered)
    return sample.getvalue().encode()
