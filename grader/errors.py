"""User-facing errors with their audience, kind and public name.

A `ParticipantError` can be shown to anyone. An `OrganizerError` may quote the solution and is shown only to
organizers and operators. Every other exception is an internal error and is shown as an incident id. Errors
contain data, never HTML.

A class exists only where it is caught by type; everything else raises `Refusal` or `OrganizerRefusal`.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any


class ErrorKind(StrEnum):
    """The kinds of errors; `webapp` maps each kind to one HTTP status."""

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
    """Base class of all user-facing errors.

    Attributes
    ----------
    public_name
        The identifier in the API's JSON. It is stable: it does not change when a class is renamed.
    kind
        The kind of the error, which determines the HTTP status.
    message
        The message for the user. Classes declare it as a template for `str.format`, which is filled with the
        keyword arguments of the constructor.
    retry_after
        Time to wait before retrying the request; None if a retry does not help.
    """

    public_name: str
    kind: ErrorKind = ErrorKind.INVALID
    message: str
    retry_after: timedelta | None = None

    def __init__(self, message: str | None = None, /, **values: Any) -> None:
        """Store the values as attributes and format the message.

        If `message` is given, it replaces the template and is not formatted.
        """
        vars(self).update(values)
        self.message = self.message.format_map(values) if message is None else message
        super().__init__(self.message)

    @property
    def details(self) -> Mapping[str, Any]:
        """Machine-readable details, keyed by their JSON names; times are aware datetimes."""
        return {}


class ParticipantError(FairboardError):
    """A problem that the participant can fix; the message contains no hidden data."""

    public_name = "participant"


class OrganizerError(FairboardError):
    """A problem that an organizer or operator can fix; the message may quote the solution."""

    public_name = "organizer"
    kind = ErrorKind.CONFLICT


class _Named(FairboardError):
    """An error with a name, a kind and a message, but without a class of its own.

    With `problems` instead of a message, it reports several: messages, or mappings with further values for
    the API's JSON. `details` are such values of the error itself.
    """

    def __init__(
        self,
        name: str,
        kind: ErrorKind,
        message: str | None = None,
        *,
        problems: Iterable[str | Mapping[str, Any]] | None = None,
        retry_after: timedelta | None = None,
        **details: Any,
    ) -> None:
        self.public_name, self.kind, self.retry_after, self._details = name, kind, retry_after, details
        if problems is not None:
            listed = [{"message": each} if isinstance(each, str) else each for each in problems]
            details["problems"] = listed
            self.problems = tuple(str(each["message"]) for each in listed)
            message = message or "\n".join(self.problems)
        super().__init__(message)

    @property
    def details(self) -> Mapping[str, Any]:
        return self._details


class Refusal(_Named, ParticipantError):
    """A refusal that is not caught by type, such as `Refusal("team_full", ErrorKind.CONFLICT, "…")`."""


class OrganizerRefusal(_Named, OrganizerError):
    """A refusal whose message may quote the solution; only organizers and operators see it."""
