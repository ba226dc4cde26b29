"""API models shared by several organizer operations."""

from typing import Any

from grader.models import JobState, OrganizerJobKind
from webapp.http.fields import Answer, Asked, Confirmation, Moment, Problems, Search, Sent, Text

DESK = "/competitions/<slug>/organize"


class Reasoned(Sent):
    """A reason for the log."""

    reason: Text = ""


class ConfirmedReason(Confirmation):
    """A reason for the log, and the confirmation of an action."""

    reason: Text = ""


class Extension(Sent):
    """A later deadline, and the public reason."""

    until: Moment
    reason: Text


class Searched(Asked):
    """Search parameters of a list."""

    q: Search = ""


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


class Stored(Answer):
    """The name of an uploaded file, and the URL of the file or of the result of its check."""

    name: str
    url: str


class FaultAnswer(Answer):
    """A problem or a warning, with the settings that it concerns."""

    fields: list[str]
    message: str
