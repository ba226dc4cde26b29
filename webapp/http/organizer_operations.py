"""Organizers' operations of the API: required role, action in one transaction, running jobs."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field

from grader import db
from grader.models import JobState, OrganizerJob, OrganizerJobKind, Role
from grader.services.accounts.api_tokens import Scope
from grader.services.competitions.settings_problems import Fault
from grader.services.jobs import organizer_jobs
from webapp.http.api import operation
from webapp.http.auth import View, organizers_only
from webapp.http.context import actor, competition_of, writing
from webapp.http.errors import BadRequest
from webapp.http.fields import Answer, Asked, Moment, Problems, Sent, Text
from webapp.http.parameters import TEXT_MAX_LENGTH

DESK = "/competitions/<slug>/organize"
Outcome = TypeVar("Outcome")


class ConfirmationNeeded(BadRequest):
    """Settings with a date that takes effect at once, and that were not confirmed."""

    public_name = "confirmation_needed"

    def __init__(self, faults: list[Fault]) -> None:
        self._faults = faults
        why = " ".join(each.sentence for each in faults)
        super().__init__(f"{why} Add `?confirm=true` to the address if this is intended.")

    @property
    def details(self) -> Mapping[str, Any]:
        """All dates that need a confirmation, each with its effect."""
        return {"problems": [each.as_problem() for each in self._faults]}


def _confirmed(value: bool) -> bool:
    if not value:
        raise ValueError("must be true, for this cannot be undone")
    return value


class Confirmation(Sent):
    """A word that an act which cannot be undone is meant."""

    confirm: Annotated[bool, AfterValidator(_confirmed), Field(description="True: it cannot be undone.")]


class Reasoned(Sent):
    """Why something is done, for the audit log."""

    reason: Text = ""


class Searched(Asked):
    """What a list is searched for."""

    q: Annotated[Text, Field(max_length=TEXT_MAX_LENGTH)] = ""


class Job(Answer):
    """Work in the background: how far it is, and why there is no result."""

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
    """Work that has begun in the background, and where to ask how far it is."""

    id: int
    url: str


class FaultAnswer(Answer):
    """What is wrong or could be better, and the settings that it is about."""

    fields: list[str]
    message: str


def organizers_operation(role: Role, **described: Any) -> Callable[[Callable[..., Any]], View]:
    """Make a view an operation for organizers with this role or a higher one."""

    def decorate(view: Callable[..., Any]) -> View:
        return organizers_only(role)(operation(Scope.ORGANIZE, **described)(view))

    return decorate


def act(slug: str, service: Callable[..., Outcome], **given: Any) -> Outcome:
    """Do the current user's act in a competition, in a transaction of its own, and return what it returns."""
    with writing() as session:
        competition = competition_of(session, slug)
        return service(session, competition=competition, actor=actor(), now=db.now(session), **given)


def job(found: OrganizerJob) -> Job:
    """Return a job."""
    return Job.of(found, is_final=not organizer_jobs.is_open(found))


def started(begun: OrganizerJob, url: str) -> tuple[Started, int, dict[str, str]]:
    """Return the answer to a request that began a job."""
    return Started(id=begun.id, url=url), 202, {"Location": url}


def fault(found: Fault) -> FaultAnswer:
    """Return what is wrong."""
    return FaultAnswer(fields=list(found.names), message=found.sentence)
