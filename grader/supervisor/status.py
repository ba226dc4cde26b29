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
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry
from sqlalchemy import false, select, text
from sqlalchemy.orm import Session

from grader import db
from grader.maintenance import doctor_checks
from grader.maintenance.doctor_checks import DoctorFinding
from grader.models import Competition, JobState, OrganizerJob, ScoringJob, ScoringVersion
from grader.services import backup_runs, monitoring
from grader.services.monitoring import IS_LIVE, IS_RESCORING, IS_SHOWN, SHOWN_STATES, Queue, Stored
from grader.services.scoring import jobs as scoring_jobs
from grader.settings import PREFIX, Settings, SettingSource
from grader.supervisor import guardian, lock, valkey
from grader.worker import broker
from grader.worker.process import holders

SHOWN_JOBS = 20
NO_BROKER = "none"
PROGRAMS = {  # the start of the word of a command line that identifies a program of the supervisor
    "gunicorn": "web",
    "worker@": "worker",
    "sweeper": "sweeper",
    "metrics": "metrics",
    "valkey-server": "queue",
    "redis-server": "queue",
}
ANSWER_SECONDS = 0.5  # time that workers have to report what they do
BROKER_TIMEOUTS = {"socket_timeout": 2, "socket_connect_timeout": 2}


@dataclass(frozen=True, slots=True)
class Process:
    """A running process of the service: its current work, and when that work or the process started."""

    name: str
    work: str | None
    since: datetime | None


@dataclass(frozen=True, slots=True)
class JobLine:
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
class Status:
    """The status of an installation. It contains no scores, labels or secrets."""

    at: datetime
    queues: Sequence[Queue]
    processes: Sequence[Process]
    claimed: Sequence[JobLine]
    failing: Sequence[JobLine]
    stored: Sequence[Stored]
    backup_at: datetime | None
    versions: Mapping[str, str]
    settings: Sequence[SettingSource]
    findings: Sequence[DoctorFinding]


def read(settings: Settings, session: Session) -> Status:
    """Return the status of an installation; workers of other machines are asked over the broker."""
    now = db.now(session)
    claimed, failing = _jobs(session, now, timedelta(seconds=settings.scoring_lease_seconds))
    broker_finding, broker_version = _broker(settings)
    return Status(
        at=now,
        queues=monitoring.queues(session, now=now),
        processes=[*_local_processes(settings.data_dir), *_workers(settings, broker_version)],
        claimed=claimed,
        failing=failing,
        stored=monitoring.stored(session),
        backup_at=backup_runs.last_success_at(session),
        versions={"Fairboard": version("fairboard"), **_database(session), "broker": broker_version},
        settings=settings.given(),
        findings=[*_findings(settings, session), broker_finding],
    )


def of_service(settings: Settings) -> Iterator[DoctorFinding]:
    """Report whether `fairboard serve` runs on the data folder."""
    served_by = lock.holder(settings.data_dir)
    yield doctor_checks.ok(
        "service",
        f"The data folder is served by {served_by}."
        if served_by
        else "`fairboard serve` is not running on this data folder.",
    )


def of_broker(settings: Settings) -> Iterator[DoctorFinding]:
    """Check that the broker responds."""
    yield _broker(settings)[0]


def _broker(settings: Settings) -> tuple[DoctorFinding, str]:
    """Return whether the broker responds, and its version."""
    url = _broker_url(settings)
    if url is None:
        message = "No broker is set: `serve` starts its own, and the sweeper needs none."
        return doctor_checks.ok("queue", message), NO_BROKER
    try:
        with Redis.from_url(url, retry=Retry(NoBackoff(), 0), **BROKER_TIMEOUTS) as redis:
            found = redis.info("server")
    except (RedisError, ValueError) as error:
        hint = (
            f"Check that it is running and that {PREFIX}BROKER_URL is correct."
            if settings.broker_url is not None
            else f"{settings.data_dir / 'valkey' / 'valkey.log'} may contain the reason."
        )
        problem = doctor_checks.warning(
            "queue",
            f"The broker does not respond ({error}). {hint} Until it does, only the sweeper scores "
            "submissions, with a delay of a few seconds.",
        )
        return problem, NO_BROKER
    shown = f"{found.get('server_name', 'redis')} {found.get('valkey_version', found['redis_version'])}"
    return doctor_checks.ok("queue", "The broker responds."), shown


def _findings(settings: Settings, session: Session) -> Iterator[DoctorFinding]:
    """Run the checks of `fairboard doctor` that take milliseconds and write nothing."""
    yield from doctor_checks.of_settings(settings)
    yield from doctor_checks.of_disks(settings)
    yield from doctor_checks.of_sandbox(settings)
    yield from of_service(settings)
    yield from doctor_checks.of_scoring(session)
    yield from doctor_checks.of_backups(settings, session)
    if settings.sends_mail():
        yield from doctor_checks.of_mail(session)


def _jobs(session: Session, now: datetime, lease: timedelta) -> tuple[list[JobLine], list[JobLine]]:
    """Return the claimed jobs and the newest jobs that failed or are being retried."""
    scoring = (
        select(ScoringJob, Competition.slug, scoring_jobs.IS_PYTHON)
        .join(ScoringVersion, ScoringVersion.id == ScoringJob.scoring_version_id)
        .join(Competition, Competition.id == ScoringVersion.competition_id)
        .where(IS_LIVE | IS_RESCORING)
    )
    others = (
        select(OrganizerJob, Competition.slug, false())
        .join(Competition, Competition.id == OrganizerJob.competition_id)
        .where(IS_SHOWN)
    )
    claimed: list[JobLine] = []
    failing: list[JobLine] = []
    for query, queue in ((scoring, ScoringJob), (others, OrganizerJob)):
        is_claimed = (queue.state == JobState.CLAIMED) & (queue.lease_until > now)
        # The first condition lets the database use its index of states.
        is_failing = queue.state.in_(SHOWN_STATES) & (
            (queue.state == JobState.FAILED) | (queue.attempt_count > 1)
        )
        for found, condition in ((claimed, is_claimed), (failing, is_failing)):
            rows = session.execute(query.where(condition).order_by(queue.id.desc()).limit(SHOWN_JOBS))
            found += [
                _job(job, slug, scoring_jobs.lease(lease, is_python=is_python))
                for job, slug, is_python in rows
            ]
    return claimed, failing


def _job(job: ScoringJob | OrganizerJob, slug: str, lease: timedelta) -> JobLine:
    at = job.finished_at or job.available_at
    if isinstance(job, ScoringJob):
        kind = f"submission {job.submission_id}"
        if job.state is JobState.CLAIMED and job.lease_until is not None:
            at = job.lease_until - lease
    else:
        kind = str(job.kind)
        if job.state is JobState.CLAIMED and job.holder:  # each of these jobs has its own process
            at = datetime.fromtimestamp(float(job.holder.rsplit("/", 1)[1]), UTC)
    return JobLine(
        *(job.id, kind, slug, job.state, job.attempt_count, job.error_count, job.incident, at),
        holder=_named(job.holder) if job.state is JobState.CLAIMED and job.holder else None,
    )


def _named(holder: str) -> str:
    machine, pid, _ = holder.rsplit("/", 2)
    where = "" if machine == holders.machine() else " on another machine"
    return f"process {pid}{where}{' (ended)' if not where and holders.is_gone(holder) else ''}"


def _database(session: Session) -> dict[str, str]:
    """Return the versions of the schema and of the database."""
    schema = session.scalar(text("SELECT version_num FROM alembic_version")) or "none"
    is_sqlite = session.get_bind().dialect.name == "sqlite"
    found = sqlite3.sqlite_version if is_sqlite else session.scalar(text("SHOW server_version"))
    return {"schema": schema, "database": f"{'SQLite' if is_sqlite else 'PostgreSQL'} {found}"}


def _broker_url(settings: Settings) -> str | None:
    if settings.broker_url is None and lock.holder(settings.data_dir):
        return f"unix://{(settings.data_dir / valkey.LINK).resolve()}"
    return settings.redis_url()


def _local_processes(data_dir: Path) -> Iterator[Process]:
    """Yield the processes that the supervisor of this machine has started."""
    for process in guardian.find(data_dir):
        with suppress(psutil.Error, ProcessLookupError):
            if (name := _program(process.cmdline())) and os.getsid(process.pid) == process.pid:
                since = datetime.fromtimestamp(process.create_time(), UTC)
                yield Process(f"{name} (process {process.pid})", None, since)


def _program(command: Sequence[str]) -> str | None:
    words = [word.rpartition("/")[2] for argument in command for word in argument.split()]
    return next((PROGRAMS[start] for start in PROGRAMS for word in words if word.startswith(start)), None)


def _workers(settings: Settings, broker_version: str) -> Iterator[Process]:
    """Yield a row for each task of the workers that respond over the broker, or one for an idle worker."""
    if (url := _broker_url(settings)) is None or broker_version == NO_BROKER:
        return
    reachable = settings.model_copy(
        update={"broker_url": SecretStr(url.replace("unix://", "redis+socket://", 1))}
    )
    with broker.impatient_app(reachable) as app, suppress(Exception):  # the broker may stop in the meantime
        told: Mapping[str, Sequence[Any]] = app.control.inspect(timeout=ANSWER_SECONDS).active() or {}
        for name, tasks in told.items():
            if not tasks:
                yield Process(name, None, None)
            for task in tasks:
                work = f"{task['name'].removeprefix('fairboard.')} {task['args'][0]}"
                yield Process(name, work, datetime.fromtimestamp(task["time_start"], UTC))
