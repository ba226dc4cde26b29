"""Benchmark of reading and scoring submissions against public notebook code.

Run ``python benchmarks/files.py``; ``benchmarks/scoring.py`` also prints these rows. The reference reads the
submission with pandas, merges it with the solution by id and runs the public kernel on each split. Both start
from bytes in memory and a prepared solution.
"""

import os

# As in a worker. This must be set before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import jigsaw_like
import numpy as np
import pandas as pd
import reference_kernel

from fairboard import BiasReport, MetricSettings, PreparedSplit, count_pairs, prepare, report
from grader.files import RowIds, read_submission

ROWS = 194_640
IDENTITIES = 9
FIRST_ID = 7_000_000
REPEATS = 5
TIMES_OURS = 5


@dataclass(frozen=True)
class FileRow:
    """Median times for one kind of file, in seconds."""

    name: str
    reference: float
    ours: float
    at_least: int
    aim: int

    @property
    def ratio(self) -> float:
        return self.reference / self.ours


@dataclass(frozen=True)
class Competition:
    """A solution, prepared by the reference and by the grader."""

    row_ids: RowIds
    splits: list[tuple[np.ndarray, PreparedSplit]]
    frame: pd.DataFrame
    identities: list[str]


def make_competition(data: jigsaw_like.Data) -> Competition:
    ids = range(FIRST_ID, FIRST_ID + len(data.labels))
    is_public = np.random.default_rng(1).random(len(data.labels)) < 0.5
    splits = []
    for mask in (is_public, ~is_public):
        rows = np.flatnonzero(mask)
        columns = {name: values[rows] for name, values in data.identities.items()}
        splits.append((rows, prepare(data.labels[rows], columns)))
    frame = reference_kernel.to_frame(data.labels, data.identities, data.predictions)
    frame = frame.drop(columns="prediction").assign(id=ids, is_public=is_public)
    return Competition(RowIds.of(map(str, ids)), splits, frame, list(data.identities))


def make_file(predictions: np.ndarray, order: np.ndarray) -> bytes:
    lines = (f"{FIRST_ID + row},{float(predictions[row])!r}\n" for row in order)
    return ("id,prediction\n" + "".join(lines)).encode()


def ours(file: bytes, competition: Competition) -> list[BiasReport]:
    predictions = read_submission(file, competition.row_ids).predictions
    settings = MetricSettings()
    return [report(count_pairs(split, predictions[rows]), settings) for rows, split in competition.splits]


def reference(file: bytes, competition: Competition) -> list[float]:
    submission = pd.read_csv(io.BytesIO(file))
    merged = competition.frame.merge(submission, on="id")
    return [
        reference_kernel.score(merged[merged["is_public"] == is_public], competition.identities)
        for is_public in (True, False)
    ]


def seconds(call: Callable[[bytes, Competition], object], file: bytes, rest: Competition) -> float:
    start = time.perf_counter()
    call(file, rest)
    return time.perf_counter() - start


def file_rows() -> list[FileRow]:
    """Measure files in two row orders, alternating between the reference and the grader."""
    data = jigsaw_like.make(ROWS, IDENTITIES)
    competition = make_competition(data)
    in_order = np.arange(ROWS)
    orders = (
        ("in the solution's order", in_order, 15, 25),
        ("shuffled", np.random.default_rng(2).permutation(in_order), 10, 25),
    )
    rows = []
    for name, order, at_least, aim in orders:
        file = make_file(data.predictions, order)
        scores = [split.score for split in ours(file, competition)]
        if not np.allclose(scores, reference(file, competition), rtol=0, atol=1e-12):
            raise SystemExit(
                "The results of the grader and the reference differ, so their times are not comparable."
            )
        taken: dict[Callable[..., object], list[float]] = {reference: [], ours: []}
        for _ in range(REPEATS):
            taken[reference].append(seconds(reference, file, competition))
            taken[ours] += [seconds(ours, file, competition) for _ in range(TIMES_OURS)]
        times = (median(taken[reference]), median(taken[ours]))
        rows.append(FileRow(f"{ROWS:,} rows of a file, {name}", *times, at_least, aim))
    return rows


def print_file_rows() -> None:
    """Print one line for each row order."""
    print(f"{'work':<46}{'reference':>11}{'grader':>10}{'ratio':>8}{'at least':>10}{'aim':>6}")
    for row in file_rows():
        print(
            f"{row.name:<46}{1000 * row.reference:>8.0f} ms{1000 * row.ours:>7.1f} ms"
            f"{row.ratio:>7.1f}x{row.at_least:>9}x{row.aim:>5}x"
        )


if __name__ == "__main__":
    print_file_rows()
