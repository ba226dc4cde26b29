"""Status of an installation for its administrators, shared by the page, the API and the command."""

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
from pydantic import SecretStr
from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy import ColumnElement, case, func, literal, select, text, union_all
from sqlalchemy.orm import Session

from grader import db
from grader.maintenance import doctor_checks
from grader.maintenance.doctor_checks import Finding
from grader.models import (
    Competition,
    DataFile,
    Delivery,
    JobState,
    Mail,
    OrganizerJob,
    ScoringJob,
    ScoringVersion,
    ScoringVersionState,
    Submission,
)
from grader.services import backup_runs, webhook_outbox
from grader.services.jobs.leased_rows import OPEN_STATES
from grader.services.mail import outbox
from grader.settings import PREFIX, Setting, Settings
from grader.supervisor import guardian, lock, valkey
from grader.worker import broker
from grader.worker.process import holders

SHOWN_JOBS = 20
PROGRAMS = {  # the part of a command line that identifies a program of the supervisor
    "gunicorn": "web",
    "rescorer@": "rescorer",
    "worker@": "worker",
    "sweeper": "sweeper",
    "valkey": "queue",
    "redis-server": "queue",
}
ANSWER_SECONDS = 0.5  # time that workers have to report what they do


@dataclass(frozen=True, slots=True)
class Queue:
    """The open and failed rows of a queue, and the time since which the oldest open one has waited."""

    name: str
    waiting: int
    running: int
    failed: int
    oldest_at: datetime | None


@dataclass(frozen=True, slots=True)
class Process:
    """A running process of the service: its current work, and when that work or the process started."""

    name: str
    work: str | None
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Job:
    """A claimed job, or one that failed or is being retried."""

    id: int
    work: str
    competition: str
    state: JobState
    attempts: int
    errors: int
    incident: str | None
    at: datetime | None
    holder: str | None


@dataclass(frozen=True, slots=True)
class Stored:
    """The number and the total size of stored files of one kind."""

    name: str
    count: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Status:
    """The status of an installation. It contains no scores, labels or secrets."""

    at: datetime
    queues: Sequence[Queue]
    processes: Sequence[Process]
    claimed: Sequence[Job]
    failing: Sequence[Job]
    stored: Sequence[Stored]
    backup_at: datetime | None
    versions: Mapping[str, str]
    settings: Sequence[Setting]
    findings: Sequence[Finding]


def read(settings: Settings, session: Session) -> Status:
    """Return the status of an installation; workers of other machines are asked over the broker."""
    now = db.now(session)
    claimed, failing = _jobs(session, now, timedelta(seconds=settings.scoring_lease_seconds))
    return Status(
        at=now,
        queues=[*_job_queues(session), *_outboxes(session, now)],
        processes=[*_local_processes(settings.data_dir), *_workers(settings)],
        claimed=claimed,
        failing=failing,
        stored=_stored(session),
        backup_at=backup_runs.last_success_at(session),
        versions={
            "Fairboard": version("fairboard"),
            **_database(session),
            "broker": _broker_version(settings),
        },
        settings=settings.given(),
        findings=list(_findings(settings, session)),
    )


def of_service(settings: Settings) -> Iterator[Finding]:
    """Report whether `fairboard serve` runs on the data folder."""
    served_by = lock.holder(settings.data_dir)
    yield doctor_checks.ok(
        "service",
        f"The data folder is served by {served_by}."
        if served_by
        else "`fairboard serve` is not running on this data folder.",
    )


def of_broker(settings: Settings) -> Iterator[Finding]:
    """Check that the broker responds."""
    url = _broker_url(settings)
    if url is None:
        yield doctor_checks.ok(
            "queue", "No broker is set: `serve` starts its own, and the sweeper needs none."
        )
        return
    hint = (
        f"Check that it is running and that {PREFIX}BROKER_URL is correct."
        if settings.broker_url is not None
        else f"{settings.data_dir / 'valkey' / 'valkey.log'} may contain the reason."
    )
    try:
        with Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2) as redis:
            redis.ping()
    except (RedisError, ValueError) as error:
        yield doctor_checks.warning(
            "queue",
            f"The broker does not respond ({error}). {hint} Until it does, only the sweeper scores "
            "submissions, with a delay of a few seconds.",
        )
    else:
        yield doctor_checks.ok("queue", "The broker responds.")


def _findings(settings: Settings, session: Session) -> Iterator[Finding]:
    """Run the checks of `fairboard doctor` that take milliseconds and write nothing."""
    yield from doctor_checks.of_settings(settings)
    yield from doctor_checks.of_disks(settings)
    yield from of_service(settings)
    yield from of_broker(settings)
    yield from doctor_checks.of_scoring(session)
    if settings.sends_mail():
        yield from doctor_checks.of_mail(session)


def _job_queues(session: Session) -> Iterator[Queue]:
    is_rescoring = ScoringVersion.state == ScoringVersionState.PREPARING
    kinds = (
        select(
            case((is_rescoring, "rescoring"), else_="scoring").label("kind"),
            *(ScoringJob.state, ScoringJob.created_at),
        )
        .join(ScoringVersion, ScoringVersion.id == ScoringJob.scoring_version_id)
        .where(
            ScoringJob.state.in_((*OPEN_STATES, JobState.FAILED)),
            ScoringVersion.state.in_((ScoringVersionState.LIVE, ScoringVersionState.PREPARING)),
        )
    )
    others = select(literal("organizers' jobs"), OrganizerJob.state, OrganizerJob.created_at).where(
        OrganizerJob.state.in_((*OPEN_STATES, JobState.FAILED)), OrganizerJob.dismissed_at.is_(None)
    )
    rows = union_all(kinds, others).subquery()
    counted = {
        (kind, state): (count, oldest)
        for kind, state, count, oldest in session.execute(
            select(rows.c.kind, rows.c.state, func.count(), func.min(rows.c.created_at)).group_by(
                rows.c.kind, rows.c.state
            )
        )
    }
    for kind in ("scoring", "rescoring", "organizers' jobs"):
        counts = {state: counted.get((kind, state), (0, None)) for state in (*OPEN_STATES, JobState.FAILED)}
        oldest = min(filter(None, (counts[state][1] for state in OPEN_STATES)), default=None)
        waiting, running, failed = (count for count, _ in counts.values())
        yield Queue(kind, waiting, running, failed, oldest)


def _outboxes(session: Session, now: datetime) -> Iterator[Queue]:
    for kind, queue, patience in (
        ("e-mails", Mail, outbox.GIVEN_UP_AFTER),
        ("webhook deliveries", Delivery, webhook_outbox.GIVEN_UP_AFTER),
    ):
        yield _outbox(session, kind, queue, now - patience)


def _outbox(session: Session, kind: str, queue: type[Mail] | type[Delivery], given_up: datetime) -> Queue:
    is_open = queue.created_at > given_up

    def count(condition: ColumnElement[bool]) -> ColumnElement[int]:
        return func.coalesce(func.sum(case((condition, 1), else_=0)), 0)

    row = session.execute(
        select(
            count(is_open & (queue.attempt_count == 0)),
            count(is_open & (queue.attempt_count > 0)),
            count(~is_open),
            func.min(case((is_open, queue.created_at))),
        ).where(queue.ended_at.is_(None))
    ).one()
    return Queue(kind, *row)


def _jobs(session: Session, now: datetime, lease: timedelta) -> tuple[list[Job], list[Job]]:
    """Return the claimed jobs and the newest jobs that failed or are being retried."""
    scoring = (
        select(ScoringJob, Competition.slug)
        .join(ScoringVersion, ScoringVersion.id == ScoringJob.scoring_version_id)
        .join(Competition, Competition.id == ScoringVersion.competition_id)
    )
    others = select(OrganizerJob, Competition.slug).join(
        Competition, Competition.id == OrganizerJob.competition_id
    )
    claimed: list[Job] = []
    failing: list[Job] = []
    for query, queue in ((scoring, ScoringJob), (others, OrganizerJob)):
        is_claimed = (queue.state == JobState.CLAIMED) & (queue.lease_until > now)
        is_failing = (queue.state == JobState.FAILED) | (
            queue.state.in_(OPEN_STATES) & (queue.attempt_count > 1)
        )
        for found, condition in ((claimed, is_claimed), (failing, is_failing)):
            rows = session.execute(query.where(condition).order_by(queue.id.desc()).limit(SHOWN_JOBS))
            found += [_job(job, slug, lease) for job, slug in rows]
    return claimed, failing


def _job(job: ScoringJob | OrganizerJob, slug: str, lease: timedelta) -> Job:
    at = job.finished_at or job.available_at
    if isinstance(job, ScoringJob):
        kind = f"submission {job.submission_id}"
        if job.state is JobState.CLAIMED and job.lease_until is not None:
            at = job.lease_until - lease
    else:
        kind = str(job.kind)
        if job.state is JobState.CLAIMED and job.holder:  # each of these jobs has its own process
            at = datetime.fromtimestamp(float(job.holder.rsplit("/", 1)[1]), UTC)
    return Job(
        *(job.id, kind, slug, job.state, job.attempt_count, job.error_count, job.incident, at),
        holder=_named(job.holder) if job.state is JobState.CLAIMED and job.holder else None,
    )


def _named(holder: str) -> str:
    machine, pid, _ = holder.rsplit("/", 2)
    where = "" if machine == holders.machine() else " on another machine"
    return f"process {pid}{where}{' (ended)' if not where and holders.is_gone(holder) else ''}"


def _stored(session: Session) -> list[Stored]:
    kept = select(
        literal("submissions"), func.count(), func.coalesce(func.sum(Submission.size_bytes), 0)
    ).where(Submission.file_deleted_at.is_(None))
    files = select(literal("data files"), func.count(), func.coalesce(func.sum(DataFile.size_bytes), 0))
    return [Stored(kind, count, int(size)) for kind, count, size in session.execute(union_all(kept, files))]


def _database(session: Session) -> dict[str, str]:
    """Return the versions of the schema and of the database."""
    schema = session.scalar(text("SELECT version_num FROM alembic_version")) or "none"
    is_sqlite = session.get_bind().dialect.name == "sqlite"
    found = sqlite3.sqlite_version if is_sqlite else session.scalar(text("SHOW server_version"))
    return {"schema": schema, "database": f"{'SQLite' if is_sqlite else 'PostgreSQL'} {found}"}


def _broker_url(settings: Settings) -> str | None:
    if settings.broker_url is not None:
        return settings.broker_url.get_secret_value().replace("redis+socket://", "unix://", 1)
    if lock.holder(settings.data_dir):
        return f"unix://{valkey.socket_path(settings.data_dir.resolve())}"
    return None


def _broker_version(settings: Settings) -> str:
    if url := _broker_url(settings):
        with suppress(RedisError, ValueError), Redis.from_url(url, socket_timeout=1) as redis:
            found = redis.info("server")
            return (
                f"{found.get('server_name', 'redis')} {found.get('valkey_version', found['redis_version'])}"
            )
    return "none"


def _local_processes(data_dir: Path) -> Iterator[Process]:
    """Yield the processes that the supervisor of this machine has started."""
    for process in guardian.find(data_dir):
        with suppress(psutil.Error, ProcessLookupError):
            if (name := _program(process.cmdline())) and os.getsid(process.pid) == process.pid:
                since = datetime.fromtimestamp(process.create_time(), UTC)
                yield Process(f"{name} (process {process.pid})", None, since)


def _program(command: Sequence[str]) -> str | None:
    for part in PROGRAMS:
        if any(part in argument for argument in command):
            return PROGRAMS[part]
    return None


def _workers(settings: Settings) -> Iterator[Process]:
    """Yield a row for each task of the workers that respond over the broker, or one for an idle worker."""
    if (url := _broker_url(settings)) is None:
        return
    reachable = settings.model_copy(
        update={"broker_url": SecretStr(url.replace("unix://", "redis+socket://", 1))}
    )
    app = broker.impatient_app(reachable)
    with suppress(Exception):  # a broker that does not respond is reported as a finding
        told: Mapping[str, Sequence[Any]] = app.control.inspect(timeout=ANSWER_SECONDS).active() or {}
        for name, tasks in told.items():
            if not tasks:
                yield Process(name, None, None)
            for task in tasks:
                work = f"{task['name'].removeprefix('fairboard.')} {task['args'][0]}"
                yield Process(name, work, datetime.fromtimestamp(task["time_start"], UTC))
