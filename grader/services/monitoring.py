"""State of the site for the metrics: queues, submissions, rescorings, e-mail and webhooks, as counts only."""

import enum
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Select, func, literal, or_, select
from sqlalchemy.orm import Session

from grader.models import (
    Competition,
    CompetitionState,
    Delivery,
    JobState,
    Mail,
    OrganizerJob,
    OrganizerJobKind,
    ScoringJob,
    ScoringVersion,
    ScoringVersionState,
    Submission,
    SubmissionStatus,
    Webhook,
)
from grader.services import webhook_outbox
from grader.services.jobs.leased_rows import OPEN_STATES
from grader.services.mail import outbox

SCORING, RESCORING = "scoring", "rescoring"
KINDS: tuple[str, ...] = (SCORING, RESCORING, *(kind.value for kind in OrganizerJobKind))


@dataclass(frozen=True, slots=True)
class Reading:
    """The current values of one gauge by the values of its labels."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    values: Mapping[Any, float] = field(default_factory=dict)


def read(session: Session, *, now: datetime) -> list[Reading]:
    """Return all gauges that are read from the database."""
    return [
        _counted(session, "fairboard_submissions", Submission.status, SubmissionStatus),
        _counted(session, "fairboard_competitions", Competition.state, CompetitionState),
        *_jobs(session, now),
        *_outboxes(session, now),
        _webhooks(session),
    ]


def _counted(session: Session, name: str, column: Any, states: type[enum.StrEnum]) -> Reading:
    counts: dict[Any, int] = defaultdict(int)
    for state, count in session.execute(select(column, func.count()).group_by(column)):
        counts[state] = count
    values = {(state.value,): counts[state] for state in states}
    return Reading(name, f"{column.class_.__name__}s by {column.key}.", (column.key,), values)


def _jobs(session: Session, now: datetime) -> list[Reading]:
    """Return the open jobs by kind, all jobs of rescorings, and the failed jobs of organizers."""
    counts = {(kind, state.value): 0 for kind in KINDS for state in OPEN_STATES}
    counts[RESCORING, JobState.DONE.value] = 0
    oldest: dict[str, datetime] = {}
    is_rescoring = ScoringVersion.state == ScoringVersionState.PREPARING
    is_open, is_failed = ScoringJob.state.in_(OPEN_STATES), OrganizerJob.state == JobState.FAILED
    is_shown = or_(OrganizerJob.state.in_(OPEN_STATES), is_failed), OrganizerJob.dismissed_at.is_(None)
    of_scoring = _job_counts(ScoringJob, literal(SCORING)).join(ScoringVersion).where(is_open, ~is_rescoring)
    of_rescoring = _job_counts(ScoringJob, literal(RESCORING)).join(ScoringVersion).where(is_rescoring)
    of_organizers = _job_counts(OrganizerJob, OrganizerJob.kind).where(*is_shown).group_by(OrganizerJob.kind)
    for query in (of_scoring, of_rescoring, of_organizers):
        for kind, state, count, since in session.execute(query):
            counts[kind, state.value] = count
            if state in OPEN_STATES:
                oldest[kind] = min(since, oldest.get(kind, since))
    ages = {(kind,): _age(oldest.get(kind), now) for kind in KINDS}
    return [
        Reading("fairboard_jobs", "Jobs by kind and state.", ("kind", "state"), counts),
        Reading("fairboard_oldest_job_seconds", "Age of the oldest open job, or 0.", ("kind",), ages),
    ]


def _job_counts(table: type[ScoringJob] | type[OrganizerJob], kind: Any) -> Select[Any]:
    return select(kind, table.state, func.count(), func.min(table.created_at)).group_by(table.state)


def _outboxes(session: Session, now: datetime) -> list[Reading]:
    counts, ages = {}, {}
    tables: tuple[tuple[str, Any, timedelta], ...] = (
        ("mail", Mail, outbox.GIVEN_UP_AFTER),
        ("webhooks", Delivery, webhook_outbox.GIVEN_UP_AFTER),
    )
    for name, table, patience in tables:
        retried = func.count().filter(table.attempt_count > 1)
        query = select(func.count(), retried, func.min(table.created_at))
        query = query.where(table.ended_at.is_(None), table.created_at > now - patience)
        counts[name, "waiting"], counts[name, "retried"], since = session.execute(query).one()
        ages[name,] = _age(since, now)
    return [
        Reading("fairboard_outbox", "Undelivered messages by state.", ("outbox", "state"), counts),
        Reading("fairboard_outbox_oldest_seconds", "Age of the oldest one, or 0.", ("outbox",), ages),
    ]


def _webhooks(session: Session) -> Reading:
    is_off, is_failing = Webhook.off_at.is_not(None), Webhook.failing_since.is_not(None)
    found = session.execute(select(is_off, is_failing, func.count()).group_by(is_off, is_failing))
    values = dict.fromkeys([("on",), ("failing",), ("off",)], 0)
    for off, failing, count in found:
        values[("off" if off else "failing" if failing else "on",)] += count
    return Reading("fairboard_webhooks", "Webhooks by state.", ("state",), values)


def _age(since: datetime | None, now: datetime) -> float:
    return max(0.0, (now - since).total_seconds()) if since else 0.0
