"""Errors for users: their audience, kind and public name.

A `ParticipantError` is safe to show to anybody; an `OrganizerError` may quote the solution and is shown to
organizers and operators only; every other exception is ours and is shown as an incident id. Errors carry
data, never HTML.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any, ClassVar


class ErrorKind(StrEnum):
    """What an error says about a request; the web has one HTTP status for each kind."""

    INVALID = "invalid"
    LOGIN_NEEDED = "login_needed"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    GONE = "gone"
    TOO_LARGE = "too_large"
    CHANGED = "changed"
    MISMATCH = "mismatch"
    LIMITED = "limited"
    NOT_YET = "not_yet"
    NO_ROOM = "no_room"


class FairboardError(Exception):
    """Base of the errors that speak to a person.

    Attributes
    ----------
    public_name
        What programs read in the API's JSON; it stays when a class is renamed.
    kind
        What the error says about the request.
    message
        The sentence for the person. A class declares it as a template for `str.format`, filled with the
        values that it is raised with.
    retry_after
        How long to wait before the request is worth repeating; None if waiting does not help.
    """

    public_name: ClassVar[str]
    kind: ClassVar[ErrorKind] = ErrorKind.INVALID
    message: str
    retry_after: timedelta | None = None

    def __init__(self, message: str | None = None, /, **values: Any) -> None:
        """Keep the values as attributes; `message` replaces the declared sentence and is used as it is."""
        vars(self).update(values)
        self.message = self.message.format_map(values) if message is None else message
        super().__init__(self.message)

    @property
    def details(self) -> Mapping[str, Any]:
        """What a program needs beside the sentence, by its name in JSON; times are aware datetimes."""
        return {}


class ParticipantError(FairboardError):
    """A problem that the participant can fix; the message contains nothing hidden."""

    public_name = "participant"


class OrganizerError(FairboardError):
    """A problem that the organizer or operator can fix; the message may quote the solution."""

    public_name = "organizer"
    kind = ErrorKind.CONFLICT


class SeveralProblems(FairboardError):
    """Base of the errors that report all problems at once; `problems` has one sentence each."""

    public_name = "several_problems"

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))

    @property
    def details(self) -> Mapping[str, Any]:
        return {"problems": [{"message": each} for each in self.problems]}
