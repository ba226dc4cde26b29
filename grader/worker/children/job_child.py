"""Parent side of job processes: start, requests, time limits."""

import enum
import logging
import os

from grader import logs
from grader.services.submissions.scoring_jobs import PYTHON_SECONDS
from grader.settings import Settings
from grader.worker.process.child import ChildDied, Nursery, RestartedChild, running_module
from grader.worker.scorer import batch_limit_seconds

GRACE_SECONDS = 5
ORGANIZERS_LIMIT_SECONDS = 1800

logger = logging.getLogger(__name__)


class ChildWork(enum.StrEnum):
    """The kinds of work that a child does."""

    SCORE = "score"
    PYTHON = "python"
    RESCORE = "rescore"
    ORGANIZE = "organize"
    MEASURE = "measure"


def time_limit_seconds(settings: Settings, work: ChildWork) -> int:
    """Return the hard time limit of one job or batch."""
    match work:
        case ChildWork.SCORE:
            return settings.scoring_time_limit_seconds
        case ChildWork.PYTHON:
            return settings.scoring_time_limit_seconds + PYTHON_SECONDS
        case ChildWork.RESCORE:
            return batch_limit_seconds(settings)
        case ChildWork.ORGANIZE | ChildWork.MEASURE:
            return ORGANIZERS_LIMIT_SECONDS


class JobChild:
    """A process that runs one job at a time, starts on demand, and restarts after it dies.

    With a `nursery`, it is forked and shares its memory.
    """

    def __init__(self, settings: Settings, nursery: Nursery | None = None) -> None:
        self._settings = settings
        self._child = RestartedChild(
            running_module("grader.worker.children.job_program"),
            environment=os.environ | settings.environment() | logs.environment(),
            nursery=nursery,
        )

    def score(self, job_id: int) -> bool:
        """Score a job in the child; return False if the child died, so that the lease must expire first."""
        return self._ask(ChildWork.SCORE, job_id) is not None

    def score_with_python(self, job_id: int) -> bool:
        """Score a job whose metric is written in Python; return False if the child died."""
        return self._ask(ChildWork.PYTHON, job_id) is not None

    def rescore(self, scoring_version_id: int) -> bool:
        """Score a batch in the child; return False if there was nothing to do or the child died."""
        return bool(self._ask(ChildWork.RESCORE, scoring_version_id))

    def organize(self, job_id: int, *, yields: bool = False) -> bool:
        """Run an organizers' job in a child, at low priority if it `yields`; return False if it died."""
        try:
            return self._ask(ChildWork.MEASURE if yields else ChildWork.ORGANIZE, job_id) is not None
        finally:
            self.close()

    def stop(self) -> None:
        """Stop the child, which returns its job to the queue, and start no other; thread-safe."""
        self._child.stop()

    def close(self) -> None:
        """Kill the child; its job waits until the lease expires."""
        self._child.close()

    def _ask(self, work: ChildWork, subject_id: int) -> bool | None:
        """Return the child's response, or None if it died."""
        seconds = time_limit_seconds(self._settings, work) + GRACE_SECONDS
        try:
            return bool(self._child.ask([work, subject_id], seconds=seconds))
        except ChildDied as died:
            if not self._child.is_stopped:
                logger.warning("A job process died (%s %s, exit code %s).", work, subject_id, died.code)
            return None
