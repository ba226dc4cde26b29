"""The score once more, from the stored bytes by `grader.receipts`, which shares no code with the score."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

from grader.receipts import Settings, SlowTruth, UnreadableFile, read_predictions, read_truth
from grader.receipts.recount import count, score
from grader.receipts.truth import SPLITS

WORTH_PROCESSES = 400  # so many files before it pays to start some

_truths: dict[str, tuple[SlowTruth, Settings]] = {}  # of a process, by the key of a way of scoring


@dataclass(frozen=True, slots=True)
class Recounted:
    """What a file gets on one split: the score and its terms, and the counts that they derive from."""

    values: dict[str, float | None]
    counts: dict[str, Any]


Scores = dict[str, Recounted]  # by split


@dataclass
class Oracle:
    """Recounts files under ways of scoring: each a canonical solution with the settings of a version."""

    read: Callable[[str], bytes]
    processes: int = 2
    ways: dict[str, tuple[bytes, Mapping[str, Any]]] = field(default_factory=dict)
    known: dict[tuple[str, str], Scores | str] = field(default_factory=dict)

    def add(self, way: str, *, solution: bytes, settings: Mapping[str, Any]):
        """Make a way of scoring known."""
        self.ways[way] = (solution, settings)

    def recount(self, wanted: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], Scores | str]:
        """Recount files by sha256 under ways of scoring; a text says why a file cannot be scored."""
        missing = [each for each in dict.fromkeys(wanted) if each not in self.known]
        if len(missing) < WORTH_PROCESSES:
            _learn(self.ways)
            answers = map(_recount, ((way, self.read(sha256)) for way, sha256 in missing))
            self.known |= dict(zip(missing, answers, strict=True))
            return self.known
        # Spawned: a fork would take the threads' locks along.
        with ProcessPoolExecutor(
            self.processes, get_context("spawn"), initializer=_learn, initargs=(self.ways,)
        ) as pool:
            answers = pool.map(_recount, ((way, self.read(sha256)) for way, sha256 in missing), chunksize=32)
            self.known |= dict(zip(missing, answers, strict=True))
        return self.known


def _learn(ways: Mapping[str, tuple[bytes, Mapping[str, Any]]]):
    _truths.clear()
    for way, (solution, data) in ways.items():
        settings = Settings.from_dict(data)
        _truths[way] = read_truth(solution, settings), settings


def _recount(task: tuple[str, bytes]) -> Scores | str:
    way, data = task
    truth, settings = _truths[way]
    try:
        predictions = read_predictions(data, truth.row_ids)
    except UnreadableFile as error:
        return error.message
    scores = {}
    for split in SPLITS:
        counts = count(truth.rows[split], predictions, settings)
        scores[split] = Recounted(score(counts, settings), counts)
    return scores
