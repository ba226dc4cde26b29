"""Framework for organizers' commands: site, request, output, confirmation."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any

import click

from grader.cli.client.connection import connected, failures_in_a_sentence
from grader.cli.group import SERVER, lacking
from grader.cli.output import show_json
from grader.cli.parameters import text_of
from grader.client import Client
from grader.client.errors import CONTROLS
from grader.client.organizer import Organizer, quoted

Act = Callable[..., tuple[Any, str]]
Found = tuple[dict[str, Any], tuple[str, ...]]
FAILED = 1


def act_on_site(act: Act) -> Callable[..., None]:
    """Turn an action on a site into a command; the action returns JSON data and text to print."""
    return _command(act, lambda _given: None)


def act_for_user(act: Act) -> Callable[..., None]:
    """Turn an action into a command that, in the local shell, acts as the user in its argument `user`."""
    return _command(act, lambda given: given["user"])


def _command(act: Act, acts_as: Callable[[dict[str, Any]], str | None]) -> Callable[..., None]:
    @click.option(
        "--server",
        envvar=SERVER,
        metavar="ADDRESS",
        help=f"The address of the site ({SERVER}); by default, the installation on this machine.",
    )
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
    @wraps(act)
    def command(server: str | None, as_json: bool, **given: Any) -> None:
        with _site(server, acts_as(given), as_json=as_json) as client:
            answer, text = act(client, **given)
            if as_json:
                show_json(answer)
            elif text:
                click.echo(CONTROLS.sub("", text) if sys.stdout.isatty() else text)

    return command


@contextmanager
def _site(server: str | None, acts_as: str | None, *, as_json: bool) -> Iterator[Client]:
    """Open the named site or, if none is named, the local one; ignore any stored login.

    For a remote site, the first line on stderr names it, so that no one closes a competition on the wrong
    site.
    """
    if server is not None:
        with connected(server, as_json=as_json) as client:
            click.echo(f"On {client.server}:", err=True)
            yield client
        return
    try:
        from grader.cli.organize.here import site_here
    except ModuleNotFoundError as error:
        raise lacking(error, click.get_current_context().command_path, "server") from error
    with failures_in_a_sentence(as_json=as_json, refused=FAILED), site_here(acts_as) as client:
        yield client


def installation_of(client: Client) -> Any:
    """Return the installation of a local client, or None for a remote site."""
    return getattr(client, "installation", None)


def nothing_found(_desk: Organizer, _given: Mapping[str, Any]) -> Found:
    """Return an empty dict: the request has no further parameters."""
    return {}, ()


def named_team(desk: Organizer, given: Mapping[str, Any]) -> Found:
    """Return the id of the team with the given name."""
    return {"team_id": desk.team(given["team"])["id"]}, ("team",)


@dataclass(frozen=True)
class Simple:
    """A command that sends a single request: its parameters, endpoint and output.

    `request` is a method and a path below the organizers' endpoints of the competition `slug`. Parameters
    that are not in the path are sent as JSON; `renamed` maps them to other names. `says` is a template filled
    with the parameters and the `answer`.
    """

    name: str
    takes: tuple[Callable[[Any], Any], ...]
    request: str
    says: str | Callable[[dict[str, Any], Any], str]
    help: str
    renamed: Mapping[str, str] = field(default_factory=dict)
    finds: Callable[[Organizer, Mapping[str, Any]], Found] = nothing_found
    is_confirmed: bool = False

    def command(self) -> click.Command:
        """Return the click command."""

        def act(client: Client, **given: Any) -> tuple[Any, str]:
            desk = client.organize(given["slug"])
            method, _, path = self.request.partition(" ")
            found, replaced = self.finds(desk, given)
            in_path = {*re.findall(r"\{(\w+)\}", path), *replaced, "slug"}
            sent = {
                self.renamed.get(name, name): plain(value)
                for name, value in given.items()
                if name not in in_path and value is not None
            }
            if self.is_confirmed:
                sent["confirm"] = True
            names = {name: quoted(value) for name, value in (given | found).items()}
            answer = desk.call(method, path.format(**names), json=None if method == "DELETE" else sent)
            says = self.says
            return answer, says(given, answer) if callable(says) else says.format(**given, answer=answer)

        act.__doc__ = self.help
        view: Any = act_on_site(act)
        for take in reversed(self.takes):
            view = take(view)
        return click.command(self.name)(view)


def plain(value: Any) -> Any:
    """Return a value as JSON data, with times in ISO 8601 and files as text."""
    if isinstance(value, datetime):
        return value.isoformat()
    return text_of(value) if isinstance(value, Path) else value


yes_option = click.option(
    "--yes",
    is_flag=True,
    help="Do not ask for confirmation of dates that have passed or are less than a day away; only with "
    "--server.",
)


def is_answered_yes(question: str) -> bool:
    """Ask for confirmation; without a terminal, return False."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        click.echo(err=True)
        return False
