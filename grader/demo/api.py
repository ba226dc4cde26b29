"""Client of the JSON API for the demo: join, submit, wait for scores, read leaderboards."""

import http.client
import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.errors import OrganizerError

TIMEOUT_SECONDS = 30


class Unreachable(OrganizerError):
    """Nobody answers at the address, or the answer stops half-way."""

    public_name = "unreachable"


class Refused(OrganizerError):
    """The service answered with an error; `status` is the HTTP status."""

    public_name = "refused"

    def __init__(self, request: str, status: int, body: bytes) -> None:
        super().__init__(f"{request} was answered {status}: {body[:2000].decode(errors='replace')}")
        self.status = status


@dataclass(frozen=True, slots=True)
class Api:
    """The service at `host`:`port`, spoken to as the owner of `token`."""

    host: str
    port: int
    token: str | None = None

    def is_ready(self) -> bool:
        """Return whether the service says that it can work."""
        return self._request("GET", "/readyz")[0] == 200

    def has(self, slug: str) -> bool:
        """Return whether everybody sees this competition."""
        return self._request("GET", f"/api/v1/competitions/{slug}/pages")[0] == 200

    def submit(self, slug: str, path: Path, description: str) -> int:
        """Upload a file and return the submission's id."""
        boundary = secrets.token_hex(16)
        body = b"".join(_form(boundary, path, description))
        answer = self._json(
            "POST",
            f"/api/v1/competitions/{slug}/submissions",
            body,
            {"Content-Type": f"multipart/form-data; boundary={boundary}"},
        )
        return int(answer["id"])

    def submission(self, submission_id: int) -> dict[str, Any]:
        """Return one submission of the token's team."""
        return self._json("GET", f"/api/v1/submissions/{submission_id}")

    def leaderboard(self, slug: str, split: str) -> "Board":
        """Return all pages of a leaderboard as one."""
        page = self._json("GET", f"/api/v1/competitions/{slug}/leaderboard?split={split}")
        board = Board(page["scoring_version"], page["rows"])
        while page["next"]:
            page = self._json("GET", page["next"])
            board.rows.extend(page["rows"])
        return board

    def _json(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        status, content = self._request(method, path, body, headers)
        if status >= 300:
            raise Refused(f"{method} {path}", status, content)
        answer: dict[str, Any] = json.loads(content)
        return answer

    def _request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        authorization = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, path, body, {**authorization, **(headers or {})})
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"{method} {path} on {self.host}:{self.port}: {error}") from error
        finally:
            connection.close()


@dataclass(frozen=True, slots=True)
class Board:
    """A leaderboard as the API shows it."""

    scoring_version: int
    rows: list[dict[str, Any]]


def _form(boundary: str, path: Path, description: str) -> Iterator[bytes]:
    yield f'--{boundary}\r\nContent-Disposition: form-data; name="description"\r\n\r\n'.encode()
    yield f"{description}\r\n".encode()
    yield f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{path.name}"\r\n'.encode()
    yield b"Content-Type: text/csv\r\n\r\n" + path.read_bytes() + b"\r\n"
    yield f"--{boundary}--\r\n".encode()
