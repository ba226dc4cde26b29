"""Parent side of a scoring process: start it, send it submissions, kill it at its time limit.

The parent writes on a line what to score; the child (`grader.worker.scoring.program`) answers with a line
when it is done.
"""

import logging
import os
import time
from types import TracebackType
from typing import Self

from grader.settings import Settings
from grader.worker.process.child import AnsweringProcess, running_module
from grader.worker.scoring.batch_scorer import time_limit_seconds

SCORE, RESCORE = "score", "rescore"
DONE, NOTHING_TO_DO = "done", "nothing to do"
GRACE_SECONDS = 5
START_SECONDS = 30
READY_AGAIN_SECONDS = 60  # what dies while it has nothing to do must not keep the machine busy with starting

logger = logging.getLogger(__name__)


class ScoringChild:
    """A supervised scoring process, started with its first job and again after it died.

    A quiet one logs no line for a job that went well.
    """

    def __init__(self, settings: Settings, *, is_quiet: bool = False) -> None:
        self._settings = settings
        self._log_level = "WARNING" if is_quiet else "INFO"
        self._process: AnsweringProcess | None = None
        self._has_answered = False
        self._ready_at = float("-inf")
        self._is_stopped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def be_ready(self) -> None:
        """Start the process before there is a job, at most once a minute; a start is most of a scoring."""
        is_there = self._process is not None and self._process.code is None
        if not is_there and not self._is_stopped and time.monotonic() >= self._ready_at:
            self._ready_at = time.monotonic() + READY_AGAIN_SECONDS
            self._running()

    def run(self, job_id: int) -> bool:
        """Score a job in the child; False if the child died of it, which leaves the job to its lease."""
        return self._ask(SCORE, job_id, self._settings.scoring_time_limit_seconds) is not None

    def rescore(self, scoring_version_id: int) -> bool:
        """Score a batch of a scoring version in the child; False if nothing was done or the child died."""
        return self._ask(RESCORE, scoring_version_id, time_limit_seconds(self._settings)) == DONE

    def stop(self) -> None:
        """Let a running child hand back its job and end, from another thread; `run` then returns False."""
        self._is_stopped = True
        process = self._process
        if process is not None:
            process.stop()

    def close(self) -> None:
        """End the child at once; a job it has goes back with its lease."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _ask(self, what: str, subject_id: int, limit_seconds: int) -> str | None:
        """Return the child's answer, None if it died."""
        process = self._running()
        limit = limit_seconds + GRACE_SECONDS + (0 if self._has_answered else START_SECONDS)
        try:
            answer = process.ask(f"{what} {subject_id}\n".encode(), seconds=limit)
        except OSError:
            self.close()
            if not self._is_stopped:
                logger.warning("The scoring process died (%s %s, code %s).", what, subject_id, process.code)
            return None
        self._has_answered = True
        return answer.decode().strip()

    def _running(self) -> AnsweringProcess:
        if self._process is not None and self._process.code is not None:
            self.close()
        if self._process is None:
            self._has_answered = False
            self._process = AnsweringProcess(
                running_module("grader.worker.scoring.program", self._log_level),
                environment=os.environ | self._settings.environment(),
            )
        return self._process
