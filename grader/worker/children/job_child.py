"""Parent side of job processes: start, request, kill at the limits."""

import enum
import logging
import os
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

from grader.settings import Settings
from grader.worker.process.child import ChildDied, RestartedChild, running_module
from grader.worker.scorer import batch_limit_seconds

GRACE_SECONDS = 5
ORGANIZERS_LIMIT_SECONDS = 1800
READY_AGAIN_SECONDS = 60  # a child that dies while idle must not keep the machine busy

logger = logging.getLogger(__name__)


class Work(enum.StrEnum):
    """Kind of work for the child."""

    SCORE = "score"
    RESCORE = "rescore"
    ORGANIZE = "organize"


def time_limit_seconds(settings: Settings, work: Work) -> int:
    """Return the hard limit of one piece of work."""
    match work:
        case Work.SCORE:
            return settings.scoring_time_limit_seconds
        case Work.RESCORE:
            return batch_limit_seconds(settings)
        case Work.ORGANIZE:
            return ORGANIZERS_LIMIT_SECONDS


class JobChild:
    """A process that runs one job after another, started with its first job and again after its death."""

    def __init__(self, settings: Settings, *, is_quiet: bool = False) -> None:
        self._settings = settings
        self._child = RestartedChild(
            running_module("grader.worker.children.job_program", "WARNING" if is_quiet else "INFO"),
            environment=os.environ | settings.environment(),
        )
        self._ready_at = float("-inf")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def be_ready(self) -> None:
        """Start the process before its first job, at most once a minute."""
        if not self._child.is_running and time.monotonic() >= self._ready_at:
            self._ready_at = time.monotonic() + READY_AGAIN_SECONDS
            with suppress(ChildDied):  # it was stopped
                self._child.start()

    def score(self, job_id: int) -> bool:
        """Score a job in the child; False if the child died, which leaves the job to its lease."""
        return self._ask(Work.SCORE, job_id) is not None

    def rescore(self, scoring_version_id: int) -> bool:
        """Score a batch of a scoring version in the child; False if nothing was done or the child died."""
        return bool(self._ask(Work.RESCORE, scoring_version_id))

    def organize(self, job_id: int) -> bool:
        """Run an organizer's job in a new process; False if it died, which leaves the job to its lease."""
        try:
            return self._ask(Work.ORGANIZE, job_id) is not None
        finally:
            self.close()

    def stop(self) -> None:
        """End the child, which hands its job back, from another thread; start no other."""
        self._child.stop()

    def close(self) -> None:
        """End the child at once; its job waits for the end of its lease."""
        self._child.close()

    def _ask(self, work: Work, subject_id: int) -> bool | None:
        """Return the child's answer, None if it died."""
        seconds = time_limit_seconds(self._settings, work) + GRACE_SECONDS
        try:
            return bool(self._child.ask([work, subject_id], seconds=seconds))
        except ChildDied as died:
            if not self._child.is_stopped:
                logger.warning("The process of a job died (%s %s, code %s).", work, subject_id, died.code)
            return None
