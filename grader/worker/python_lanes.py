"""Lanes for submissions whose metric is written in Python, apart from all other scoring.

An endless loop in such a metric occupies neither the workers nor the other children of the sweeper. Here, a
competition has at most one child at a time, and a competition whose last file was slow uses only the first
lane. Therefore, the files of a competition with a fast metric wait for at most one file of each competition
whose metric has become slow.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from sqlalchemy import ColumnElement, Select, select

from grader import db
from grader.db import Database
from grader.models import ScoringJob, ScoringVersion, ScoringVersionState
from grader.services.site import leased_rows
from grader.services.submissions.scoring_jobs import IS_PYTHON
from grader.settings import Settings
from grader.worker.children.job_child import JobChild
from grader.worker.process.child import Nursery
from grader.worker.process.repeating import Lane

LANES = 2
SLOW_SECONDS = 5.0
IDLE_SECONDS = 300.0  # a sandbox uses about 200 MB
_IN_USE = (ScoringVersionState.LIVE, ScoringVersionState.PREPARING)


def are_waiting(now: datetime) -> ColumnElement[bool]:
    """Return the condition that a job of a metric written in Python can be claimed."""
    return _versions(now).exists()


def _versions(now: datetime) -> Select[int, int]:
    jobs = select(ScoringJob.id).where(
        ScoringJob.scoring_version_id == ScoringVersion.id,
        ScoringJob.state.in_(leased_rows.OPEN_STATES),
        leased_rows.is_free(ScoringJob, now),
    )
    return select(ScoringVersion.id, ScoringVersion.competition_id).where(
        IS_PYTHON, ScoringVersion.state.in_(_IN_USE), jobs.exists()
    )


@dataclass
class _Turn:
    """The use of the lanes by a competition: whether it has a child, and its last file."""

    is_running: bool = False
    is_slow: bool = False
    ended_at: float = 0.0


class PythonLanes:
    """Scores such submissions one by one, those of live versions first, in turns of the competitions."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        *,
        is_due: Callable[[], bool],
        nursery: Nursery | None = None,
    ) -> None:
        self._database = database
        self._is_due = is_due
        self.children: Sequence[JobChild] = [JobChild(settings, nursery) for _ in range(LANES)]
        self._used_at = [0.0] * LANES
        self._turns: dict[int, _Turn] = {}
        self._lock = threading.Lock()

    def step(self, lane: int) -> bool:
        """Score one submission; return whether there was one."""
        with self._lock:
            taken = self._take(lane) if self._is_due() else None
        if taken is None:
            if self._used_at[lane] and time.monotonic() - self._used_at[lane] > IDLE_SECONDS:
                self.children[lane].close()
                self._used_at[lane] = 0.0
            return False
        job_id, turn = taken
        start = time.monotonic()
        try:
            return self.children[lane].score_with_python(job_id)
        finally:
            turn.ended_at = time.monotonic()
            # The first file of a child includes the start of its sandbox.
            turn.is_slow = bool(self._used_at[lane]) and turn.ended_at - start > SLOW_SECONDS
            turn.is_running, self._used_at[lane] = False, turn.ended_at

    def _take(self, lane: int) -> tuple[int, _Turn] | None:
        with self._database.read() as session:
            now = db.now(session)
            is_preparing = ScoringVersion.state == ScoringVersionState.PREPARING
            waiting = session.execute(_versions(now).add_columns(is_preparing)).all()
            usable = [
                (is_later, turn.ended_at, version_id, turn)
                for version_id, competition_id, is_later in waiting
                if not (turn := self._turns.setdefault(competition_id, _Turn())).is_running
                and (lane == 0 or not turn.is_slow)
            ]
            if not usable:
                return None
            _, _, version_id, turn = min(usable, key=lambda each: each[:3])
            job_id = session.scalar(
                select(ScoringJob.id)
                .where(ScoringJob.scoring_version_id == version_id, leased_rows.is_free(ScoringJob, now))
                .order_by(ScoringJob.available_at, ScoringJob.id)
                .limit(1)
            )
        if job_id is None:
            return None
        turn.is_running = True
        return job_id, turn

    def lanes(self, pause: float) -> list[Lane]:
        """Return the lanes."""
        return [Lane(f"python-{lane}", partial(self.step, lane), pause) for lane in range(LANES)]
