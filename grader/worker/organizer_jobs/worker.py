"""Execution of organizers' jobs: claim, lease extension, result."""

import logging

from grader import db, logs
from grader.crash_points import reach
from grader.db import Database
from grader.errors import OrganizerError
from grader.files import FileRejected
from grader.models import OrganizerJobKind
from grader.services.site import organizer_jobs
from grader.services.site.leased_rows import Rejection, Unfinished
from grader.services.site.organizer_jobs import Result
from grader.settings import Settings
from grader.storage.stores import Storage
from grader.worker import processes
from grader.worker.organizer_jobs import checks, measuring
from grader.worker.organizer_jobs.context import Handler, Work, WorkLost, problems_of
from grader.worker.retrying import insist, unfinished

logger = logging.getLogger(__name__)

HANDLERS: dict[OrganizerJobKind, Handler] = {
    OrganizerJobKind.CHECK: checks.check_solution,
    OrganizerJobKind.SETTINGS: checks.check_settings,
    OrganizerJobKind.DATA: checks.check_data,
    OrganizerJobKind.COMPARE: measuring.compare,
    OrganizerJobKind.ERRORS: measuring.fill_in_errors,
}


def run_job(settings: Settings, database: Database, storage: Storage, job_id: int) -> bool:
    """Run a job in this process; return False if there was nothing to do or the lease was lost.

    Running a job twice is harmless.
    """
    with database.write() as session:
        holder = processes.holder_name()
        claim = organizer_jobs.claim(session, job_id=job_id, now=db.now(session), holder=holder)
    if claim is None:
        return False
    reach("organizer_job.after_claim")
    work = Work(claim, settings, database, storage)

    def record() -> bool:
        with database.write() as session:
            recorded = organizer_jobs.record(session, claim=claim, outcome=outcome, now=db.now(session))
            reach("organizer_job.before_commit")
        return recorded

    with logs.bound(organizer_job=claim.id, competition=claim.competition_id):
        try:
            with work.extended():
                outcome = _outcome(work, HANDLERS[claim.kind])
        except WorkLost:
            logger.info("Organizers' job %s lost its lease or was dismissed.", claim.id)
            return False
        recorded = insist(record)
        reach("organizer_job.after_commit")
        return recorded


def _outcome(work: Work, handler: Handler) -> Result | Unfinished:
    try:
        return handler(work)
    except WorkLost:
        raise
    except (FileRejected, OrganizerError) as error:
        return Rejection(problems_of(error))
    except Exception as error:
        claim = work.claim
        return unfinished(error, f"organizers' job {claim.id} ({claim.kind}, attempt {claim.attempt_count})")
