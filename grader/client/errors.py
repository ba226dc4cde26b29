"""Errors of the client: refused, failed, unreachable, not scored in time."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from grader.errors import ErrorKind, FairboardError

if TYPE_CHECKING:
    from grader.client.records import Submission

# Escape sequences could rewrite a terminal; marks and overrides of the direction could disguise a name.
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class ClientError(FairboardError):
    """Base of the client's errors."""

    public_name = "client"


class Unusable(ClientError):
    """What was given to the client cannot be used: an address, a file, a table, a competition."""

    public_name = "unusable_here"


class Unreachable(ClientError):
    """No answer came, or the connection was cut before its end."""

    public_name = "server_unreachable"


class DamagedDownload(ClientError):
    """A downloaded file is not the one that the server has."""

    public_name = "damaged_download"


class Refused(ClientError):
    """The server answered that it did not do what was asked.

    Parameters
    ----------
    status : int
        The HTTP status.
    answer : mapping
        The JSON of the answer, with ``error`` and ``message``; empty where it was no JSON.
    retry_after : timedelta, optional
        How long to wait before the request is worth repeating.

    Attributes
    ----------
    name : str
        The server's name of the error, such as ``daily_limit_reached``.
    problems : list of dict
        All problems, each with the text `message`, and with details such as `fields` or `line`.
    """

    public_name = "refused_by_server"
    kind = ErrorKind.CONFLICT

    def __init__(
        self, status: int, answer: Mapping[str, Any], *, retry_after: timedelta | None = None
    ) -> None:
        self.status = status
        self.answer = answer
        self.retry_after = retry_after
        self.name = str(answer.get("error") or f"http_{status}")
        self.problems = as_problems(answer.get("problems"))
        super().__init__(CONTROLS.sub("", str(answer.get("message") or f"The server answered {status}.")))

    @property
    def details(self) -> Mapping[str, Any]:
        """Everything that the server said beside the sentence."""
        return {name: value for name, value in self.answer.items() if name != "message"}


class TokenRefused(Refused):
    """The token is unknown, expired or revoked."""

    public_name = "token_refused"
    kind = ErrorKind.LOGIN_NEEDED


class LimitReached(Refused):
    """A limit is reached: of submissions, of requests, of checks."""

    public_name = "limit_reached_on_server"
    kind = ErrorKind.LIMITED


class ServerFailed(Refused):
    """The server failed or is busy."""

    public_name = "server_failed"
    kind = ErrorKind.NOT_YET


class NotScoredInTime(ClientError):
    """A submission is still pending after the time that was given.

    Parameters
    ----------
    submission : Submission
        As it was last seen.
    """

    public_name = "not_scored_in_time"
    kind = ErrorKind.NOT_YET
    message = "Submission #{submission.id} is not scored yet. It stays in the queue: ask for it later."
    submission: "Submission"


def as_problems(found: object) -> list[dict[str, Any]]:
    """Return the problems of an answer, each with a text `message`, whatever the server sent instead."""
    listed = found if isinstance(found, list | tuple) else [found] if found else []
    problems = [each if isinstance(each, Mapping) else {"message": each} for each in listed]
    return [{**each, "message": str(each.get("message") or each.get("code") or each)} for each in problems]
