"""Sweeper lanes: their schedules and the functions of their forked processes."""

import logging
import signal
import smtplib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import Any

from sqlalchemy import ColumnElement, exists, null, or_, true
from sqlalchemy.orm import Session

from grader import db
from grader.db import Database
from grader.models import Announcement, Competition
from grader.services.closing import close
from grader.services.leaderboards import standard_errors
from grader.services.site import backup_runs, organizer_jobs, outbox
from grader.services.solutions import data_checks
from grader.services.submissions import scoring_jobs as jobs
from grader.services.submissions import scoring_queue
from grader.services.submissions.scoring_jobs import PYTHON_SECONDS
from grader.settings import Settings
from grader.storage.stores import Storage, open_storage
from grader.worker import python_turns
from grader.worker.processes import end_process_after, keep_freed_memory, limit_memory
from grader.worker.python_turns import PythonTurns
from grader.worker.retrying import log_error
from grader.worker.scheduled_tasks import check_storage, forget_records, forget_uploads, run_calendar
from grader.worker.scorer import Scorer

TURN_SECONDS = 20.0
ORGANIZERS_LIMIT_SECONDS = 1800
NICENESS = 10
_UNFORMATTED = [
    exists().where(table.formatted.is_(null())).select_from(table) for table in (Competition, Announcement)
]

logger = logging.getLogger(__name__)


class Turn:
    """A lane's turn in its own process; it handles rows until none is due or its time is over."""

    is_stopped = False

    def __init__(self, settings: Settings, subject: Any = None) -> None:
        self.settings, self.subject = settings, subject
        self._end = time.monotonic() + TURN_SECONDS

    @cached_property
    def database(self) -> Database:
        """A database with connections of this process; a second one extends leases."""
        return Database(self.settings.database(), pool_size=2)

    @cached_property
    def storage(self) -> Storage:
        """The storage."""
        return open_storage(self.settings.storage())

    def is_over(self) -> bool:
        """Return whether the turn must end."""
        return self.is_stopped or time.monotonic() > self._end

    def scorer(self) -> Scorer:
        """Return a scorer, after limiting the memory of this process."""
        limit_memory(self.settings.scoring_memory_mb)
        keep_freed_memory()
        return Scorer.of(self.settings)

    def next(self, read: Callable[..., Any], **options: Any) -> Any:
        """Return the current result of `read`."""
        with self.database.read() as session:
            return read(session, now=db.now(session), **options)


@dataclass(frozen=True)
class Lane:
    """Work of one kind, done in turns by forked processes.

    `run` returns whether there may be more work. `is_due` is a condition for the statement that all lanes
    share. If it is met, `take` returns the subject of a turn, which is not `busy`, or nothing. `end` gets the
    subject with the exit code of its turn.
    """

    name: str
    run: Callable[[Turn], int | None]
    is_due: Callable[[datetime], ColumnElement[bool]]
    every_seconds: float = 1.0
    first_after_seconds: float = 0.0
    at_once: int = 1
    niceness: int = 0
    take: Callable[..., Any] = lambda *_, busy: True  # noqa: ARG005
    end: Callable[[Any, int], None] = lambda *_: None


def all_lanes(settings: Settings) -> list[Lane]:
    """Return the lanes of an installation."""
    pause, turns = settings.sweep_interval_seconds(), PythonTurns()
    patience = timedelta(seconds=settings.sweep_after_seconds)
    soon = min(1.0, pause)

    def organizers(name: str, niceness: int = 0) -> Lane:
        is_due = partial(organizer_jobs.are_waiting, lane=name)
        next_job = partial(organizer_jobs.waiting, lane=name)
        return Lane(name, lambda turn: organize(turn, turn.next(next_job)), is_due, soon, niceness=niceness)

    lanes = [
        Lane("live", score_overdue, partial(jobs.are_waiting, older_than=patience), pause, at_once=2),
        Lane(
            "python",
            score_python,
            python_turns.are_waiting,
            soon,
            at_once=python_turns.AT_ONCE,
            take=turns.take,
            end=turns.end,
        ),
        Lane("rescoring", rescore, jobs.are_unattended, soon, niceness=NICENESS),
        organizers("checks"),
        organizers("organizers"),
        organizers("statistics", NICENESS),
        Lane("calendar", lambda turn: run_calendar(turn.database), _always, pause, take=_has_due_dates),
        Lane("texts", format_texts, lambda _: or_(*_UNFORMATTED), pause),
        Lane("requests", request_due, _always, 15),
        Lane("records", keep_records, _always, 300),
        # Frequent restarts must not list the storage each time.
        Lane("storage", lambda turn: check_storage(turn.database, turn.storage), _always, 24 * 3600, 600),
    ]
    if settings.sends_mail():
        lanes.append(Lane("mail", send_mail, outbox.are_waiting, pause))
    if target := settings.backup_target:
        options: Any = {"target": target, "interval": settings.backup_interval()}
        # A backup must not slow down the start of the service.
        lanes.append(
            Lane(
                "backup",
                back_up,
                _always,
                60,
                10,
                take=lambda session, now, **_: backup_runs.is_due(session, now=now, **options),
            )
        )
    return lanes


def score_overdue(turn: Turn) -> int:
    """Score jobs that no worker has claimed."""
    scorer, has_scored = turn.scorer(), False
    patience = timedelta(seconds=turn.settings.sweep_after_seconds)
    while not turn.is_over() and (overdue := turn.next(jobs.waiting, older_than=patience, limit=1)):
        end_process_after(turn.settings.scoring_time_limit_seconds)
        has_scored |= scorer.run(overdue[0], is_python=False)
    return int(has_scored)


def score_python(turn: Turn) -> int:
    """Score some files of a competition, or run the next check of a user; return `SLOW` or their number."""
    kind, subject_id = turn.subject
    start, allowed = time.monotonic(), python_turns.SLOW_SECONDS + python_turns.START_SECONDS
    if kind == "user":
        code = organize(turn, turn.next(organizer_jobs.next_check, user_id=subject_id or None))
        return python_turns.SLOW if time.monotonic() - start > allowed else code
    scorer, count = turn.scorer(), 0
    while not turn.is_over() and (job_id := turn.next(python_turns.next_job, competition_id=subject_id)):
        start = time.monotonic()
        end_process_after(turn.settings.scoring_time_limit_seconds + PYTHON_SECONDS)
        if not scorer.run(job_id, is_python=True):
            break
        if time.monotonic() - start > allowed:
            return python_turns.SLOW
        count, allowed = count + 1, python_turns.SLOW_SECONDS
    return min(count, python_turns.SLOW - 1)


def rescore(turn: Turn) -> int:
    """Request a batch from the workers; if an earlier request is waiting, score batches in this process."""
    from grader.worker import broker  # would take 15 MB of an idle sweeper

    if turn.settings.broker_url is not None:
        try:
            if broker.ask_for_batch(broker.impatient_app(turn.settings)):
                return 0
        except Exception as error:
            logger.warning("The broker did not accept a message (%s); the batch is scored here.", error)
    scorer = turn.scorer()
    while not turn.is_over():
        end_process_after(turn.settings.scoring_time_limit_seconds + 1)
        if not scorer.run_batch():
            return 0
    return 1


def organize(turn: Turn, job_id: int | None) -> int:
    """Run a job of organizers, if there is one; its memory is freed with this process."""
    from grader.worker.organizer_jobs.worker import run_job  # slow

    if job_id is None:
        return 0
    limit_memory(turn.settings.scoring_memory_mb)
    end_process_after(ORGANIZERS_LIMIT_SECONDS)
    return int(run_job(turn.settings, turn.database, turn.storage, job_id))


def request_due(turn: Turn) -> None:
    """Retry failed jobs, and request standard errors and checks of data files."""
    for change in (scoring_queue.retry_failed, standard_errors.request_due, data_checks.request_due):
        try:
            with turn.database.write() as session:
                change(session, now=db.now(session))
        except Exception as error:
            log_error(error, "Due jobs could not be requested")


def _always(_: datetime) -> ColumnElement[bool]:
    return true()


def _has_due_dates(session: Session, now: datetime, **_: object) -> bool:
    return bool(close.unsettled(session, now=now) or close.due(session, now=now))


def format_texts(turn: Turn) -> None:
    """Format the texts without stored HTML."""
    from grader.worker.formatting import format_waiting

    format_waiting(turn.database)


def keep_records(turn: Turn) -> None:
    """Delete expired records and files."""
    from grader.services.submissions import rejected_files

    forget_records(turn.database)
    rejected_files.delete(turn.database, turn.storage)
    forget_uploads(turn.database, turn.storage)


def send_mail(turn: Turn) -> int:
    """Send waiting e-mails."""
    from grader.worker.mailer import Mailer

    try:
        return int(bool(Mailer(turn.settings, turn.database).send_waiting(turn.is_over)))
    except (OSError, smtplib.SMTPException) as error:
        logger.warning("The mail server %s: %s", turn.settings.smtp_host, error)
        return 0


def back_up(turn: Turn) -> None:
    """Make a scheduled backup unless another process is making one; a stop interrupts it."""
    from grader.maintenance import backups  # slow

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        backups.run(turn.settings, turn.database, turn.storage, target=turn.settings.backup_target or "")
    except backup_runs.BackupInProgress as error:
        logger.info("No backup was made. %s", error.message)
