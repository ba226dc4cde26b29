"""Sweeper process: overdue jobs, organizers' jobs, scheduled tasks and e-mail."""

import _thread
import contextlib
import logging
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import configure_mappers

from grader import counters, db
from grader.db import Database
from grader.services.site import leased_rows, organizer_jobs
from grader.services.submissions import batches
from grader.services.submissions import scoring_jobs as jobs
from grader.settings import Settings
from grader.storage.stores import Storage, open_storage
from grader.text import counted
from grader.worker import python_lanes
from grader.worker.children import job_program
from grader.worker.children.formatter import Formatter
from grader.worker.children.job_child import JobChild
from grader.worker.mailer import Mailer
from grader.worker.process import holders, repeating
from grader.worker.process.child import Nursery
from grader.worker.process.repeating import Lane
from grader.worker.process.shares import ShareUsed
from grader.worker.python_lanes import PythonLanes
from grader.worker.scheduled_tasks import Calendar, Keeper

BATCH = 100
CHILDREN = 2
# Together with the time needed to return jobs, this must be shorter than the supervisor's grace period.
STOP_GRACE_SECONDS = 3
ORGANIZERS_WAIT_SECONDS = 1  # poll interval; short because an organizer is watching the page
LOOK_AGAIN_SECONDS = 1  # poll interval for claims of dead processes on this machine
DUE_SECONDS = 0.5  # maximum age of a query that lanes share
WAKE_SECONDS = 0.2  # poll interval of an in-memory queue, without a database query
BACKUP_SECONDS = 60  # interval between two checks whether a backup is due
SIGNAL_SECONDS = 1  # a signal just before an endless wait of the main thread would be lost
BACKUP_AFTER_SECONDS = 10  # a backup must not slow down the service's startup

logger = logging.getLogger(__name__)


class DueWork:
    """The lanes that have work, found by one statement for all of them."""

    def __init__(self, database: Database, *, seconds: float) -> None:
        self._database, self._seconds = database, seconds
        self._lock = threading.Lock()
        self._found: dict[str, bool] = {}
        self._read_at = float("-inf")

    def has(self, lane: str) -> bool:
        """Return whether a lane had work at the last query, which is not older than `seconds`."""
        with self._lock:
            if time.monotonic() - self._read_at >= self._seconds:
                self._found, self._read_at = {}, time.monotonic()  # in case the query fails
                self._found = self._read()
            return self._found.get(lane, False)

    def _read(self) -> dict[str, bool]:
        with self._database.read() as session:
            now = db.now(session)
            conditions = {
                "claims": leased_rows.are_held(now),
                "rescoring": batches.are_waiting(now),
                "python": python_lanes.are_waiting(now),
                **{lane: organizer_jobs.are_waiting(now, lane=lane) for lane in organizer_jobs.LANES},
            }
            return dict(zip(conditions, session.execute(select(*conditions.values())).one(), strict=True))


class Sweeper:
    """Finds jobs that have waited too long or lost their lease, and runs them in children.

    Two scoring children ensure that a slow file does not block the others. Organizers' jobs may take minutes;
    they have three lanes with one child each: checks of solutions and settings, comparisons and standard
    errors, and the others. Rescorings have their own lane. Its child and that of the comparisons yield to
    live scoring. `PythonLanes` score files with metrics that organizers wrote.
    """

    def __init__(
        self,
        settings: Settings,
        database: Database,
        *,
        heartbeat: Path | None = None,
        nursery: Nursery | None = None,
    ) -> None:
        self._settings = settings
        self._patience = timedelta(seconds=settings.sweep_after_seconds)
        self._heartbeat = heartbeat
        self._database = database
        self._calendar = Calendar(database)
        self.due = DueWork(database, seconds=min(DUE_SECONDS, settings.sweep_interval_seconds / 2))
        self._children = [JobChild(settings, nursery) for _ in range(CHILDREN)]
        self._rescoring_child = JobChild(settings, nursery)
        self._organizers_children = {lane: JobChild(settings, nursery) for lane in organizer_jobs.LANES}
        is_due = partial(self.due.has, "python")
        self._python = PythonLanes(settings, database, is_due=is_due, nursery=nursery)
        self._formatter = Formatter()
        self._overdue: deque[int] = deque()
        self._lock = threading.Lock()
        self._look_at = 0.0

    def run(self, stop: threading.Event) -> None:
        """Sweep until `stop` is set; running jobs have a short grace period to end."""
        threads = repeating.start(self._lanes(), stop)
        while not stop.wait(SIGNAL_SECONDS):
            pass
        for each in self._organizers_children.values():
            each.stop()  # a job may take minutes; another process will resume it
        repeating.join(threads, STOP_GRACE_SECONDS)
        children = (*self._children, self._rescoring_child, *self._python.children)
        for child in children:
            child.stop()
        for thread in threads:
            thread.join()
        for child in children:
            child.close()
        self._formatter.close()

    def _lanes(self) -> list[Lane]:
        pause = self._settings.sweep_interval_seconds
        sweeps = [
            Lane(f"sweep-{number}", partial(self._sweep, child), min(WAKE_SECONDS, pause))
            for number, child in enumerate(self._children)
        ]
        wait = min(ORGANIZERS_WAIT_SECONDS, pause)
        return [
            *sweeps,
            *self._python.lanes(wait),
            self._lane("claims", self._free_claims, min(LOOK_AGAIN_SECONDS, pause)),
            Lane("calendar", self._calendar.run_due, pause),
            Lane("texts", self._format_texts, pause),
            self._lane("rescoring", self._rescore, wait),
            *(
                self._lane(lane, partial(self._work_for_organizers, lane), wait)
                for lane in organizer_jobs.LANES
            ),
        ]

    def _lane(self, name: str, step: Callable[[], object], pause: float) -> Lane:
        return Lane(name, step, pause, is_due=partial(self.due.has, name))

    def _sweep(self, child: JobChild) -> bool:
        job_id = self._next()
        return job_id is not None and child.score(job_id)

    def _rescore(self) -> None:
        """Score batches until no version needs any."""
        while (version_id := self._unattended()) is not None and self._rescoring_child.rescore(version_id):
            pass
        self._rescoring_child.close()

    def _unattended(self) -> int | None:
        with self._database.read() as session:
            return batches.unattended(session, now=db.now(session))

    def _format_texts(self) -> bool:
        with contextlib.suppress(ShareUsed):
            if self._formatter.format_waiting(self._database):
                return True
        self._formatter.close()
        return False

    def _work_for_organizers(self, lane: str) -> bool:
        with self._database.read() as session:
            found = organizer_jobs.waiting(session, limit=1, now=db.now(session), lane=lane)
        child = self._organizers_children[lane]
        return bool(found) and child.organize(found[0], yields=lane == "statistics")

    def _next(self) -> int | None:
        """Return the id of an overdue job, or None."""
        with self._lock:
            if not self._overdue and time.monotonic() < self._look_at:
                return None
            if not self._overdue:
                self._overdue.extend(self._look())
            if not self._overdue:
                self._look_at = time.monotonic() + self._settings.sweep_interval_seconds
            if self._heartbeat is not None:
                self._heartbeat.touch()
            return self._overdue.popleft() if self._overdue else None

    def _free_claims(self) -> bool:
        """Release the claims of dead processes on this machine, and sweep their jobs immediately."""
        with self._database.read() as session:
            found = leased_rows.holders(session, machine=holders.machine(), now=db.now(session))
        gone = {holder for holder in found if holders.is_gone(holder)}
        if not gone:
            return False
        with self._database.write() as session:
            count = leased_rows.free(session, holders=gone, now=db.now(session))
        if count:
            are = "was" if count == 1 else "were"
            logger.warning("%s of dead processes %s released.", counted(count, "claim"), are)
            with self._lock:  # an earlier query without results must not delay the next one
                self._look_at = 0.0
        return False

    def _look(self) -> list[int]:
        with self._database.read() as session:
            return jobs.waiting(
                session,
                older_than=self._patience,
                limit=BATCH,
                now=db.now(session),
                with_rescorings=False,
            )


def _back_up_if_due(settings: Settings, database: Database, storage: Storage, stop: threading.Event) -> None:
    # Importing the migrations' library is slow and must not delay the first score.
    from grader.maintenance import backups

    backups.run_if_due(settings, database, storage, is_stopped=stop.is_set)


def sweep_until_told_to_stop(settings: Settings, *, heartbeat: Path | None = None) -> None:
    """Sweep, run scheduled tasks and send e-mail until SIGTERM or SIGINT.

    For health checks, the file `heartbeat` is touched after each successful database query.
    """
    configure_mappers()
    nursery = Nursery(partial(job_program.main, settings))
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        # A handler must not use the event itself: the thread it interrupts may hold the event's lock.
        signal.signal(number, lambda *_: _thread.start_new_thread(stop.set, ()))
    counters.enable(settings.metrics_dir())
    storage = open_storage(settings.storage())
    storage.remove_abandoned()
    database = Database.of(settings, pool_size=CHILDREN + 16)
    sweeper = Sweeper(settings, database, heartbeat=heartbeat, nursery=nursery)
    repeating.start(Keeper(database, storage).lanes(), stop)
    backup = Lane(
        "backup",
        partial(_back_up_if_due, settings, database, storage, stop),
        BACKUP_SECONDS,
        BACKUP_AFTER_SECONDS,
    )
    backup_threads = repeating.start([backup] if settings.backup_target else [], stop)
    mailer = repeating.start(Mailer(settings, database).lanes(stop), stop) if settings.sends_mail() else []
    try:
        sweeper.run(stop)
        repeating.join([*mailer, *backup_threads], STOP_GRACE_SECONDS)
    finally:
        database.dispose()
