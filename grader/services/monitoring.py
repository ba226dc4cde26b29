"""State of the site for the metrics: queues, submissions, rescorings, e-mail and webhooks, as counts only."""

import enum
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, select
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
SCORING_OF = {ScoringVersionState.PREPARING: RESCORING}  # all other versions are scored live
KINDS = (SCORING, RESCORING, *OrganizerJobKind)


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
    depth = {(kind, state.value): 0 for kind in map(str, KINDS) for state in OPEN_STATES}
    oldest: dict[str, datetime] = {}
    failed = dict.fromkeys(map(str, KINDS), 0)
    progress: dict[str, int] = defaultdict(int)
    rescored = select(ScoringVersion.id).where(ScoringVersion.state == ScoringVersionState.PREPARING)
    of_organizers = (
        select(OrganizerJob.kind, OrganizerJob.state, func.count(), func.min(OrganizerJob.created_at))
        .where(OrganizerJob.dismissed_at.is_(None))
        .where(OrganizerJob.state.in_((*OPEN_STATES, JobState.FAILED)))
        .group_by(OrganizerJob.kind, OrganizerJob.state)
    )
    of_scoring = (
        select(ScoringVersion.state, ScoringJob.state, func.count(), func.min(ScoringJob.created_at))
        .join(ScoringJob.scoring_version)
        .where(ScoringJob.state.in_(OPEN_STATES))
        .group_by(ScoringVersion.state, ScoringJob.state)
    )
    of_rescorings = (
        select(ScoringJob.state, func.count())
        .where(ScoringJob.scoring_version_id.in_(rescored))
        .group_by(ScoringJob.state)
    )
    found = [
        *((SCORING_OF.get(version, SCORING), *rest) for version, *rest in session.execute(of_scoring)),
        *session.execute(of_organizers),
    ]
    for kind, state, count, since in found:
        if state is JobState.FAILED:
            failed[kind] = count
        else:
            depth[kind, state.value] += count
            oldest[kind] = min(since, oldest.get(kind, since))
    for state, count in session.execute(of_rescorings):
        progress["open" if state in OPEN_STATES else "done"] += count
        if state is JobState.FAILED:
            failed[RESCORING] = count
    del failed[SCORING]  # submissions with the status `failed`
    return [
        Reading("fairboard_jobs", "Open jobs by kind and state.", ("kind", "state"), depth),
        Reading(
            "fairboard_oldest_job_seconds",
            "Age of the oldest open job, 0 without one.",
            ("kind",),
            {(kind,): _age(oldest.get(kind), now) for kind in map(str, KINDS)},
        ),
        Reading("fairboard_failed_jobs", "Failed jobs.", ("kind",), {(k,): n for k, n in failed.items()}),
        Reading(
            "fairboard_rescoring_jobs",
            "Jobs of the rescorings in preparation.",
            ("state",),
            {(state,): progress[state] for state in ("open", "done")},
        ),
    ]


def _outboxes(session: Session, now: datetime) -> list[Reading]:
    counts: dict[tuple[str, ...], float] = {}
    ages: dict[tuple[str, ...], float] = {}
    rows: tuple[tuple[str, Any, timedelta], ...] = (
        ("mail", Mail, outbox.GIVEN_UP_AFTER),
        ("webhooks", Delivery, webhook_outbox.GIVEN_UP_AFTER),
    )
    for name, table, patience in rows:
        waiting, retried, since = session.execute(
            select(
                func.count(), func.count().filter(table.attempt_count > 1), func.min(table.created_at)
            ).where(table.ended_at.is_(None), table.created_at > now - patience)
        ).one()
        counts[name, "waiting"], counts[name, "retried"] = waiting, retried
        ages[name,] = _age(since, now)
    return [
        Reading("fairboard_outbox", "Undelivered e-mails and webhook events.", ("outbox", "state"), counts),
        Reading("fairboard_outbox_oldest_seconds", "Age of the oldest undelivered one.", ("outbox",), ages),
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
