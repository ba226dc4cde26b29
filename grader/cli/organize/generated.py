"""Commands and options generated from the operations of the API.

operations.json contains the operations, written by `make api-errors`.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from grader.cli.organize.acts import act_on_site, asking, yes_option
from grader.cli.parameters import DueTime, LocalPath, NameList, Time, text_of
from grader.client import Client
from grader.client.organizer import Organizer, quoted

Field = Mapping[str, Any]
OPERATIONS: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("operations.json").read_text("utf-8")
)
FILE = LocalPath(exists=True, dir_okay=False)
NO_LIMIT = "none"
MARKDOWN = {"body", "overview", "evaluation", "rules", "data_description"}
# Options that are shorter than the names of their fields.
OPTIONS = {
    "admit": "--admit/--reject",
    "by_mail": "--mail",
    "closes_at": "--closes",
    "entry_mode": "--entry",
    "marks_ties": "--mark-ties/--no-mark-ties",
    "max_daily_submissions": "--daily-limit",
    "max_hourly_rejections": "--rejection-limit",
    "max_pending_submissions": "--pending-limit",
    "max_team_size": "--team-size",
    "max_total_submissions": "--total-limit",
    "opens_at": "--opens",
    "reveals_at": "--reveals",
    "selection_count": "--selections",
    "takes_late_submissions": "--late/--no-late",
    "with_data": "--data/--no-data",
}


class Limit(click.ParamType):  # type: ignore[type-arg]
    """A whole number, or ``none``."""

    name = "n|none"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        if value == NO_LIMIT:
            return NO_LIMIT
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} must be a whole number or none.", param, ctx)


@dataclass(frozen=True)
class Generated:
    """A command that sends one request.

    `done` is the success message: a template of the parameters and the `answer`, or a function of both.
    `arguments` maps fields of the body that are arguments to the words in the command's usage. Options for
    the fields `required` must be given. If the parameter `optional` is missing, the command sends the
    operation `without` it. A command confirms its action itself unless it `asks` the server's questions or
    has its own `question`. Its help is the operation's summary, followed by `more`. `prepare` runs before the
    request; `finish` runs after it and returns the answer.
    """

    operation: str
    done: str | Callable[[Mapping[str, Any], Any], str]
    arguments: Mapping[str, str] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    optional: str = ""
    without: str = ""
    defaults: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    asks: bool = False
    question: str = ""
    more: str = ""
    prepare: Callable[[Organizer], Any] = lambda _desk: None
    finish: Callable[[Organizer, Any], Any] = lambda _desk, answer: answer

    def command(self, name: str) -> click.Command:
        """Return the click command."""
        operation = OPERATIONS[self.operation]
        ids, fields = _ids(operation), operation["fields"]
        parameters = [click.argument("slug"), *(_id_parameter(each, self.optional) for each in ids)]
        for each, word in self.arguments.items():
            parameters.append(click.argument(each, type=_type(each, fields[each]), metavar=word))
        for each in fields:
            if each not in self.arguments and each != "confirm":
                required = {"required": True} if each in self.required else {}
                is_optional = {"required": False} if each in self.defaults else {}
                parameters.append(field_option(each, {**fields[each], **required, **is_optional}))

        if self.asks:
            parameters.append(yes_option)
        if self.question:
            parameters.append(click.confirmation_option(prompt=self.question))

        def act(client: Client, yes: bool = False, **given: Any) -> tuple[Any, str]:
            used = self.operation if all(given[each] is not None for each in ids) else self.without
            desk = client.organize(given["slug"], confirm=asking(yes=yes) if self.asks else True)
            self.prepare(desk)
            answer = self.finish(desk, self._send(desk, used, given))
            done = self.done
            return answer, done(given, answer) if callable(done) else done.format(**given, answer=answer)

        act.__doc__ = f"{operation['summary']}\n\n{self.more}".rstrip()
        if self.without:
            word = self.optional if self.optional.startswith("--") else self.optional.upper()
            act.__doc__ += f"\n\nWithout {word}: {OPERATIONS[self.without]['summary']}"
        view: Any = act_on_site(act)
        for decorate in reversed(parameters):
            view = decorate(view)
        return click.command(name)(view)

    def _send(self, desk: Organizer, name: str, given: Mapping[str, Any]) -> Any:
        operation = OPERATIONS[name]
        ids = {f"{name}_id": quoted(_id(desk, name, given[name])) for name in _ids(operation)}
        fields = [name for name in operation["fields"] if name != "confirm"]
        sent = {name: make() for name, make in self.defaults.items() if name in fields}
        sent |= body({name: given[name] for name in fields if given.get(name) is not None})
        path = operation["path"].format(**ids)
        return desk.call(operation["method"], path, json=sent if fields else None)


def field_option(name: str, field: Field) -> Callable[[Any], Any]:
    """Return the option for a field of a body; without it, the field is not sent."""
    words = OPTIONS.get(name, "--" + name.replace("_", "-"))
    about, default = field["description"], field.get("default")
    if default is True:
        default = words.partition("/")[0].removeprefix("--")
    if default not in (None, "", False, 0):
        about += f"  [default: {default}]"
    if field["type"] == "boolean":
        return click.option(words, name, is_flag=True, default=None, help=about)
    is_required = bool(field.get("required"))
    return click.option(
        words, name, type=_type(name, field), required=is_required, show_default=False, help=about
    )


def setting_options(*others: str) -> Callable[[Any], Any]:
    """Return a decorator that adds options for all settings except the metric's and `others`."""

    def decorate(command: Any) -> Any:
        settings = OPERATIONS["change_settings"]["fields"]
        for name in reversed(settings):
            if name not in ("confirm", "metric", *others):
                command = field_option(name, settings[name])(command)
        return command

    return decorate


def body(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as JSON data: times in ISO 8601, files as text or lines, `none` as null."""
    return {name: _plain(name, value) for name, value in given.items()}


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Path):
        return text_of(value) if name in MARKDOWN else text_of(value).splitlines()
    return None if value == NO_LIMIT and isinstance(value, str) else value


def _type(name: str, field: Field) -> Any:
    if name in MARKDOWN or name == "students":
        return FILE
    if "enum" in field:
        return click.Choice(field["enum"])
    if field.get("format") == "date-time":
        # A competition opens at the start of a day and closes at its end.
        return Time() if name == "opens_at" else DueTime()
    if field["type"] == "integer":
        return Limit() if field.get("nullable") else click.INT
    return NameList() if field["type"] == "array" else click.STRING


def _ids(operation: Mapping[str, Any]) -> list[str]:
    """Return the names of the parameters for the ids in an operation's path: `team` for `team_id`."""
    return [name.removesuffix("_id") for name in re.findall(r"\{(\w+)\}", operation["path"])]


def _id_parameter(name: str, optional: str) -> Callable[[Any], Any]:
    kind = click.INT if name == "submission" else click.STRING
    if optional.startswith("--"):
        return click.option(optional, name, type=kind, help=f"The {name}; by default, all {name}s.")
    return click.argument(name, type=kind, required=not optional)


def _id(desk: Organizer, name: str, value: Any) -> Any:
    """Return the id of a team or an organizer with a name, or the number of a submission."""
    if name == "team":
        return desk.team(value)["id"]
    return desk.organizer(value)["user_id"] if name == "user" else value
