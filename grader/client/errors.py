"""Client errors: request denied or failed, server unreachable, score not ready in time."""

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from grader.errors import FairboardError

if TYPE_CHECKING:
    from grader.client.records import Submission


class ClientError(FairboardError):
    """Base class of the client's errors."""

    public_name = "client"


class Unusable(ClientError):
    """An input of the client cannot be used: an address, a file, a table or a competition."""

    public_name = "unusable_here"


class Unreachable(ClientError):
    """The server did not respond, or the connection was lost before the end of the response."""

    public_name = "server_unreachable"


class Refused(ClientError):
    """The server responded with an error.

    Parameters
    ----------
    status : int
        The HTTP status.
    answer : mapping
        The JSON of the response, with ``error`` and ``message``; empty if it was not JSON.
    retry_after : timedelta, optional
        How long to wait before retrying the request.

    Attributes
    ----------
    message : str
        The server's message, with all problems.
    name : str
        The server's name for the error, such as ``daily_limit_reached``.
    problems : list of dict
        All problems, each with a `message` and details such as `fields` or `line`.
    """

    public_name = "refused_by_server"

    def __init__(
        self, status: int, answer: Mapping[str, Any], *, retry_after: timedelta | None = None
    ) -> None:
        self.status = status
        self.answer = answer
        self.retry_after = retry_after
        self.name = str(answer.get("error") or f"http_{status}")
        self.problems = answer.get("problems") or []
        message = str(answer.get("message") or f"The server responded with status {status}.")
        others = [each["message"] for each in self.problems if each["message"] not in message]
        super().__init__("\n- ".join([message, *others]))

    @property
    def details(self) -> Mapping[str, Any]:
        """All fields of the response except the message."""
        return {name: value for name, value in self.answer.items() if name != "message"}


class TokenRefused(Refused):
    """The token is unknown, expired or revoked."""

    public_name = "token_refused"


class LimitReached(Refused):
    """A limit on submissions, requests or checks has been reached."""

    public_name = "limit_reached_on_server"


class NotScoredInTime(ClientError):
    """A submission is still pending after the timeout; `submission` is its last known state."""

    public_name = "not_scored_in_time"
    message = "Submission #{submission.id} is not scored yet. It stays in the queue. Check again later."
    submission: "Submission"
