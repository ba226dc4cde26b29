"""Scoring one job: claim, compute with no transaction open, record."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from grader import db
from grader.db import Database
from grader.files import FileRejected, Note, Problem, read_submission
from grader.metrics import count_pairs, report
from grader.models import Split
from grader.services import scoring
from grader.services.scoring import Claim, Results
from grader.settings import Settings
from grader.storage import Storage, open_storage
from grader.worker.prepared import PreparedSolution, PreparedSolutions

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Scores:
    """The file could be scored."""

    results: Results
    notes: Sequence[Note]


@dataclass(frozen=True, slots=True)
class Rejection:
    """The file cannot be scored, and why."""

    problems: Sequence[Problem]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Scoring broke; the log has the exception under the incident's id."""

    incident: str


class Scorer:
    """Scores jobs in one process, which keeps the last few prepared solutions.

    Running a job twice, or in two processes at once, has the effect of running it once.
    """

    def __init__(self, database: Database, storage: Storage, *, lease: timedelta) -> None:
        self._database = database
        self._storage = storage
        self._lease = lease
        self._solutions = PreparedSolutions(partial(PreparedSolution.load, storage))

    @classmethod
    def of(cls, settings: Settings) -> "Scorer":
        """Return a scorer with its own connections."""
        return cls(
            Database(settings.database(), pool_size=1),
            open_storage(settings.storage()),
            lease=timedelta(seconds=settings.scoring_lease_seconds),
        )

    def run(self, job_id: int) -> bool:
        """Score a job; False if there was nothing to do or the lease was lost meanwhile."""
        with self._database.write() as session:
            claim = scoring.claim(session, job_id=job_id, lease=self._lease, now=db.now(session))
        if claim is None:
            return False
        start = time.monotonic()
        outcome = self._outcome(claim)
        recorded = self._record(claim, outcome)
        logger.info(
            "Job %s (submission %s, attempt %s): %s, %s, %.2f s.",
            job_id,
            claim.submission_id,
            claim.attempt,
            type(outcome).__name__.lower(),
            "recorded" if recorded else "the lease was lost",
            time.monotonic() - start,
        )
        return recorded

    def _outcome(self, claim: Claim) -> Scores | Rejection | Breakdown:
        try:
            return self._compute(claim)
        except FileRejected as rejected:
            return Rejection(rejected.problems)
        except Exception:
            incident = scoring.new_incident()
            logger.exception(
                "Incident %s: scoring job %s (submission %s, attempt %s) broke.",
                incident,
                claim.job_id,
                claim.submission_id,
                claim.attempt,
            )
            return Breakdown(incident)

    def _compute(self, claim: Claim) -> Scores:
        solution = self._solutions.get(claim)
        file = read_submission(self._storage.read(claim.submission_sha256), solution.row_ids)
        results = {}
        for split in Split:
            counts = count_pairs(solution.splits[split], file.predictions[solution.rows[split]])
            results[split] = (counts, report(counts, claim.rules.metric))
        return Scores(results, file.notes)

    def _record(self, claim: Claim, outcome: Scores | Rejection | Breakdown) -> bool:
        job_id, token = claim.job_id, claim.token
        with self._database.write() as session:
            now = db.now(session)
            match outcome:
                case Scores(results, notes):
                    return scoring.record_scores(
                        session, job_id=job_id, token=token, results=results, notes=_data(notes), now=now
                    )
                case Rejection(problems):
                    return scoring.record_rejection(
                        session, job_id=job_id, token=token, problems=_data(problems), now=now
                    )
                case Breakdown(incident):
                    return scoring.record_error(
                        session, job_id=job_id, token=token, incident=incident, now=now
                    )


def _data(items: Sequence[Note] | Sequence[Problem]) -> list[dict[str, Any]]:
    return [item.as_dict() for item in items]
