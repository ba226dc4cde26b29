"""Run an organizer's job in the shell and show its progress."""

import time
from typing import Any

from grader.cli.installation import Installation
from grader.cli.progress import ProgressLine
from grader.errors import OrganizerError
from grader.models import JobState, OrganizerJob
from grader.storage.stores import StorageUnavailable
from grader.worker.organizer_jobs.context import Work
from grader.worker.organizer_jobs.worker import HANDLERS, OrganizerWorker

POLL_SECONDS = 0.5


def ended(installation: Installation, job: OrganizerJob, what: str) -> OrganizerJob:
    """Do a job here, unless a running service takes it first, and return it with its result.

    Raises StorageUnavailable where the storage does not answer here: the job waits for another attempt.
    """
    unavailable: list[StorageUnavailable] = []
    with ProgressLine(what) as line:

        def shown(work: Work) -> dict[str, Any]:
            tell = work.write_progress

            def tell_both(progress: dict[str, Any]) -> bool:
                line.show(progress["done"], progress["total"])
                return tell(progress)

            work.write_progress = tell_both
            try:
                return HANDLERS[job.kind](work)
            except StorageUnavailable as error:
                unavailable.append(error)
                raise

        worker = OrganizerWorker(
            installation.settings, installation.database, installation.storage, handlers={job.kind: shown}
        )
        while True:
            worker.run(job.id)
            if unavailable:
                raise unavailable[0]
            with installation.database.read() as session:
                found = session.get_one(OrganizerJob, job.id)
            if found.finished_at is not None:
                break
            time.sleep(POLL_SECONDS)
    if found.state is not JobState.DONE:
        sentences = [problem["message"] for problem in found.problems]
        raise OrganizerError(" ".join(sentences) or f"It failed; see incident {found.incident} in the log.")
    return found
