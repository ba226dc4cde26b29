"""The sweeper: scores what no worker took and does what is due. It needs no broker; several may run."""

import logging
import signal
import threading
import time
from collections import deque
from datetime import timedelta
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from grader import db
from grader.db import Database
from grader.services import batches, organizer_jobs, scoring
from grader.settings import Settings
from grader.storage import open_storage
from grader.worker import digests
from grader.worker.calendar import Calendar
from grader.worker.child import ScoringChild
from grader.worker.keeping import Keeper
from grader.worker.mailer import Mailer
from grader.worker.organizer_child import OrganizerChild

BATCH = 100
CHILDREN = 2
STOP_GRACE_SECONDS = 3  # with what handing back takes below that of the supervisor
ORGANIZERS_WAIT_SECONDS = 1  # somebody looks at the page

logger = logging.getLogger(__name__)


class Sweeper:
    """Looks for jobs that waited too long or lost their lease, and has children score them.

    Two children, so that a file that keeps one busy up to the time limit does not make the others wait. They
    start with the first job that needs them and end when there is nothing left. Organizers' jobs have a lane
    and a child of their own: they may take minutes, and scoring never waits for them. So has a rescoring
    that nobody works on.
    """

    def __init__(self, settings: Settings, database: Database, *, heartbeat: Path | None = None) -> None:
        self._settings = settings
        self._patience = timedelta(seconds=settings.sweep_after_seconds)
        self._heartbeat = heartbeat
        self._database = database
        self._calendar = Calendar(database)
        self._children = [ScoringChild(settings) for _ in range(CHILDREN)]
        self._rescoring_child = ScoringChild(settings)
        self._organizers_child = OrganizerChild(settings)
        self._overdue: deque[int] = deque()
        self._lock = threading.Lock()

    def run(self, stop: threading.Event) -> None:
        """Sweep until `stop` is set; jobs under way get a moment to end."""
        lanes = [
            threading.Thread(target=self._sweep, args=(child, stop), name=f"sweep-{number}")
            for number, child in enumerate(self._children)
        ]
        lanes.append(threading.Thread(target=self._keep_dates, args=(stop,), name="calendar"))
        lanes.append(threading.Thread(target=self._rescore, args=(stop,), name="rescoring"))
        lanes.append(threading.Thread(target=self._work_for_organizers, args=(stop,), name="organizers"))
        for lane in lanes:
            lane.start()
        stop.wait()
        self._organizers_child.stop()  # its job may take long: it starts afresh elsewhere
        end = time.monotonic() + STOP_GRACE_SECONDS
        for lane in lanes:
            lane.join(max(0, end - time.monotonic()))
        for child in (*self._children, self._rescoring_child):
            child.stop()
        for lane in lanes:
            lane.join()

    def _sweep(self, child: ScoringChild, stop: threading.Event) -> None:
        with child:
            while not stop.is_set():
                job_id = self._next()
                if job_id is None:
                    child.close()
                if job_id is None or not child.run(job_id):
                    stop.wait(self._settings.sweep_interval_seconds)

    def _rescore(self, stop: threading.Event) -> None:
        with self._rescoring_child as child:
            while not stop.is_set():
                version_id = self._next_rescoring()
                if version_id is None:
                    child.close()
                if version_id is None or not child.rescore(version_id):
                    stop.wait(self._settings.sweep_interval_seconds)

    def _next_rescoring(self) -> int | None:
        try:
            with self._database.read() as session:
                return batches.unattended(session, older_than=self._patience, now=db.now(session))
        except SQLAlchemyError:
            logger.exception("The database could not be asked for rescorings.")
            return None

    def _keep_dates(self, stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                self._calendar.run_due()
            except Exception:
                logger.exception("What is due by the calendar could not be done; it is tried again.")
            stop.wait(self._settings.sweep_interval_seconds)

    def _work_for_organizers(self, stop: threading.Event) -> None:
        self._note_digests()
        wait_seconds = min(ORGANIZERS_WAIT_SECONDS, self._settings.sweep_interval_seconds)
        while not stop.is_set():
            job_id = self._next_for_organizers()
            if job_id is None or not self._organizers_child.run(job_id):
                stop.wait(wait_seconds)

    def _note_digests(self) -> None:
        """Give solutions of older versions of the service their digests, once."""
        try:
            digests.note_missing(self._database, open_storage(self._settings.storage()))
        except Exception:
            logger.exception("The digests of solutions could not be noted; the next start tries again.")

    def _next_for_organizers(self) -> int | None:
        try:
            with self._database.read() as session:
                found = organizer_jobs.waiting(session, limit=1, now=db.now(session))
        except SQLAlchemyError:
            logger.exception("The database could not be asked for organizers' jobs.")
            return None
        return found[0] if found else None

    def _next(self) -> int | None:
        """Return a job that is overdue, None if there is none or the database does not answer."""
        with self._lock:
            if not self._overdue:
                try:
                    self._overdue.extend(self._look())
                except SQLAlchemyError:
                    logger.exception("The database could not be asked for waiting jobs.")
                    return None
            if self._heartbeat is not None:
                self._heartbeat.touch()
            return self._overdue.popleft() if self._overdue else None

    def _look(self) -> list[int]:
        with self._database.read() as session:
            return scoring.waiting(
                session,
                older_than=self._patience,
                limit=BATCH,
                now=db.now(session),
                with_rescorings=False,
            )


def sweep_until_told_to_stop(settings: Settings, *, heartbeat: Path | None = None) -> None:
    """Clear half-written files away, sweep and send e-mail until SIGTERM or SIGINT.

    The file `heartbeat` is touched whenever the database has answered: its age says whether this one lives.
    """
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    storage = open_storage(settings.storage())
    storage.remove_abandoned()
    database = Database(settings.database(), pool_size=CHILDREN + 5)
    keeper = threading.Thread(target=Keeper(database, storage).run, args=(stop,), name="keeper", daemon=True)
    keeper.start()
    mailer = threading.Thread(target=Mailer(settings, database).run, args=(stop,), name="mailer", daemon=True)
    try:
        if settings.sends_mail():
            mailer.start()
        Sweeper(settings, database, heartbeat=heartbeat).run(stop)
        if settings.sends_mail():
            mailer.join(STOP_GRACE_SECONDS)
    finally:
        database.dispose()
