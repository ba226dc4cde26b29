"""Fast reader of a clean submission's rows (pandas); leaves doubtful ones to the slow reader.

Anything it doubts (spaces, notes on ids, any fault) is left to `grader.files.submission.explaining_path`.
"""

import re
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.numbers import LONGEST_NUMBER, NUMBER_BYTES, may_underflow, underflows
from grader.files.reading.row_ids import PADDING_BYTES, RowIds

_LONGEST_MEAN_NUMBER = 64
_WHOLE_FIELDS_QUOTED = re.compile(rb'(?:("?)[^",\n]*+\1,("?)[^",\n]*+\2\n)*+')
_WORD_BYTES = 8
_LF, _COMMA = ord("\n"), ord(",")


@dataclass(frozen=True, slots=True)
class Proven:
    """What the rows of a clean submission hold, in the order of the file.

    Attributes
    ----------
    predictions : array of float64, shape (n,)
    positions : array of int64, shape (n,), or slice
        The place of each row in the solution's order.
    underflows : list of int
        The rows whose prediction is read as 0 and is not 0.
    """

    predictions: NDArray[np.float64]
    positions: NDArray[np.int64] | slice
    underflows: list[int]


def read_proven(body: bytes, row_ids: RowIds) -> Proven | None:
    """Read rows ``id,prediction``, one a line.

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
    None is returned instead where one of these is not proven:

    - quotes, if any, enclose whole fields, and then they are taken off;
    - every line is an id, one comma and a field of at most 512 bytes;
    - the ids are the expected ones, each once, byte for byte;
    - beside the ids there are only bytes that numbers are made of: as many other bytes as the ids
      themselves hold. Of such bytes pandas reads exactly our grammar (a test tries all short
      texts), correctly rounded;
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
    # No number holds a byte up to the comma but the plus sign, which is rare enough to be doubtful.
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
    import pandas as pd  # here, because the web imports this package and never gets here

    try:
        frame = pd.read_csv(
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
    return frame[1].to_numpy()
