"""Client for the organizers of a competition, returned by `Client.organize`."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from grader.client.errors import Unusable
from grader.client.transport import Json, OnQuestion, Transport

POLL_SECONDS = 0.5


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
        return self._client.call(method, self._at(path), fields, confirm=self._confirm)

    def pages(self, path: str, **query: Any) -> Iterator[Json]:
        """Yield the pages of a list."""
        return self._client.pages_of(self._at(path), **query)

    def upload(
        self,
        path: str,
        file: Path | str,
        *,
        fields: Mapping[str, str] | None = None,
        sample: Path | str | None = None,
    ) -> Json:
        """Upload a file to ``solution``, ``data``, ``data/baseline`` or ``metric-file``.

        `sample` is the sample submission of a metric.
        """
        files = {"file": Path(file)} | ({} if sample is None else {"sample": Path(sample)})
        return self.call("POST", path, {**(fields or {}), **files})

    def ended(self, path: str, *, job: str = "job", timeout_seconds: float = 3600) -> Json:
        """Wait until a job has finished and return the response; raise `Unusable` after the timeout.

        `job` is the key of the job in the response; it is empty if the response itself states its end.
        """
        deadline = time.monotonic() + timeout_seconds
        while True:
            answer = self.call("GET", path)
            state = answer.get(job) if job else answer
            if not state or state["is_final"]:
                return answer
            if time.monotonic() > deadline:
                raise Unusable(
                    f"{path} has not finished within {timeout_seconds:.0f} s. It continues on the server."
                )
            time.sleep(POLL_SECONDS)

    def change_settings(self, **changes: Any) -> Json:
        """Change settings, given by their names in the API's response to ``GET settings``.

        Dates of a published competition that have passed or are less than a day away must be confirmed.
        """
        return self.call("PATCH", "settings", changes)

    def check_solution(self, file: Path | str) -> Json:
        """Upload a solution, wait for its check, and return the check with its report.

        ``why_not`` is None if the solution can be accepted. The ids are compared with those of the test.csv
        among the data files, if there is one.
        """
        begun = self.upload("solution", file)
        return self.ended(f"solution/{begun['id']}")

    def data(self) -> Json:
        """Wait until all data files have been checked, and return them with the findings of the checks."""
        return self.ended("data")

    def publish(self) -> Json:
        """Publish the draft; it opens on its opening date."""
        return self.call("POST", "state/publish")

    def rescored(self, number: int) -> Json:
        """Wait until a scoring version has a result for every submission, and return it."""
        return self.ended(f"rescoring/{number}", job="")

    def _at(self, path: str) -> str:
        return f"competitions/{quoted(self.slug)}/organize" + (f"/{path}" if path else "")


def quoted(name: object) -> str:
    """Return a name as a URL path segment."""
    return quote(str(name), safe="", errors="replace")
