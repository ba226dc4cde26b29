"""Score computation for one file by any metric, with cached solutions and encoded predictions."""

import atexit
import hmac
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from fairboard.interface import Columns, Metric, RowArray
from fairboard.measured import Measured, measuring
from grader import counters
from grader.files import FileProblem, FileRejected, RowIds
from grader.files.submission.columns import SubmissionColumns
from grader.metrics import registry
from grader.metrics.python_metric import MetricFailed, PythonMetric, made_up_truth
from grader.models import Solution, Split
from grader.sandbox import SandboxClient
from grader.scored_files import columns_of, read_encoded
from grader.services.site.leased_rows import Failure, Rejection
from grader.services.solutions import python_solution
from grader.services.solutions.truth import Truth
from grader.services.submissions.scoring_jobs import LOG, Claim, Outcome, Scores
from grader.storage.stores import Storage
from grader.worker.rank_cache import EncodedFile, RankCache
from grader.worker.retrying import unfinished

KEPT = 3


@cache
def sandbox() -> SandboxClient:
    """Return the sandbox of this process, which starts with the first call of a metric."""
    client = SandboxClient()
    atexit.register(client.close)
    return client


@dataclass(frozen=True, eq=False)
class FileChecker:
    """A custom metric that checks files against generated labels."""

    metric: PythonMetric
    truth: Columns
    public: RowArray

    def begin(self) -> None:
        """Start the time limit of a file."""
        sandbox().start(self.metric.source.text, seconds=self.metric.settings.limits.seconds)

    def check(self, encoded: Columns, *, key: bytes) -> None:
        """Raise FileRejected if a file cannot be scored.

        The made-up labels depend only on `key`, a secret per file.
        """
        settings = self.metric.settings
        if not settings.checks_files:
            return
        made_up = made_up_truth(self.truth, self.public, id_column=settings.id, seed=int.from_bytes(key))
        rows = np.arange(len(self.truth[settings.id]))
        if problem := self.metric.check_file(self.metric.prepare(made_up, rows), encoded):
            raise FileRejected(FileProblem("metric_refuses", problem))


@dataclass(frozen=True, eq=False)
class PreparedSolution:
    """A solution prepared for scoring by a metric: its row ids and the prepared rows of each split.

    `measure` computes the influences on the values of encoded predictions, on the splits asked for.
    """

    metric: Metric
    submission: SubmissionColumns
    row_ids_sha256: str
    row_ids: RowIds
    splits: dict[Split, Any]
    checker: FileChecker | None = None
    measure: Mapping[Split, Callable[[Any], Measured]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        storage: Storage,
        settings: Mapping[str, Any],
        solution: Claim | Solution,
        *,
        measures: Iterable[Split] = (),
    ) -> "PreparedSolution":
        """Read and prepare a solution for the metric of these settings."""
        source = storage.read(settings["source"]) if registry.is_python(settings) else None
        metric = registry.of_settings(settings, source, sandbox())
        row_ids = RowIds(storage.read(solution.row_ids_sha256))
        truth = Truth.from_bytes(storage.read(solution.prepared_sha256))
        columns, checker = truth.columns, None
        if source is not None:
            inner = PythonMetric.of(settings, source, sandbox())
            columns = python_solution.columns_of(truth, row_ids, inner.settings)
            checker = FileChecker(inner, columns, truth.rows(Split.PUBLIC))
        return cls(
            metric,
            columns_of(settings),
            solution.row_ids_sha256,
            row_ids,
            {split: metric.prepare(columns, truth.rows(split)) for split in Split},
            checker,
            {split: measuring(metric, columns, truth.rows(split)) for split in measures},
        )


def encoded_file(
    storage: Storage,
    cache: RankCache | None,
    solution: PreparedSolution,
    sha256: str,
    other_labels: Sequence[str],
) -> EncodedFile:
    """Return the encoded predictions of a file, from the cache if possible; raise FileRejected.

    A cached file may have columns that this competition does not accept.
    """
    key, encoding = (sha256, solution.row_ids_sha256), solution.metric.encoding
    if cache and (kept := cache.get(*key, encoding)) and set(kept.other_labels) <= set(other_labels):
        return kept
    read, encoded = read_encoded(
        storage.read(sha256),
        solution.row_ids,
        solution.metric,
        solution.submission,
        other_labels=other_labels,
    )
    file = EncodedFile(encoded, [note.as_dict() for note in read.notes], read.other_labels)
    if cache and isinstance(encoded, np.ndarray):
        cache.put(*key, file, encoding)
    return file


class Calculator:
    """Computes the outcomes of claims and caches prepared solutions and encoded predictions."""

    def __init__(self, storage: Storage, ranks: RankCache | None, *, key: bytes = b"") -> None:
        self._storage = storage
        self._ranks = ranks
        self._key = key
        self._solutions: OrderedDict[int, PreparedSolution] = OrderedDict()  # the last one was used last

    def outcome(self, claim: Claim) -> Outcome:
        """Compute a claimed job's outcome; log unexpected exceptions under an incident id."""
        if claim.known_problems is not None:
            return Rejection(claim.known_problems)
        try:
            return self._scores(claim)
        except FileRejected as rejected:
            return Rejection([problem.as_dict() for problem in rejected.problems])
        except MetricFailed as failed:
            problem = FileProblem("metric_failed", str(failed))
            return Failure([{**problem.as_dict(), LOG: failed.log}])
        except Exception as error:
            job = f"scoring job {claim.job_id} (submission {claim.submission_id}, attempt {claim.attempt})"
            return unfinished(error, job)

    def _scores(self, claim: Claim) -> Scores:
        with _timed(claim, "read"):
            solution = self._solution(claim)
            file = encoded_file(
                self._storage, self._ranks, solution, claim.submission_sha256, claim.other_labels
            )
        with _timed(claim, "compute"):
            if solution.checker is not None:
                solution.checker.begin()
                subject = f"{claim.prepared_sha256} {claim.submission_sha256}".encode()
                solution.checker.check(file.encoded, key=hmac.digest(self._key, subject, "sha256"))
            score = solution.metric.score
            results = {split: score(prepared, file.encoded) for split, prepared in solution.splits.items()}
            return Scores(results, file.notes)

    def _solution(self, claim: Claim) -> PreparedSolution:
        """Return the prepared solution of a claim's scoring version, of which a few are cached."""
        solution = self._solutions.pop(claim.scoring_version_id, None)
        if solution is None:
            while len(self._solutions) >= KEPT:
                self._solutions.popitem(last=False)
            solution = PreparedSolution.of(self._storage, claim.metric_settings, claim)
        self._solutions[claim.scoring_version_id] = solution
        return solution


def _timed(claim: Claim, stage: str) -> AbstractContextManager[None]:
    """Return a context that measures a stage of scoring, except in a rescoring's batch."""
    return nullcontext() if claim.accepted_at is None else counters.SCORING_SECONDS.timed(stage)
