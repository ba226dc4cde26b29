"""Submission reader: size limit, fast path (pandas, if installed), and joining predictions by id."""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.containers import CHUNK_BYTES, SMALL_BYTES, open_content
from grader.files.reading.numbers import LONGEST_NUMBER, NUMBER_BYTES
from grader.files.reading.problems import Note, reading
from grader.files.reading.row_ids import PADDING_BYTES, RowIds
from grader.files.reading.text import BLANKS, Text, text_of
from grader.files.submission.columns import (
    NO_CLASS,
    ONE_NUMBER,
    PREDICTION,
    PredictedColumn,
    SubmissionColumns,
    codes_of,
)
from grader.files.submission.explaining_path import FIRST_LINE, RowReader
from grader.files.submission.header import Layout, read_header
from grader.text import counted

if TYPE_CHECKING:
    import pandas as pd

_LONGEST_MEAN_NUMBER = 64
_WHOLE_FIELDS_QUOTED = re.compile(rb'(?:(?:"[^",\n]*+"|[^",\n]*+)[,\n])*+')
_WORD_BYTES = 8
_LF, _COMMA, _SPACE = ord("\n"), ord(","), ord(" ")
_MOST_CLASSES_OF_A_LIST = 100
_SMALLEST_CAP = 50_000_000
_FREE_UPLOAD_BYTES = 1_000_000
_FEW_DISTINCT = 1000
_ROWS_PER_VALUE = 10
_LARGE_SHARE = 0.02
# Below this number of rows, sorting takes less time than a proof that there are not many ties.
_MANY_ROWS = 10_000
_MULTIPLIER, _BUCKET_SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(48)
_BYTES_PER_ROW, _ID_BYTES, _LABEL_BYTES = 64, 24, 24  # of each row, of its id, and of each other label
Proven = tuple[Sequence[NDArray[Any]], NDArray[np.int64] | slice]
"""The values of each column in the order of the file, and the positions of the rows in the solution."""


def read_proven(body: bytes, row_ids: RowIds, wanted: SubmissionColumns = ONE_NUMBER) -> Proven | None:
    """Read the rows of a clean file, such as ``id,prediction``, one row per line.

    Parameters
    ----------
    body : bytes
        Everything below the header.
    row_ids : RowIds
    wanted : SubmissionColumns
        Either columns of numbers or one column of classes.

    Returns
    -------
    Proven or None

    Notes
    -----
    None is returned unless all of these conditions are proven:

    - quotes, if any, enclose whole fields; they are removed;
    - every line is an id and for each column a comma and a field of at most 512 bytes;
    - the ids are the expected ones, each once, byte for byte;
    - outside the ids, there are only bytes that can occur in numbers, because the body has no more other
      bytes than the ids have. Given only such bytes, pandas accepts exactly our grammar and rounds correctly
      (a test tries all short texts);
    - all numbers are finite and in the range of their column;
    - instead of numbers, there are only texts that pandas returns unchanged, and all of them are classes.
    """
    rows, width = len(row_ids), len(wanted.columns)
    has_classes = any(column.classes for column in wanted.columns)
    if not rows or not row_ids.are_plain or (has_classes and width > 1) or wanted.longest_texts:
        return None
    if len(body) > len(row_ids.text) + rows * width * _LONGEST_MEAN_NUMBER:
        return None
    body = body.replace(b"\r\n", b"\n") if b"\r" in body else body
    body = body if body.endswith(b"\n") else body + b"\n"
    if b'"' in body:
        if not _WHOLE_FIELDS_QUOTED.fullmatch(body):
            return None
        body = body.translate(None, b'"')
    positions = _positions(body, row_ids, width)
    if positions is None:
        return None
    if has_classes:
        classes = _classes(body, wanted.columns[0], rows)
        return None if classes is None else ([classes], positions)
    foreign = body.translate(None, NUMBER_BYTES + b",\n")
    predictions = _predictions(body, width) if len(foreign) == row_ids.foreign_bytes else None
    if predictions is None:
        return None
    for column, values in zip(wanted.columns, predictions, strict=True):
        if len(values) != rows or not (column.lowest <= values.min() <= values.max() <= column.highest):
            return None
    return predictions, positions


def _positions(body: bytes, row_ids: RowIds, width: int) -> NDArray[np.int64] | slice | None:
    """Return the position of each line's id, or None unless each line has the expected number of fields."""
    expected = (width + 1) * len(row_ids)
    data = np.frombuffer(body, np.uint8)
    # The plus sign is the only byte in numbers that is not above the comma. It is rare, so files that contain
    # it use the slower search below.
    marks = np.flatnonzero(data <= _COMMA)
    if len(marks) != expected:
        marks = np.flatnonzero((data == _LF) | (data == _COMMA))
    commas, ends = marks[0 :: width + 1], marks[width :: width + 1]
    if len(marks) != expected or (data[ends] != _LF).any():
        return None
    if any((data[marks[place :: width + 1]] != _COMMA).any() for place in range(width)):
        return None
    starts = np.concatenate(([0], ends[:-1] + 1))
    widths = ends - commas if width == 1 else np.diff(marks.reshape(-1, width + 1), axis=1)
    if widths.min() <= 1 or widths.max() > LONGEST_NUMBER + 1:
        return None
    if starts[-1] + row_ids.longest + _WORD_BYTES > len(data):
        data = np.concatenate((data, np.zeros(PADDING_BYTES, np.uint8)))
    return row_ids.positions(data, starts, commas - starts)


def _predictions(body: bytes, width: int) -> Sequence[NDArray[np.float64]] | None:
    if len(body) <= SMALL_BYTES:
        try:
            lines = [[float(each) for each in line.split(b",")[1:]] for line in body.split(b"\n")[:-1]]
        except ValueError:
            return None
        return list(np.array(lines).T)
    frame = _frame(body, width, np.float64)
    return None if frame is None else [frame[place].to_numpy() for place in frame]


def _classes(body: bytes, column: PredictedColumn, rows: int) -> NDArray[np.int32] | None:
    """Return the classes of clean lines as positions, or None if a field is not accepted."""
    # Each class of a list becomes a field. This only succeeds if the ids contain no space.
    width = 1 + _most_spaces(body) if column.places else 1
    # pandas would end a line at a carriage return.
    is_fast = len(body) > SMALL_BYTES and width <= _MOST_CLASSES_OF_A_LIST
    is_fast = is_fast and b"\r" not in body and b"\0" not in body
    split = body.replace(b" ", b",") if column.places else body
    frame = _frame(split, width, "category") if is_fast else None
    if frame is None or len(frame) != rows:
        return codes_of([line.partition(b",")[2] for line in body.split(b"\n")[:-1]], column)
    codes = np.full((rows, max(column.places, width)), NO_CLASS, np.int32)
    for place in range(1, width + 1):
        texts = [str(text).encode() for text in frame[place].cat.categories]
        known = [column.code_of(text.strip(BLANKS)) for text in texts]
        if any(code == NO_CLASS and text for code, text in zip(known, texts, strict=True)):
            return None
        # The code of a missing field is -1, which is the place of the last item.
        codes[:, place - 1] = np.array([*known, NO_CLASS], np.int32)[frame[place].cat.codes.to_numpy()]
    is_empty = codes == NO_CLASS
    if is_empty[:, 0].any() or (is_empty[:, :-1] & ~is_empty[:, 1:]).any():
        return None
    return codes[:, : column.places] if column.places else codes[:, 0]


def _most_spaces(body: bytes) -> int:
    """Return the largest number of spaces in a line."""
    data = np.frombuffer(body, np.uint8)
    lines = np.searchsorted(np.flatnonzero(data == _LF), np.flatnonzero(data == _SPACE))
    return int(np.bincount(lines, minlength=1).max())


def _frame(body: bytes, width: int, dtype: Any) -> "pd.DataFrame | None":
    """Return the fields behind the ids; None if pandas cannot read them or is not installed."""
    # Web processes import this package but never call this function.
    try:
        import pandas as pd
    except ModuleNotFoundError:
        return None
    # The default is exact since pandas 3.1, which deprecates the argument. Before, last bits may be wrong.
    is_exact = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
    try:
        return pd.read_csv(
            BytesIO(body),
            names=range(width + 1),
            usecols=range(1, width + 1),
            dtype=dict.fromkeys(range(1, width + 1), dtype),
            index_col=False,
            na_filter=False,
            low_memory=False,
            float_precision=None if is_exact else "round_trip",
        )
    except (ValueError, OverflowError):
        return None


@dataclass(frozen=True, slots=True)
class SubmissionFile:
    """An accepted submission.

    Attributes
    ----------
    columns : dict of str to array
        The predictions in the solution's order: finite float64 of shape (n,) for numbers, int32 of shape (n,)
        for classes as positions, or of shape (n, places) for lists of classes, with -1 in empty places, and
        objects of shape (n,) for texts.
    notes : tuple of Note
        Remarks on the file.
    other_labels : tuple of str
        Columns named after other labels of the solution; they were not read.
    """

    columns: Mapping[str, NDArray[Any]]
    notes: tuple[Note, ...]
    other_labels: tuple[str, ...] = ()

    @property
    def predictions(self) -> NDArray[np.float64]:
        """The column ``prediction`` of numbers."""
        return self.columns[PREDICTION]


def submission_size_cap(rows: int, wanted: SubmissionColumns = ONE_NUMBER) -> int:
    """Return the maximum size of a submission in bytes, as read and decompressed."""
    row_bytes = _BYTES_PER_ROW + _LABEL_BYTES * (len(wanted.columns) - 1) + wanted.longest_texts
    return max(_SMALLEST_CAP, row_bytes * rows)


def submission_upload_cap(
    row_ids: RowIds, other_labels: Sequence[str] = (), wanted: SubmissionColumns = ONE_NUMBER
) -> int:
    """Return the maximum size in bytes of a submission that a site receives and stores."""
    rows, others = len(row_ids), len(other_labels) + len(wanted.columns) - 1
    long_ids = max(0, len(row_ids.text) - _ID_BYTES * rows)
    row_bytes = _BYTES_PER_ROW + _LABEL_BYTES * others + wanted.longest_texts
    return _FREE_UPLOAD_BYTES + row_bytes * rows + long_ids


@reading("submission")
def read_submission(
    source: Path | bytes | BinaryIO,
    row_ids: RowIds,
    *,
    other_labels: Sequence[str] = (),
    wanted: SubmissionColumns = ONE_NUMBER,
) -> SubmissionFile:
    """Read a submission from a plain, gzip or ZIP CSV.

    Parameters
    ----------
    source : Path, bytes or seekable binary stream
    row_ids : RowIds
        The ids for which it must contain predictions. Labels and splits are unknown here, so no message can
        disclose them.
    other_labels : sequence of str
        Columns with these names are allowed besides the id and the predictions; they are not read.
    wanted : SubmissionColumns
        The columns of predictions; by default ``prediction``, a finite number.

    Returns
    -------
    SubmissionFile

    Raises
    ------
    FileRejected
        With all problems: one per class, with the first five lines of each.
    """
    with open_content(source, cap=submission_size_cap(len(row_ids), wanted)) as stream:
        text = text_of(_read_all(stream), f"the header {wanted.header}")
    layout = read_header(text, other_labels, wanted)
    columns, notes = _read_rows(text, layout, row_ids, wanted)
    return SubmissionFile(columns, (*layout.notes, *notes), layout.other_labels)


def _read_all(stream: BinaryIO) -> bytes:
    """Read a stream into memory; joining pieces would hold its content in memory twice."""
    if isinstance(stream, BytesIO):
        return stream.getvalue()
    content = BytesIO()
    while piece := stream.read(CHUNK_BYTES):
        content.write(piece)
    return content.getvalue()


def _read_rows(
    text: Text, layout: Layout, row_ids: RowIds, wanted: SubmissionColumns
) -> tuple[dict[str, NDArray[Any]], list[Note]]:
    """Read the rows, with the fast reader if they are clean, and return the values and notes."""
    proven = read_proven(text.data[layout.offset :], row_ids, wanted) if layout.is_standard else None
    if proven is not None:
        in_file_order, positions = proven
        first, notes, predictions = in_file_order[0], list[Note](), []
        for values in in_file_order:
            predictions.append(np.empty_like(values))
            predictions[-1][positions] = values
    else:
        predictions, lines, notes = RowReader(text, layout, row_ids, wanted).read()
        first = predictions[0][np.argsort(lines)]
    remarks = remarks_on(first) if wanted.is_default else []
    names = [column.key or column.name for column in wanted.columns]
    return dict(zip(names, predictions, strict=True)), [*notes, *remarks]


def write_sample_submission(row_ids: RowIds, wanted: SubmissionColumns = ONE_NUMBER) -> bytes:
    """Return a submission with the same prediction for every id, in id order; 0.0 by default.

    The ids are sorted, because the order of the solution is secret.
    """
    ordered = row_ids.smallest(range(len(row_ids)), len(row_ids))
    sample = StringIO(newline="")
    writer = csv.writer(sample, lineterminator="\n")
    writer.writerow(wanted.names)
    values = ["0.0"] if wanted.is_default else [column.sample for column in wanted.columns]
    writer.writerows((name, *values) for name in ordered)
    return sample.getvalue().encode()


def remarks_on(predictions: NDArray[np.float64]) -> list[Note]:
    """Return notes about predictions outside [0, 1] and about many tied predictions.

    The predictions are finite and in the order of the file; an accepted file has one on every line.
    """
    outside = (predictions < 0) | (predictions > 1)
    notes = _ties(predictions)
    if count := int(np.count_nonzero(outside)):
        line = FIRST_LINE + int(outside.argmax())
        notes.insert(
            0, Note.of("outside_unit_interval", line=line, count=count, values=counted(count, "value"))
        )
    return notes


def _ties(predictions: NDArray[np.float64]) -> list[Note]:
    if _are_spread(predictions):
        return []
    values, counts = np.unique(predictions, return_counts=True)
    rows, distinct, longest = len(predictions), len(values), int(counts.max(initial=0))
    if rows < 2 or distinct == rows:
        return []
    if distinct <= _FEW_DISTINCT and distinct * _ROWS_PER_VALUE <= rows:
        of_rows = counted(rows, "row")
        values_of = counted(distinct, "distinct value")
        return [Note.of("few_distinct_values", count=rows, values=values_of, rows=of_rows)]
    if longest > rows * _LARGE_SHARE:
        value, share = repr(float(values[int(counts.argmax())])), f"{longest / rows:.1%}"
        tied = counted(longest, "row")
        return [Note.of("many_ties", count=longest, rows=tied, share=share, value=value)]
    return []


def _are_spread(predictions: NDArray[np.float64]) -> bool:
    """Return whether no value is shared by enough rows for a note, proven without sorting.

    A note requires a value on at least one of `_FEW_DISTINCT` rows. Equal values are in the same bucket of a
    hash, so it is enough that no bucket has as many rows.
    """
    if len(predictions) < _MANY_ROWS:
        return False
    bits = (predictions + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    buckets = (bits * _MULTIPLIER) >> _BUCKET_SHIFT
    return int(np.bincount(buckets.view(np.int64)).max()) * _FEW_DISTINCT < len(predictions)
