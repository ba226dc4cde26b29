"""Score one batch of submissions for a rescoring: claim, compute, record."""

import logging
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial

from grader import db
from grader.crash_points import reach
from grader.db import Database
from grader.services.scoring import batches
from grader.services.scoring.jobs import Claim, Outcome
from grader.services.submissions.histograms import Histograms
from grader.settings import Settings
from grader.storage.stores import Storage, open_storage
from grader.worker.process import holders, stopping
from grader.worker.process.retrying import insist
from grader.worker.process.stopping import Stopped
from grader.worker.scoring.calculator import Calculator
from grader.worker.scoring.rank_cache import RankCache

BATCH_JOBS = 100
# After this no further file is begun, so that a batch outlasts it by one file at most.
BATCH_SECONDS = 5
NICENESS = 10  # lower priority than live scoring and the web

logger = logging.getLogger(__name__)


def time_limit_seconds(settings: Settings) -> int:
    """Return the hard limit of one batch, the last file of which may take as long as any."""
    return BATCH_SECONDS + settings.scoring_time_limit_seconds


class BatchScorer:
    """Scores the jobs of scoring versions that are being prepared, batch by batch, in one process.

    A process that is killed loses the batch it has in hand and nothing else.
    """

    def __init__(
        self,
        database: Database,
        storage: Storage,
        *,
        lease: timedelta,
        ranks: RankCache | None = None,
        histograms: Histograms | None = None,
    ) -> None:
        self._database = database
        self._calculator = Calculator(storage, ranks, histograms)
        self._lease = lease

    @classmethod
    def of(cls, settings: Settings) -> "BatchScorer":
        """Return a batch scorer with its own connections."""
        return cls(
            Database(settings.database(), pool_size=1),
            open_storage(settings.storage()),
            lease=timedelta(seconds=BATCH_SECONDS + settings.scoring_lease_seconds),
            ranks=RankCache.of(settings),
            histograms=Histograms.of(settings),
        )

    def run(self, scoring_version_id: int) -> bool:
        """Score one batch of a scoring version; False if it has nothing to do.

        Asked to end, the process records what it has computed and hands the rest back.
        """
        with stopping.shielded():
            return self._run(scoring_version_id)

    def _run(self, scoring_version_id: int) -> bool:
        start = time.monotonic()
        claims = insist(partial(self._claim, scoring_version_id))
        if not claims:
            return False
        reach("batch.after_claim")
        outcomes = self._compute(claims)
        recorded = insist(partial(self._record, claims, outcomes))
        reach("batch.after_commit")
        logger.info(
            "Scoring version %s: %s jobs claimed, %s computed, %s recorded, %.2f s.",
            scoring_version_id,
            len(claims),
            len(outcomes),
            recorded,
            time.monotonic() - start,
        )
        return True

    def _claim(self, scoring_version_id: int) -> list[Claim]:
        with self._database.write() as session:
            return batches.claim(
                session,
                scoring_version_id=scoring_version_id,
                limit=BATCH_JOBS,
                lease=self._lease,
                now=db.now(session),
                holder=holders.name(),
            )

    def _record(self, claims: Sequence[Claim], outcomes: Mapping[int, Outcome]) -> int:
        with self._database.write() as session:
            recorded = batches.record(session, claims=claims, outcomes=outcomes, now=db.now(session))
            reach("batch.before_commit")
        return recorded

    def _compute(self, claims: Sequence[Claim]) -> dict[int, Outcome]:
        """Compute the first job, and further ones while there is time."""
        end = time.monotonic() + BATCH_SECONDS
        outcomes: dict[int, Outcome] = {}
        for claim in claims:
            if outcomes and time.monotonic() >= end:
                break
            try:
                with stopping.exposed():
                    outcomes[claim.job_id] = self._calculator.outcome(claim)
            except Stopped:
                break
        return outcomes
