"""Parent side of an organizer's job process: start it, watch it, kill it at its limits."""

import logging
import os
from subprocess import PIPE

from grader.settings import Settings
from grader.worker.process.child import ChildProcess, running_module

START_SECONDS = 30
TIME_LIMIT_SECONDS = 1800

logger = logging.getLogger(__name__)


class OrganizerChild:
    """Run one organizer's job at a time, each in its own process (`grader.worker.organizer_jobs.program`)."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process: ChildProcess | None = None
        self._is_stopped = False

    def run(self, job_id: int) -> bool:
        """Do a job; False if its process died of it, which leaves the job to its lease, or was stopped."""
        if self._is_stopped:
            return False
        process = self._process = ChildProcess(
            running_module("grader.worker.organizer_jobs.program", str(job_id), "INFO"),
            environment=os.environ | self._settings.environment(),
            stdin=PIPE,  # its end is that of this process
        )
        try:
            if not self._is_stopped:
                process.ends_within(START_SECONDS + TIME_LIMIT_SECONDS)
        finally:
            process.close()
        code = process.code
        if code != 0 and not self._is_stopped:
            logger.warning("The process of organizers' job %s died of it (code %s).", job_id, code)
        return code == 0 and not self._is_stopped

    def stop(self) -> None:
        """Let a running process hand back its job and end, from another thread, and start no other."""
        self._is_stopped = True
        if self._process is not None:
            self._process.stop()
