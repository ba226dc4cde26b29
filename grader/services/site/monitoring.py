"""Site state for Prometheus and `fairboard doctor`: queues and counts."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, literal, select
from sqlalchemy.orm import Session

from grader.models import (
    Competition,
    CompetitionState,
    JobState,
    Mail,
    OrganizerJob,
    OrganizerJobKind,
    ScoringJob,
    ScoringVersion,
    ScoringVersionState,
    Submission,
    SubmissionStatus,
)
from grader.services.site import outbox
from grader.services.site.leased_rows import OPEN_STATES

SCORING, RESCORING, MAIL = "scoring", "rescoring", "mail"
KINDS: tuple[str, ...] = (SCORING, RESCORING, *(kind.value for kind in OrganizerJobKind))
SHOWN_STATES = (*OPEN_STATES, JobState.FAILED)
IS_LIVE = ScoringVersion.state == ScoringVersionState.LIVE
IS_RESCORING = ScoringVersion.state == ScoringVersionState.PREPARING
IS_SHOWN = OrganizerJob.dismissed_at.is_(None)


@dataclass(frozen=True, slots=True)
class Reading:
    """The current values of one gauge by the values of its labels."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    values: Mapping[Any, float] = field(default_factory=dict)


Counts = dict[tuple[str, str], int]
"""The number of rows by queue and state."""


def gauges(session: Session, *, now: datetime) -> list[Reading]:
    """Return all gauges that are read from the database."""
    counts, oldest = jobs(session)
    ages = {(kind,): _age(oldest.get(kind), now) for kind in KINDS}
    mail_counts, oldest_mail = mails(session, now)
    mail_states = {(state,): count for (_, state), count in mail_counts.items()}
    mail_age = {(): _age(oldest_mail, now)}
    return [
        _counted(session, "fairboard_submissions", Submission.status, SubmissionStatus),
        _counted(session, "fairboard_competitions", Competition.state, CompetitionState),
        Reading("fairboard_jobs", "Jobs by kind and state.", ("kind", "state"), counts),
        Reading("fairboard_oldest_job_seconds", "Age of the oldest open job, or 0.", ("kind",), ages),
        Reading("fairboard_mail", "Undelivered e-mails by state.", ("state",), mail_states),
        Reading("fairboard_mail_oldest_seconds", "Age of the oldest one, or 0.", values=mail_age),
    ]


def jobs(session: Session) -> tuple[Counts, dict[str, datetime]]:
    """Count the open and failed jobs, and finished rescorings; also return the oldest open jobs."""
    counts = {(kind, str(state)): 0 for kind in KINDS for state in SHOWN_STATES}
    counts[RESCORING, JobState.DONE] = 0
    oldest = dict[str, datetime]()
    scoring = _job_counts(ScoringJob, literal(SCORING)).join(ScoringVersion)
    rescoring = _job_counts(ScoringJob, literal(RESCORING)).join(ScoringVersion)
    of_organizers = _job_counts(OrganizerJob, OrganizerJob.kind).group_by(OrganizerJob.kind)
    for query in (
        scoring.where(IS_LIVE, ScoringJob.state.in_(SHOWN_STATES)),
        rescoring.where(IS_RESCORING),
        of_organizers.where(IS_SHOWN, OrganizerJob.state.in_(SHOWN_STATES)),
    ):
        for kind, state, count, since in session.execute(query):
            # A rejected file is a result too.
            counts[kind, state if state in SHOWN_STATES else JobState.DONE] += count
            if state in OPEN_STATES:
                oldest[kind] = min(since, oldest.get(kind, since))
    return counts, oldest


def _job_counts(table: type[ScoringJob] | type[OrganizerJob], kind: Any) -> Select[Any]:
    return select(kind, table.state, func.count(), func.min(table.created_at)).group_by(table.state)


def mails(session: Session, now: datetime) -> tuple[Counts, datetime | None]:
    """Return the undelivered e-mails, and the time of the oldest one that is not given up."""
    is_open, is_retry = Mail.created_at > now - outbox.GIVEN_UP_AFTER, Mail.attempt_count > 1
    states = {"waiting": is_open & ~is_retry, "retried": is_open & is_retry, "failed": ~is_open}
    counts = (func.count().filter(each) for each in states.values())
    oldest = func.min(Mail.created_at).filter(is_open)
    row = session.execute(select(oldest, *counts).where(Mail.sent_at.is_(None))).one()
    return {(MAIL, state): count for state, count in zip(states, row[1:], strict=True)}, row[0]


def _counted(session: Session, name: str, column: Any, states: type[enum.StrEnum]) -> Reading:
    counts: dict[Any, int] = dict(session.execute(select(column, func.count()).group_by(column)).all())
    values = {(state.value,): counts.get(state, 0) for state in states}
    return Reading(name, f"{column.class_.__name__}s by {column.key}.", (column.key,), values)


def _age(oldest: datetime | None, now: datetime) -> float:
    return max(0.0, (now - (oldest or now)).total_seconds())
