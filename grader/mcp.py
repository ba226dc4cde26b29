"""Model Context Protocol server with participant tools that work in one folder."""

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from grader.client import Client
from grader.client.errors import ClientError, NotScoredInTime, Unusable

# Hosts usually time out after a minute.
LONGEST_WAIT_SECONDS = 50
ROWS = 50
INSTRUCTIONS = (
    "A site with competitions that score predictions, for example for accuracy and unintended bias. Read a "
    "competition, download its data, write a CSV file with the columns of the sample submission to the "
    "folder {folder}, check it, submit it, and wait for its score. A competition is the last part of its "
    "address; it is not needed if the site has only one."
)
READING = ToolAnnotations(read_only_hint=True, destructive_hint=False)
CHANGING = ToolAnnotations(read_only_hint=False, destructive_hint=False)
SELECTING = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True)
Answer = dict[str, Any]


def existing(folder: Path, name: str) -> Path:
    """Return the path of a file in the folder; raise Unusable for any other path."""
    with suppress(OSError, ValueError):
        path = (folder / name).resolve(strict=True)
        if path.is_relative_to(folder) and path.is_file():
            return path
    raise Unusable(f"There is no file {name!r} in the folder {folder}.")


def server(client: Client, folder: Path) -> MCPServer:
    """Return a server with the tools that the scopes of the client's token allow; they use one folder."""
    folder = folder.resolve(strict=True)
    made = MCPServer("fairboard", instructions=INSTRUCTIONS.format(folder=folder), log_level="WARNING")
    tools, scopes = _Tools(client, folder), client.get("me")["token"]["scopes"]
    for scope, annotations, act in (
        ("read", READING, tools.list_competitions),
        ("read", READING, tools.read_competition),
        ("submit", CHANGING, tools.join_competition),
        ("read", READING, tools.list_data_files),
        ("read", CHANGING, tools.download_data),
        ("submit", READING, tools.check_file),
        ("submit", CHANGING, tools.submit_file),
        ("read", READING, tools.wait_for_score),
        ("read", READING, tools.list_submissions),
        ("submit", SELECTING, tools.select_submission),
        ("read", READING, tools.read_leaderboard),
    ):
        if scope in scopes:
            made.add_tool(_reporting(act), annotations=annotations)
    return made


def _reporting(act: Callable[..., Answer]) -> Callable[..., Answer]:
    """Return a tool whose anticipated errors reach the agent."""

    @wraps(act)
    def tool(**arguments: Any) -> Answer:
        try:
            return act(**arguments)
        except (ClientError, OSError) as error:
            raise ToolError(str(error)) from error

    return tool


class _Tools:
    """The tools; their docstrings describe them to the agent."""

    def __init__(self, client: Client, folder: Path) -> None:
        self._client = client
        self._folder = folder

    def list_competitions(self) -> Answer:
        """List the competitions of the site."""
        return {"competitions": self._client.competitions()}

    def read_competition(self, competition: str | None = None) -> Answer:
        """Read a competition's overview, evaluation, data and rules, with its dates, metric and limits."""
        return {**self._client.pages(competition), **self._client.competition(competition)}

    def join_competition(
        self,
        competition: str | None = None,
        accepted_rules_version: int | None = None,
        code: str | None = None,
    ) -> Answer:
        """Join a competition, with its entry code if it requires one.

        If it has rules, read them first and send their rules_version.
        """
        return dict(self._client.join(competition, accepted_rules_version=accepted_rules_version, code=code))

    def list_data_files(self, competition: str | None = None) -> Answer:
        """List the data files of a competition. Use download_data to download them."""
        return {"files": self._client.data_files(competition)}

    def download_data(self, name: str, competition: str | None = None) -> Answer:
        """Download a data file of a competition into the folder."""
        path = self._client.download(name, self._folder, competition=competition)
        return {"path": str(path), "size_bytes": path.stat().st_size}

    def check_file(self, file: str, competition: str | None = None) -> Answer:
        """Check a prediction file in the folder and list all its problems; this is not a submission."""
        return self._client.check(existing(self._folder, file), competition=competition)

    def submit_file(self, file: str, competition: str | None = None, description: str = "") -> Answer:
        """Submit a prediction file in the folder: a CSV, optionally compressed with gzip or ZIP.

        The number of submissions per day is limited. Then call wait_for_score.
        """
        path = existing(self._folder, file)
        return self._client.submit(path, competition=competition, description=description)

    def wait_for_score(self, submission: int) -> Answer:
        """Wait at most 50 s until a submission is scored, rejected or failed.

        Call it again while the status is pending.
        """
        try:
            return self._client.wait(submission, timeout_seconds=LONGEST_WAIT_SECONDS)
        except NotScoredInTime as pending:
            return pending.submission

    def list_submissions(self, competition: str | None = None) -> Answer:
        """List the team's submissions with their public scores, and its remaining submissions."""
        return self._client.submissions(competition)

    def select_submission(self, submission: int, selected: bool = True) -> Answer:
        """Select a submission for the private leaderboard, or deselect it."""
        return dict(self._client.select(submission, selected=selected))

    def read_leaderboard(self, competition: str | None = None) -> Answer:
        """Read the public leaderboard: the first 50 rows and your team's row."""
        return self._client.leaderboard(competition, most=ROWS)
