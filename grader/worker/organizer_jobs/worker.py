"""Execution of organizers' jobs: claim, lease extension, result."""

import logging
from collections.abc import Mapping
from datetime import timedelta
from functools import partial

from grader import db, logs
from grader.crash_points import reach
from grader.db import Database
from grader.errors import OrganizerError
from grader.files import FileRejected
from grader.models import OrganizerJob, OrganizerJobKind
from grader.services.site import leased_rows, organizer_jobs
from grader.services.site.leased_rows import Breakdown, Outage, Rejection, Unfinished
from grader.services.site.organizer_jobs import LEASE, Result
from grader.settings import Settings
from grader.storage.stores import Storage, StorageUnavailable
from grader.worker import processes
from grader.worker.organizer_jobs import checks, measuring
from grader.worker.organizer_jobs.context import Handler, Work, WorkLost, problems_of
from grader.worker.retrying import insist

logger = logging.getLogger(__name__)


HANDLERS: dict[OrganizerJobKind, Handler] = {
    OrganizerJobKind.CHECK: checks.check_solution,
    OrganizerJobKind.SETTINGS: checks.check_settings,
    OrganizerJobKind.DATA: checks.check_data,
    OrganizerJobKind.COMPARE: measuring.compare,
    OrganizerJobKind.ERRORS: measuring.fill_in_errors,
}


class OrganizerWorker:
    """Runs organizers' jobs in this process; running a job twice is harmless."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        storage: Storage,
        *,
        lease: timedelta = LEASE,
        handlers: Mapping[OrganizerJobKind, Handler] = HANDLERS,
    ) -> None:
        self._settings = settings
        self._database = database
        self._storage = storage
        self._lease = lease
        self._handlers = handlers

    def run(self, job_id: int) -> bool:
        """Run a job; return False if there was nothing to do or the lease was lost."""
        with self._database.write() as session:
            claim = organizer_jobs.claim(
                session, job_id=job_id, now=db.now(session), lease=self._lease, holder=processes.holder_name()
            )
        if claim is None:
            return False
        reach("organizer_job.after_claim")
        with logs.bound(organizer_job=claim.id, competition=claim.competition_id):
            work = Work(claim, self._settings, self._database, self._storage, self._lease)
            with work.extended():
                outcome = self._outcome(work)
            if outcome is None:
                return False
            recorded = insist(partial(self._record, claim, outcome))
            reach("organizer_job.after_commit")
            return recorded

    def _record(self, claim: OrganizerJob, outcome: Result | Unfinished) -> bool:
        with self._database.write() as session:
            recorded = organizer_jobs.record(session, claim=claim, outcome=outcome, now=db.now(session))
            reach("organizer_job.before_commit")
        return recorded

    def _outcome(self, work: Work) -> Result | Unfinished | None:
        claim = work.claim
        try:
            return self._handlers[claim.kind](work)
        except WorkLost:
            logger.info("Organizers' job %s lost its lease or was dismissed.", claim.id)
            return None
        except (FileRejected, OrganizerError) as error:
            return Rejection(problems_of(error))
        except StorageUnavailable as error:
            logger.warning(
                "The storage could not be read; organizers' job %s will be retried: %s", claim.id, error
            )
            return Outage()
        except Exception:
            incident = leased_rows.new_incident()
            logger.exception(
                "Incident %s: organizers' job %s (%s, attempt %s) failed.",
                incident,
                claim.id,
                claim.kind,
                claim.attempt_count,
            )
            return Breakdown(incident)
