"""Model Context Protocol tools: descriptions, arguments, and actions within one folder."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from grader.client import Client
from grader.client.errors import NotScoredInTime, Unusable
from grader.client.files import PARTS

# Hosts usually time out after a minute.
LONGEST_WAIT_SECONDS = 50
ROWS = 50
READ, SUBMIT = "read", "submit"
TYPES = {"string": str, "integer": int, "boolean": bool}
# The method `_NAME` of `Tools` implements the tool NAME; its parameters are the tool's arguments.
TOOLS = (
    ("list_competitions", READ, "List the competitions of the site."),
    (
        "read_competition",
        READ,
        "Read a competition's overview, evaluation, data and rules, with its dates, metric and limits.",
    ),
    (
        "join_competition",
        SUBMIT,
        "Join a competition. If it has rules, read them first and send their rules_version.",
    ),
    ("list_data_files", READ, "List the data files of a competition. Use download_data to download them."),
    ("download_data", READ, "Download a data file of a competition into the folder {folder}."),
    (
        "check_file",
        SUBMIT,
        "Check a prediction file and list all its problems. This does not count as a submission.",
    ),
    (
        "submit_file",
        SUBMIT,
        "Submit a prediction file. The number of submissions per day is limited. Then call wait_for_score.",
    ),
    (
        "wait_for_score",
        READ,
        f"Wait at most {LONGEST_WAIT_SECONDS} s until the status of a submission is scored, rejected or "
        "failed. Call it again while the status is pending.",
    ),
    (
        "list_submissions",
        READ,
        "List the team's submissions with their public scores, and its remaining submissions.",
    ),
    ("select_submission", SUBMIT, "Select a submission for the private leaderboard, or deselect it."),
    ("read_leaderboard", READ, f"Read the public leaderboard: the first {ROWS} rows and your team's row."),
)
# The hints about tools that change something on the site or in the folder. All others only read.
CHANGING: Mapping[str, Mapping[str, bool]] = {
    "join_competition": {},
    "download_data": {"idempotentHint": True},
    "submit_file": {},
    "select_submission": {"destructiveHint": True, "idempotentHint": True},
}
ARGUMENTS = {
    "competition": (
        "string",
        "The last part of the competition's address; not needed if the site has only one competition.",
    ),
    "file": (
        "string",
        "A file in the folder: a CSV with the columns of the sample submission, optionally compressed with "
        "gzip or zip.",
    ),
    "submission": ("integer", "The number of the submission."),
    "accepted_rules_version": ("integer", "The rules_version returned by read_competition."),
    "code": ("string", "The entry code, if the competition requires one."),
    "name": ("string", "The name of the data file."),
    "description": ("string", "A description, such as what changed in this file."),
    "selected": ("boolean", "Whether to select the submission; false deselects it. The default is true."),
}

Answer = Mapping[str, Any]


class WorkFolder:
    """The only folder in which the tools read and write files; paths outside it are rejected."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve(strict=True)

    def existing(self, name: str) -> Path:
        """Return the path of a file in the folder; raise Unusable for any other path."""
        path = self._inside(name)
        if not path.is_file():
            raise Unusable(f"There is no file {name!r} in the folder {self.path}.")
        return path

    def new(self, name: str) -> Path:
        """Return the path of a download; raise Unusable if it is outside the folder or is a link."""
        path = self._inside(name)
        if path.parent != self.path or any(
            (self.path / f"{name}{part}").is_symlink() for part in ("", *PARTS)
        ):
            raise Unusable(f"{name!r} would not be a file directly in the folder {self.path}.")
        return path

    def _inside(self, name: str) -> Path:
        try:
            path = (self.path / name).resolve()
        except (OSError, ValueError) as error:
            raise Unusable(f"{name!r} is not a valid file name.") from error
        if not path.is_relative_to(self.path) or path == self.path:
            raise Unusable(
                f"{name!r} is not in the folder {self.path}. The tools can access only files in this folder."
            )
        return path


@dataclass(frozen=True)
class Tool:
    """A tool; `scope` is the required token scope."""

    name: str
    description: str
    scope: str
    act: Callable[..., Answer]

    @cached_property
    def arguments(self) -> dict[str, tuple[str, str]]:
        """The type and description of each argument, by name."""
        return {name: ARGUMENTS[name] for name in inspect.signature(self.act).parameters}

    @cached_property
    def required(self) -> list[str]:
        """The arguments without a default."""
        parameters = inspect.signature(self.act).parameters.values()
        return [each.name for each in parameters if each.default is each.empty]

    def as_json(self) -> dict[str, Any]:
        """Return the tool's description in the protocol's format."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": {
                    name: {"type": kind, "description": text} for name, (kind, text) in self.arguments.items()
                },
                "required": self.required,
                "additionalProperties": False,
            },
            "annotations": {
                "readOnlyHint": self.name not in CHANGING,
                "destructiveHint": False,
                **CHANGING.get(self.name, {}),
            },
        }

    def checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments except those that are None; raise Unusable with all their problems."""
        wrong = [f"there is no argument {name!r}" for name in sorted(set(arguments) - set(self.arguments))]
        wrong += [f"{name!r} is missing" for name in self.required if arguments.get(name) is None]
        wrong += [
            f"{name!r} must be of type {kind}"
            for name, (kind, _) in self.arguments.items()
            if arguments.get(name) is not None and type(arguments[name]) is not TYPES[kind]
        ]
        if wrong:
            accepted = ", ".join(self.arguments) or "none"
            raise Unusable(f"{self.name}: {', '.join(wrong)}. Its arguments are: {accepted}.")
        return {name: value for name, value in arguments.items() if value is not None}


class Tools:
    """The tools that a token may use on a site, working with the files of one folder."""

    def __init__(self, client: Client, folder: WorkFolder) -> None:
        self._client = client
        self._folder = folder

    @cached_property
    def offered(self) -> dict[str, Tool]:
        """The tools that the token's scopes allow, by name."""
        scopes = self._client.scopes()
        return {
            name: Tool(name, text.format(folder=self._folder.path), scope, getattr(self, f"_{name}"))
            for name, scope, text in TOOLS
            if scope in scopes
        }

    def _list_competitions(self) -> Answer:
        return {"competitions": [each.data for each in self._client.competitions()]}

    def _read_competition(self, competition: str | None = None) -> Answer:
        return {**self._client.pages(competition), **self._client.competition(competition).data}

    def _join_competition(
        self,
        competition: str | None = None,
        accepted_rules_version: int | None = None,
        code: str | None = None,
    ) -> Answer:
        return self._client.join(competition, accepted_rules_version=accepted_rules_version, code=code)

    def _select_submission(self, submission: int, selected: bool = True) -> Answer:
        return self._client.select(submission, selected=selected)

    def _list_data_files(self, competition: str | None = None) -> Answer:
        return {"files": [each.data for each in self._client.data_files(competition)]}

    def _download_data(self, name: str, competition: str | None = None) -> Answer:
        path = self._folder.new(name)
        self._client.download(name, path.parent, competition=competition)
        return {"path": str(path), "size_bytes": path.stat().st_size}

    def _check_file(self, file: str, competition: str | None = None) -> Answer:
        return self._client.check(self._folder.existing(file), competition=competition).data

    def _submit_file(self, file: str, competition: str | None = None, description: str = "") -> Answer:
        path = self._folder.existing(file)
        return self._client.submit(path, competition=competition, description=description).data

    def _wait_for_score(self, submission: int) -> Answer:
        try:
            return self._client.wait(submission, timeout_seconds=LONGEST_WAIT_SECONDS).data
        except NotScoredInTime as pending:
            return pending.submission.data

    def _list_submissions(self, competition: str | None = None) -> Answer:
        return self._client.submissions(competition).data

    def _read_leaderboard(self, competition: str | None = None) -> Answer:
        return self._client.leaderboard(competition, most=ROWS).data
