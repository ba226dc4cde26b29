"""Score computation for one file, with cached solutions and ranks."""

import logging
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from grader import counters
from grader.files import FileRejected, RowIds, SubmissionFile, read_submission
from grader.metrics import PreparedSplit, RankArray, dense_ranks, report
from grader.metrics.bias.analysis.standard_errors import ClassMentions, standard_errors
from grader.metrics.bias.pair_counting import count_with_midranks
from grader.metrics.bias.prepared import IndexArray
from grader.models import Split
from grader.services.competitions.metric import Rules
from grader.services.jobs import leased_rows
from grader.services.jobs.leased_rows import Breakdown, Outage, Rejection
from grader.services.scoring.jobs import Claim, Outcome, Scores
from grader.services.solutions.truth import Truth
from grader.settings import Settings
from grader.storage.disk_cache import DiskCache
from grader.storage.stores import Storage, StorageUnavailable

KEPT = 3
# Increase this number whenever the way in which files are read or ranked changes.
RANKS_FORMAT = 3

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, slots=True)
class RankedFile:
    """The ranks of an accepted file in the order of the row ids, with its notes and other labels."""

    ranks: RankArray
    notes: list[dict[str, Any]]
    other_labels: tuple[str, ...] = ()

    @classmethod
    def of(cls, file: SubmissionFile) -> "RankedFile":
        """Rank the predictions of a file."""
        return cls(dense_ranks(file.predictions), [note.as_dict() for note in file.notes], file.other_labels)


class RankCache:
    """Cache of ranks, keyed by the hashes of the file and the row ids."""

    def __init__(self, files: DiskCache) -> None:
        self._files = files

    @classmethod
    def of(cls, settings: Settings) -> "RankCache | None":
        """Return the cache of an installation, or None if its size is set to 0."""
        if not settings.rank_cache_mb:
            return None
        return cls(DiskCache(settings.cache() / "ranks", max_bytes=settings.rank_cache_mb * 1_000_000))

    def get(self, submission_sha256: str, row_ids_sha256: str) -> RankedFile | None:
        """Return the cached ranks of a file, or None."""
        kept = self._files.get(_key(submission_sha256, row_ids_sha256))
        counters.CACHES.add("ranks", "miss" if kept is None else "hit")
        if kept is None:
            return None
        ranks = np.frombuffer(kept.data, kept.facts["type"])
        return RankedFile(ranks, kept.facts["notes"], tuple(kept.facts["other_labels"]))

    def put(self, submission_sha256: str, row_ids_sha256: str, file: RankedFile) -> None:
        """Store the ranks of a file if there is space; a full disk raises no error."""
        ranks = np.ascontiguousarray(file.ranks, file.ranks.dtype.newbyteorder("<"))
        facts = {"type": ranks.dtype.str, "notes": file.notes, "other_labels": file.other_labels}
        self._files.put(_key(submission_sha256, row_ids_sha256), facts, ranks.tobytes())


def _key(submission_sha256: str, row_ids_sha256: str) -> str:
    return f"{submission_sha256}-{row_ids_sha256}-{RANKS_FORMAT}"


@dataclass(frozen=True, eq=False)
class PreparedSolution:
    """A solution prepared for scoring: its row ids, and the positions and labels of each split's rows."""

    row_ids: RowIds
    splits: dict[Split, tuple[IndexArray, PreparedSplit]]

    @cached_property
    def mentions(self) -> dict[Split, tuple[ClassMentions, ClassMentions]]:
        """The mentions of each split, prepared for computing standard errors."""
        return {split: ClassMentions.both(prepared) for split, (_, prepared) in self.splits.items()}

    @classmethod
    def load(cls, storage: Storage, claim: Claim) -> "PreparedSolution":
        """Read and prepare the solution against which a claim is scored."""
        truth = Truth.from_bytes(storage.read(claim.prepared_sha256))
        return cls(
            RowIds.from_bytes(storage.read(claim.row_ids_sha256)),
            {split: _prepared(truth, split, claim.rules) for split in Split},
        )


class PreparedSolutions:
    """A small LRU cache of prepared solutions."""

    def __init__(self, load: Callable[[Claim], PreparedSolution], *, kept: int = KEPT) -> None:
        self._load = load
        self._kept = kept
        self._by_version: OrderedDict[int, PreparedSolution] = OrderedDict()

    def get(self, claim: Claim) -> PreparedSolution:
        """Return the prepared solution of a claim's scoring version."""
        found = self._by_version.pop(claim.scoring_version_id, None)
        if found is None:
            while len(self._by_version) >= self._kept:
                self._by_version.popitem(last=False)
            found = self._load(claim)
        self._by_version[claim.scoring_version_id] = found
        return found


class Calculator:
    """Computes the outcomes of claims and caches prepared solutions and ranks."""

    def __init__(self, storage: Storage, ranks: RankCache | None) -> None:
        self._storage = storage
        self._ranks = ranks
        self._solutions = PreparedSolutions(partial(PreparedSolution.load, storage))

    def outcome(self, claim: Claim) -> Outcome:
        """Compute a claimed job's outcome; log unexpected exceptions under an incident id."""
        if claim.known_problems is not None:
            return Rejection(claim.known_problems)
        try:
            return self._scores(claim)
        except FileRejected as rejected:
            return Rejection([problem.as_dict() for problem in rejected.problems])
        except StorageUnavailable as error:
            logger.warning("The storage could not be read; job %s will be retried: %s", claim.job_id, error)
            return Outage()
        except Exception:
            incident = leased_rows.new_incident()
            logger.exception(
                "Incident %s: scoring job %s (submission %s, attempt %s) failed.",
                incident,
                claim.job_id,
                claim.submission_id,
                claim.attempt,
            )
            return Breakdown(incident)

    def _scores(self, claim: Claim) -> Scores:
        with _timed(claim, "read"):
            solution = self._solutions.get(claim)
            file = self._kept(claim) or self._read(claim, solution)
        with _timed(claim, "compute"):
            return self._computed(claim, solution, file)

    def _computed(self, claim: Claim, solution: PreparedSolution, file: RankedFile) -> Scores:
        results = {}
        for split, (rows, prepared) in solution.splits.items():
            counts, midranks = count_with_midranks(prepared, file.ranks[rows])
            values = report(counts, claim.rules.metric)
            errors = standard_errors(solution.mentions[split], midranks, values, claim.rules.metric)
            results[split] = (counts, values, errors)
        return Scores(results, file.notes)

    def _kept(self, claim: Claim) -> RankedFile | None:
        """Return the cached ranks of a file if this competition accepts its columns."""
        file = self._ranks.get(claim.submission_sha256, claim.row_ids_sha256) if self._ranks else None
        return file if file and set(file.other_labels) <= set(claim.other_labels) else None

    def _read(self, claim: Claim, solution: PreparedSolution) -> RankedFile:
        data = self._storage.read(claim.submission_sha256)
        file = RankedFile.of(read_submission(data, solution.row_ids, other_labels=claim.other_labels))
        if self._ranks:
            self._ranks.put(claim.submission_sha256, claim.row_ids_sha256, file)
        return file


def _timed(claim: Claim, stage: str) -> AbstractContextManager[None]:
    """Return a context that measures a stage of scoring, except in a rescoring's batch."""
    return nullcontext() if claim.accepted_at is None else counters.SCORING_SECONDS.timed(stage)


def _prepared(truth: Truth, split: Split, rules: Rules) -> tuple[IndexArray, PreparedSplit]:
    prepared = truth.prepare(split, identities=rules.identities, settings=rules.metric)
    return truth.rows(split), prepared
