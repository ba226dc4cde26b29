"""Parent side of an organizer's job process: start it, watch it, kill it at its limits."""

import logging
import os
import subprocess
import sys

from grader.settings import Settings
from grader.worker.process.ending import end

START_SECONDS = 30
TIME_LIMIT_SECONDS = 1800

logger = logging.getLogger(__name__)


class OrganizerChild:
    """Run one organizer's job at a time, each in its own process (`grader.worker.organizer_jobs.program`)."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = False

    def run(self, job_id: int) -> bool:
        """Do a job; False if its process died of it, which leaves the job to its lease, or was stopped."""
        if self._is_stopped:
            return False
        with subprocess.Popen(
            [sys.executable, "-P", "-m", "grader.worker.organizer_jobs.program", str(job_id), "INFO"],
            stdin=subprocess.PIPE,  # its end tells the child that this process is gone
            env=os.environ | self._settings.environment(),
        ) as process:
            self._process = process
            if self._is_stopped:
                process.kill()
            try:
                code = process.wait(START_SECONDS + TIME_LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
        if code != 0 and not self._is_stopped:
            logger.warning("The process of organizers' job %s died of it (code %s).", job_id, code)
        return code == 0 and not self._is_stopped

    def stop(self) -> None:
        """Let a running process hand back its job and end, from another thread, and start no other."""
        self._is_stopped = True
        if self._process is not None:
            end(self._process)
