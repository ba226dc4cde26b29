"""Client for the organizers of a competition, returned by `Client.organize`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from grader.client.errors import Unusable
from grader.client.transport import Json, OnQuestion, Transport, polls


class Organizer:
    """A client for the organizers of a competition; the token needs the scope ``organize``.

    Methods return the server's JSON, which is described on the server's page ``/api/openapi.json``.

    Parameters
    ----------
    client : Client
    slug : str
        The competition.
    confirm : bool or callable
        True confirms every action. A function receives each question (``heading``, ``sentences``) and
        returns whether to continue. Otherwise, such actions raise `Refused` (``unconfirmed``).
    """

    def __init__(self, client: Transport, slug: str, *, confirm: bool | OnQuestion = False) -> None:
        self._client = client
        self.slug = slug
        self._confirm = confirm

    def call(self, method: str, path: str = "", fields: Mapping[str, Any] | None = None) -> Json:
        """Send a request below the organizers' endpoints of the competition, and confirm its questions."""
        place = f"competitions/{quoted(self.slug)}/organize" + (f"/{path}" if path else "")
        return self._client.call(method, place, fields, confirm=self._confirm)

    def ended(self, path: str, *, job: str = "job", timeout_seconds: float = 3600) -> Json:
        """Wait until a job has finished and return the response; raise `Unusable` after the timeout.

        `job` is the key of the job in the response; it is empty if the response itself states its end.
        """
        for _ in polls(timeout_seconds):
            answer = self.call("GET", path)
            state = answer.get(job) if job else answer
            if not state or state["is_final"]:
                return answer
        raise Unusable(f"{path} has not finished within {timeout_seconds:.0f} s. It continues on the server.")

    def check_solution(self, file: Path | str) -> Json:
        """Upload a solution, wait for its check, and return the check with its report.

        ``why_not`` is None if the solution can be accepted. The ids are compared with those of the test.csv
        among the data files, if there is one.
        """
        begun = self.call("POST", "solution", {"file": Path(file)})
        return self.ended(f"solution/{begun['id']}")

    def rescored(self, number: int) -> Json:
        """Wait until a scoring version has a result for every submission, and return it."""
        return self.ended(f"rescoring/{number}", job="")


def quoted(name: object) -> str:
    """Return a name as a URL path segment."""
    return quote(str(name), safe="", errors="replace")
