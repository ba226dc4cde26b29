"""Helpers for organizers' API operations: role checks, transactions, background jobs."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

from grader.models import JobState, OrganizerJob, OrganizerJobKind, Role
from grader.services.competitions.settings_problems import Fault
from grader.services.identity.api_tokens import Scope
from grader.services.site import organizer_jobs
from webapp.http.api import operation
from webapp.http.auth import View, organizers_only
from webapp.http.fields import Answer, Asked, Confirmation, Moment, Problems, Sent, Text
from webapp.http.parameters import TEXT_MAX_LENGTH

DESK = "/competitions/<slug>/organize"


class Reasoned(Sent):
    """A reason for the audit log."""

    reason: Text = ""


class ConfirmedReason(Confirmation):
    """A reason for the audit log, and the confirmation of an action."""

    reason: Text = ""


class Searched(Asked):
    """Search parameters of a list."""

    q: Annotated[Text, Field(max_length=TEXT_MAX_LENGTH)] = ""


class Job(Answer):
    """A background job with its progress or the reason for its failure."""

    id: int
    kind: OrganizerJobKind
    state: JobState
    is_final: bool
    progress: dict[str, Any]
    problems: Problems
    incident: str | None
    created_at: Moment
    finished_at: Moment | None


class Started(Answer):
    """A started background job, with the URL of its progress."""

    id: int
    url: str


class FaultAnswer(Answer):
    """A problem or a warning, with the settings that it concerns."""

    fields: list[str]
    message: str


def organizers_operation(role: Role, **described: Any) -> Callable[[Callable[..., Any]], View]:
    """Register a view as an operation for organizers with this role or a higher one."""

    def decorate(view: Callable[..., Any]) -> View:
        return organizers_only(role)(operation(Scope.ORGANIZE, **described)(view))

    return decorate


def job(found: OrganizerJob) -> Job:
    """Return a job as the API model."""
    return Job.of(found, is_final=not organizer_jobs.is_open(found))


def fault(found: Fault) -> FaultAnswer:
    """Return a problem as the API model."""
    return FaultAnswer(fields=list(found.names), message=found.sentence)
