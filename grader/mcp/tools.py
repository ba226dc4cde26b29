"""The tools that an agent is offered: what they are for, what they take, and what they do on the site."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from grader.client import Client
from grader.client.errors import NotScoredInTime, Unusable
from grader.mcp.folder import Folder

LONGEST_WAIT_SECONDS = 50  # hosts give a call a minute
ROWS = 50
READ, SUBMIT = "read", "submit"
COMPETITION = (
    "competition",
    "string",
    "The last part of the competition's address; not needed if there is one.",
)
FILE = (
    "file",
    "string",
    "A file in the folder: CSV with the columns id and prediction, or a gzip or zip of one.",
)
TYPES = {"string": str, "integer": int, "boolean": bool}
SUBMISSION = ("submission", "integer", "The number of the submission.")

Answer = Mapping[str, Any]


@dataclass(frozen=True)
class Tool:
    """A tool; `scope` is what its token must allow, and the first `required` arguments must be given."""

    name: str
    description: str
    scope: str
    arguments: tuple[tuple[str, str, str], ...]
    required: int
    act: Callable[..., Answer]

    def as_json(self) -> dict[str, Any]:
        """Return how the protocol describes it."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": {
                    name: {"type": kind, "description": text} for name, kind, text in self.arguments
                },
                "required": [name for name, _, _ in self.arguments[: self.required]],
                "additionalProperties": False,
            },
            "annotations": {"readOnlyHint": self.scope == READ, "destructiveHint": False},
        }

    def checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments; raise Unusable with what is wrong with them."""
        kinds = {name: kind for name, kind, _ in self.arguments}
        required = list(kinds)[: self.required]
        wrong = [f"there is no argument {name!r}" for name in sorted(set(arguments) - set(kinds))]
        wrong += [f"{name!r} is missing" for name in required if arguments.get(name) is None]
        wrong += [
            f"{name!r} must be of type {kind}"
            for name, kind in kinds.items()
            if arguments.get(name) is not None and type(arguments[name]) is not TYPES[kind]
        ]
        if wrong:
            accepted = ", ".join(kinds) or "none"
            raise Unusable(f"{self.name}: {', '.join(wrong)}. Its arguments: {accepted}.")
        return {name: value for name, value in arguments.items() if value is not None}


class Tools:
    """What a token may do on a site, with files of one folder."""

    def __init__(self, client: Client, folder: Folder) -> None:
        self._client = client
        self._folder = folder

    @cached_property
    def offered(self) -> dict[str, Tool]:
        """The tools that the token's scopes allow, by name."""
        scopes = self._client.scopes()
        return {tool.name: tool for tool in self._all() if tool.scope in scopes}

    def _all(self) -> tuple[Tool, ...]:
        return (
            Tool("list_competitions", "List the competitions of the site.", READ, (), 0, self._list),
            Tool(
                "read_competition",
                "Read a competition: the pages overview, evaluation, data and rules; dates, metric, limits.",
                READ,
                (COMPETITION,),
                0,
                self._read,
            ),
            Tool(
                "join_competition",
                "Join a competition. If it has rules, read them first and send their rules_version.",
                SUBMIT,
                (
                    COMPETITION,
                    ("accepted_rules_version", "integer", "The rules_version of read_competition."),
                    ("code", "string", "The access code, if the competition asks for one."),
                ),
                0,
                self._join,
            ),
            Tool(
                "list_data_files",
                "List the data files of a competition, which download_data downloads.",
                READ,
                (COMPETITION,),
                0,
                self._files,
            ),
            Tool(
                "download_data",
                f"Download a data file of a competition into the folder {self._folder.path}.",
                READ,
                (("name", "string", "The name of the data file."), COMPETITION),
                1,
                self._download,
            ),
            Tool(
                "check_file",
                "Find everything that is wrong with a file of predictions. It uses no submission.",
                SUBMIT,
                (FILE, COMPETITION),
                1,
                self._check,
            ),
            Tool(
                "submit_file",
                "Send a file of predictions as a submission, of which a day has few. Then wait_for_score.",
                SUBMIT,
                (FILE, COMPETITION, ("description", "string", "What is new in this file.")),
                1,
                self._submit,
            ),
            Tool(
                "wait_for_score",
                f"Wait at most {LONGEST_WAIT_SECONDS} s until a submission is scored, rejected or failed. "
                "Call it again while the status is pending.",
                READ,
                (SUBMISSION,),
                1,
                self._wait,
            ),
            Tool(
                "list_submissions",
                "List the team's submissions with their public scores, and what it may still send.",
                READ,
                (COMPETITION,),
                0,
                self._submissions,
            ),
            Tool(
                "select_submission",
                "Select a submission for the private leaderboard, or deselect it.",
                SUBMIT,
                (SUBMISSION, ("selected", "boolean", "False deselects it. The default is true.")),
                1,
                self._select,
            ),
            Tool(
                "read_leaderboard",
                f"Read the public leaderboard: the first {ROWS} rows and your team's row.",
                READ,
                (COMPETITION,),
                0,
                self._leaderboard,
            ),
        )

    def _list(self) -> Answer:
        return {"competitions": [each.data for each in self._client.competitions()]}

    def _read(self, competition: str | None = None) -> Answer:
        return {**self._client.pages(competition), **self._client.competition(competition).data}

    def _join(
        self,
        competition: str | None = None,
        accepted_rules_version: int | None = None,
        code: str | None = None,
    ) -> Answer:
        return self._client.join(competition, accepted_rules_version=accepted_rules_version, code=code)

    def _select(self, submission: int, selected: bool = True) -> Answer:
        return self._client.select(submission, selected=selected)

    def _files(self, competition: str | None = None) -> Answer:
        return {"files": [each.data for each in self._client.data_files(competition)]}

    def _download(self, name: str, competition: str | None = None) -> Answer:
        path = self._folder.new(name)
        self._client.download(name, path.parent, competition=competition)
        return {"path": str(path), "size_bytes": path.stat().st_size}

    def _check(self, file: str, competition: str | None = None) -> Answer:
        return self._client.check(self._folder.existing(file), competition=competition).data

    def _submit(self, file: str, competition: str | None = None, description: str = "") -> Answer:
        path = self._folder.existing(file)
        return self._client.submit(path, competition=competition, description=description).data

    def _wait(self, submission: int) -> Answer:
        try:
            return self._client.wait(submission, timeout_seconds=LONGEST_WAIT_SECONDS).data
        except NotScoredInTime as pending:
            return pending.submission.data

    def _submissions(self, competition: str | None = None) -> Answer:
        return self._client.submissions(competition).data

    def _leaderboard(self, competition: str | None = None) -> Answer:
        return self._client.leaderboard(competition, most=ROWS).data
