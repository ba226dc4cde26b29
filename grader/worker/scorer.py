"""Scoring of single submissions and rescoring batches: claim, computation, result."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy.orm import configure_mappers

from grader import db, logs
from grader.counters import REJECTED_FILES, SCORING_SECONDS
from grader.crash_points import reach
from grader.db import Database
from grader.files import RowIds, read_submission
from grader.files.reading.containers import SMALL_BYTES
from grader.services.site.leased_rows import Rejection
from grader.services.submissions import rejected_files
from grader.services.submissions import scoring_jobs as jobs
from grader.services.submissions.scoring_jobs import Claim, Outcome
from grader.settings import Settings
from grader.storage.stores import Storage, open_storage
from grader.worker import processes
from grader.worker.calculator import Calculator
from grader.worker.rank_cache import RankCache
from grader.worker.retrying import insist

BATCH_JOBS = 100
# No file of a batch is started after this time. With the records, a batch of small files takes half a second.
BATCH_SECONDS = 0.3

logger = logging.getLogger(__name__)


def warm_up() -> None:
    """Preload the resources of the first jobs, so that forked processes share them."""
    configure_mappers()
    rows = SMALL_BYTES // 8  # Small files are read without pandas.
    lines = "".join(f"{row},0.5\n" for row in range(rows))
    read_submission(f"id,prediction\n{lines}".encode(), RowIds.of(map(str, range(rows))))


class Scorer:
    """Scores single jobs and batches of scoring versions in one process.

    Scoring is idempotent, even if two processes score the same job concurrently. A killed process loses only
    its current job or batch.
    """

    def __init__(
        self,
        database: Database,
        storage: Storage,
        *,
        lease: timedelta,
        ranks: RankCache | None = None,
        key: bytes = b"",
    ) -> None:
        self._database = database
        self._calculator = Calculator(storage, ranks, key=key)
        self._lease = lease
        self._batch_jobs = BATCH_JOBS

    @classmethod
    def of(cls, settings: Settings) -> "Scorer":
        """Return a scorer with its own connections."""
        return cls(
            Database(settings.database(), pool_size=1),
            open_storage(settings.storage()),
            lease=settings.scoring_lease(),
            ranks=RankCache.of(settings),
            key=settings.secret().encode(),
        )

    def run(self, job_id: int, *, is_python: bool | None = None) -> bool:
        """Score a job; return False if there was nothing to do or the lease was lost.

        If `is_python` is not None, only jobs whose metric is, or is not, written in Python are scored.
        """
        with logs.bound(job=job_id):
            claim = insist(partial(self._claim, job_id, is_python))
            return claim is not None and self._score([claim])[1] > 0

    def _claim(self, job_id: int, is_python: bool | None) -> Claim | None:
        lease = self._lease + timedelta(seconds=jobs.PYTHON_SECONDS if is_python else 0)
        with self._database.write() as session:
            now = db.now(session)
            claim = jobs.claim(
                session,
                job_id=job_id,
                lease=lease,
                now=now,
                holder=processes.holder_name(),
                is_python=is_python,
            )
            reach("claim.before_commit")
        if claim is not None:
            _observe_since(claim, "wait", now)
        return claim

    def _record(self, claims: Sequence[Claim], outcomes: Mapping[int, Outcome]) -> int:
        start = time.perf_counter()
        with self._database.write() as session:
            now = db.now(session)
            recorded = jobs.record(
                session,
                job_ids=[each.job_id for each in claims],
                token=claims[0].token,
                outcomes=outcomes,
                now=now,
            )
            singles = [each for each in claims if recorded and each.accepted_at is not None]
            rejected = {
                each.submission_id: outcome.problems
                for each in singles
                if isinstance(outcome := outcomes[each.job_id], Rejection)
            }
            for submission_id in rejected:
                rejected_files.release_over_quota(session, submission_id=submission_id, now=now)
            reach("record.before_commit")
        for claim in singles:
            SCORING_SECONDS.observe(time.perf_counter() - start, "record")
            _observe_since(claim, "total", now)
        for code in {problem["code"] for problems in rejected.values() for problem in problems}:
            REJECTED_FILES.add(code)
        return recorded

    def run_batch(self, *, leave: Callable[[], object] = lambda: None) -> bool:
        """Score a batch of the first version in preparation; return False if there is no job to claim.

        `leave` is called when other processes may find jobs: after the claim, and after jobs were returned.
        """
        claims = insist(self._claim_batch)
        if not claims:
            return False
        leave()
        computed, _ = self._score(claims)
        if computed < len(claims):
            leave()
        # More jobs than this process can score would be claimed and returned for nothing.
        self._batch_jobs = min(BATCH_JOBS, 2 * computed + 8)
        return True

    def _score(self, claims: Sequence[Claim]) -> tuple[int, int]:
        """Compute and record the outcomes of the first claim and, until a batch ends, of others.

        Returns their number, and that of recorded ones, which is 0 if the lease was lost.
        """
        reach("claim.after_commit")
        start, outcomes = time.monotonic(), dict[int, Outcome]()
        for claim in claims:
            with logs.bound(submission=claim.submission_id, competition=claim.competition_id):
                outcomes[claim.job_id] = self._calculator.outcome(claim)
            if time.monotonic() >= start + BATCH_SECONDS:
                break
        recorded = insist(partial(self._record, claims, outcomes))
        reach("record.after_commit")
        kinds = Counter(type(each).__name__.lower() for each in outcomes.values())
        logger.info(
            "Scoring version %s: %s of %s claimed jobs recorded (%s), %.2f s.",
            claims[0].scoring_version_id,
            recorded,
            len(claims),
            ", ".join(f"{count} {kind}" for kind, count in kinds.items()),
            time.monotonic() - start,
        )
        return len(outcomes), recorded

    def _claim_batch(self) -> list[Claim]:
        with self._database.read() as session:
            version_id = jobs.next_version(session, now=db.now(session))
        if version_id is None:
            return []
        with self._database.write() as session:
            return jobs.claim_batch(
                session,
                scoring_version_id=version_id,
                limit=self._batch_jobs,
                lease=self._lease + timedelta(seconds=BATCH_SECONDS),
                now=db.now(session),
                holder=processes.holder_name(),
            )


def _observe_since(claim: Claim, stage: str, now: datetime) -> None:
    """Add the time since the file's acceptance to a stage."""
    if claim.accepted_at is not None:
        SCORING_SECONDS.observe((now - claim.accepted_at).total_seconds(), stage)
