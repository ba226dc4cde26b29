"""Recomputation of scores from stored files with `grader.receipts.recount`."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

from grader.files import FileRejected, RowIds, read_solution, read_submission
from grader.receipts.recount import RecountSettings, Row, count, score
from grader.receipts.verification import rows_of

# With at least this many files, worker processes save more time than they take to start.
WORTH_PROCESSES = 400

# Each worker process caches its solutions by configuration key.
_truths: dict[str, tuple[RowIds, dict[str, list[Row]], RecountSettings]] = {}


@dataclass(frozen=True, slots=True)
class Recounted:
    """A file's result on one split: the score, its terms, and the underlying counts."""

    values: dict[str, float | None]
    counts: dict[str, Any]


Scores = dict[str, Recounted]  # by split


@dataclass
class Oracle:
    """Recomputes scores; a configuration is a canonical solution with a version's settings."""

    read: Callable[[str], bytes]
    processes: int = 2
    ways: dict[str, tuple[bytes, Mapping[str, Any]]] = field(default_factory=dict)
    known: dict[tuple[str, str], Scores | str] = field(default_factory=dict)

    def add(self, way: str, *, solution: bytes, settings: Mapping[str, Any]):
        """Register a scoring configuration."""
        self.ways[way] = (solution, settings)

    def recount(self, wanted: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], Scores | str]:
        """Recompute the scores of files, given by sha256; return the reason if one cannot be scored."""
        missing = [each for each in dict.fromkeys(wanted) if each not in self.known]
        if len(missing) < WORTH_PROCESSES:
            _learn(self.ways)
            answers = map(_recount, ((way, self.read(sha256)) for way, sha256 in missing))
            self.known |= dict(zip(missing, answers, strict=True))
            return self.known
        # Processes are spawned because a fork would copy the threads' locks.
        with ProcessPoolExecutor(
            self.processes, get_context("spawn"), initializer=_learn, initargs=(self.ways,)
        ) as pool:
            answers = pool.map(_recount, ((way, self.read(sha256)) for way, sha256 in missing), chunksize=32)
            self.known |= dict(zip(missing, answers, strict=True))
        return self.known


def _learn(ways: Mapping[str, tuple[bytes, Mapping[str, Any]]]):
    _truths.clear()
    for way, (solution, data) in ways.items():
        settings = RecountSettings.from_dict(data)
        read = read_solution(solution, label="label", identities=settings.identities)
        _truths[way] = read.row_ids, rows_of(read, settings), settings


def _recount(task: tuple[str, bytes]) -> Scores | str:
    way, data = task
    row_ids, rows, settings = _truths[way]
    try:
        file = read_submission(data, row_ids)
    except FileRejected as error:
        return str(error)
    predictions = dict(zip(row_ids, file.predictions.tolist(), strict=True))
    scores = {}
    for split, of_split in rows.items():
        counts = count(of_split, predictions, settings)
        scores[split] = Recounted(score(counts, settings), counts)
    return scores
