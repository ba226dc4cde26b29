"""The lanes of the sweeper: when each is due, and what its forked process does."""

import logging
import smtplib
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import Any

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from grader import db
from grader.db import Database
from grader.services.site import backup_runs, organizer_jobs, outbox
from grader.services.submissions import scoring_jobs as jobs
from grader.services.submissions.scoring_jobs import PYTHON_SECONDS
from grader.settings import Settings
from grader.storage.stores import Storage, open_storage
from grader.worker import python_turns, scheduled_tasks
from grader.worker.process.limits import end_process_after, keep_freed_memory, limit_memory
from grader.worker.python_turns import PythonTurns
from grader.worker.scorer import Scorer

TURN_SECONDS = 60.0
PYTHON_TURN_SECONDS = 10.0
ORGANIZERS_LIMIT_SECONDS = 1800
OVERDUE_AT_ONCE = 4  # jobs whose ids a turn reads together, because another turn takes some of them
NICENESS = 10

logger = logging.getLogger(__name__)


class Turn:
    """A turn of a lane in a process of its own; it takes rows until none is due or its time is over."""

    is_stopped = False

    def __init__(self, settings: Settings, subject: Any = None) -> None:
        self.settings, self.subject = settings, subject
        self._end = time.monotonic() + TURN_SECONDS

    @cached_property
    def database(self) -> Database:
        """A database with connections of this process; a second one extends leases."""
        return Database.of(self.settings, pool_size=2)

    @cached_property
    def storage(self) -> Storage:
        """The storage."""
        return open_storage(self.settings.storage())

    def is_over(self) -> bool:
        """Return whether no further row should be taken."""
        return self.is_stopped or time.monotonic() > self._end

    def scorer(self) -> Scorer:
        """Return a scorer, after limiting the memory of this process."""
        limit_memory(self.settings.scoring_memory_mb)
        keep_freed_memory()
        return Scorer.of(self.settings)

    def organizers(self) -> Any:
        """Return a worker for organizers' jobs, after limiting the memory and time of this process."""
        from grader.worker.organizer_jobs.worker import OrganizerWorker  # slow

        limit_memory(self.settings.scoring_memory_mb)
        keep_freed_memory()
        end_process_after(ORGANIZERS_LIMIT_SECONDS)
        return OrganizerWorker(self.settings, self.database, self.storage)

    def next(self, read: Callable[..., Any], **options: Any) -> Any:
        """Return what `read` finds now."""
        with self.database.read() as session:
            return read(session, now=db.now(session), **options)


@dataclass(frozen=True)
class Lane:
    """Work of one kind, done in turns by forked processes.

    `run` returns whether there may be more work. `is_due` is a condition of one statement for all lanes, or a
    value. Some lanes have subjects: `take` chooses one, and `end` is called with the exit code of its turn.
    """

    name: str
    run: Callable[[Turn], int]
    is_due: Callable[[Session, datetime], ColumnElement[bool] | bool]
    every_seconds: float = 1.0
    first_after_seconds: float = 0.0
    at_once: int = 1
    niceness: int = 0
    take: Callable[[Session, datetime], Any] = lambda *_: True
    end: Callable[[Any, int], None] = lambda *_: None


def all_lanes(settings: Settings) -> list[Lane]:
    """Return the lanes of an installation."""
    pause, turns = settings.sweep_interval_seconds(), PythonTurns()
    patience = timedelta(seconds=settings.sweep_after_seconds)
    soon = min(1.0, pause)

    def python(name: str, *, with_slow: bool) -> Lane:
        take = partial(turns.take, with_slow=with_slow)
        are_waiting = lambda _, now: python_turns.are_waiting(now)  # noqa: E731
        return Lane(name, score_python, are_waiting, soon, take=take, end=turns.end)

    def organizers(name: str, niceness: int = 0) -> Lane:
        run, is_due = partial(organize, name), lambda _, now: organizer_jobs.are_waiting(now, lane=name)
        return Lane(name, run, is_due, soon, niceness=niceness)

    lanes = [
        Lane("live", score_overdue, lambda _, now: jobs.are_waiting(now, patience), pause, at_once=2),
        python("python", with_slow=True),
        python("python-fast", with_slow=False),
        Lane("rescoring", rescore, lambda _, now: jobs.are_unattended(now), soon, niceness=NICENESS),
        organizers("checks"),
        organizers("organizers"),
        organizers("statistics", NICENESS),
        Lane("calendar", keep_calendar, scheduled_tasks.calendar_is_due, pause),
        Lane("solutions", keep_solutions, scheduled_tasks.solutions_are_due, 15),
        Lane("records", keep_records, lambda *_: True, 300),
        # Frequent restarts must not list the storage each time.
        Lane("storage", keep_storage, lambda *_: True, 24 * 3600, 600),
    ]
    if settings.sends_mail():
        lanes.append(
            Lane("mail", send_mail, lambda session, now: outbox.something_waits(session, now=now), pause)
        )
    if settings.backup_target:
        # A backup must not slow down the start of the service.
        lanes.append(Lane("backup", back_up, partial(_backup_is_due, settings), 60, 10))
    return lanes


def score_overdue(turn: Turn) -> int:
    """Score jobs that no worker has taken."""
    scorer, count = turn.scorer(), 0
    patience = timedelta(seconds=turn.settings.sweep_after_seconds)
    while not turn.is_over():
        found = turn.next(jobs.waiting, older_than=patience, limit=OVERDUE_AT_ONCE)
        for job_id in found:
            if turn.is_over():
                break
            end_process_after(turn.settings.scoring_time_limit_seconds)
            count += scorer.run(job_id, is_python=False)
        if not found:
            break
    return min(count, 1)


def score_python(turn: Turn) -> int:
    """Score some files of a competition, or run the next check of a user; return whether it was slow."""
    kind, subject_id = turn.subject
    start, end = time.monotonic(), time.monotonic() + PYTHON_TURN_SECONDS
    allowed = python_turns.SLOW_SECONDS + python_turns.START_SECONDS
    if kind == "user":
        job_id = turn.next(organizer_jobs.next_check, user_id=subject_id or None)
        done = job_id is not None and turn.organizers().run(job_id)
        return python_turns.SLOW if time.monotonic() - start > allowed else int(done)
    scorer, count = turn.scorer(), 0
    while not turn.is_over() and time.monotonic() < end:
        job_id = turn.next(python_turns.next_job, competition_id=subject_id)
        if job_id is None:
            break
        start = time.monotonic()
        end_process_after(turn.settings.scoring_time_limit_seconds + PYTHON_SECONDS)
        if not scorer.run(job_id, is_python=True):
            break
        if time.monotonic() - start > allowed:
            return python_turns.SLOW
        count, allowed = count + 1, python_turns.SLOW_SECONDS
    return min(count, python_turns.SLOW - 1)


def rescore(turn: Turn) -> int:
    """Ask the workers for a batch; if they have done nothing for some time, score batches here."""
    from grader.worker import broker  # would take 15 MB of an idle sweeper

    patience = timedelta(seconds=turn.settings.sweep_after_seconds)
    if turn.settings.broker_url is not None and not turn.next(jobs.are_forgotten, since=patience):
        try:
            broker.ask_for_batch(broker.impatient_app(turn.settings))
        except Exception as error:
            logger.warning("The broker did not accept a message (%s); the batch is scored here.", error)
        else:
            return 0
    scorer = turn.scorer()
    while not turn.is_over():
        end_process_after(turn.settings.scoring_time_limit_seconds + 1)
        if not scorer.run_batch():
            return 0
    return 1


def organize(lane: str, turn: Turn) -> int:
    """Run the next job of organizers; its memory is freed with this process."""
    job_id = turn.next(organizer_jobs.waiting, lane=lane)
    return int(job_id is not None and turn.organizers().run(job_id))


def keep_calendar(turn: Turn) -> int:
    """Settle and reveal competitions, retry failed submissions, and format the texts without HTML."""
    from grader.worker.formatting import format_waiting

    scheduled_tasks.run_calendar(turn.database)
    format_waiting(turn.database)
    return 0


def keep_solutions(turn: Turn) -> int:
    """Request missing standard errors and checks of data files, and write missing commitments."""
    scheduled_tasks.request_errors(turn.database)
    scheduled_tasks.complete_solutions(turn.database, turn.storage)
    return 0


def keep_records(turn: Turn) -> int:
    """Delete expired records and files; after a restore, write the files of published solutions."""
    from grader.services.submissions import rejected_files
    from grader.worker.organizer_jobs import closing

    while scheduled_tasks.forget_records(turn.database) and not turn.is_over():
        pass
    rejected_files.delete(turn.database, turn.storage)
    scheduled_tasks.forget_uploads(turn.database, turn.storage)
    closing.write_missing_files(turn.database, turn.storage)
    return 0


def keep_storage(turn: Turn) -> int:
    """Compare the storage with the database."""
    scheduled_tasks.check_storage(turn.database, turn.storage)
    return 0


def send_mail(turn: Turn) -> int:
    """Send the e-mails that wait."""
    from grader.worker.mailer import Mailer

    try:
        return int(bool(Mailer(turn.settings, turn.database).send_waiting(turn.is_over)))
    except (OSError, smtplib.SMTPException) as error:
        logger.warning("The mail server %s: %s", turn.settings.smtp_host, error)
        return 0


def back_up(turn: Turn) -> int:
    """Make a scheduled backup."""
    from grader.maintenance import backups  # slow

    backups.run_if_due(turn.settings, turn.database, turn.storage, is_stopped=lambda: turn.is_stopped)
    return 0


def _backup_is_due(settings: Settings, session: Session, now: datetime) -> bool:
    interval = timedelta(hours=settings.backup_interval_hours)
    return backup_runs.is_due(session, target=settings.backup_target or "", interval=interval, now=now)
