"""Framework for organizers' commands: site, token, output, confirmation."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import click

from grader.cli.client.connection import connected
from grader.cli.group import SITE, lacking
from grader.cli.output import CONTROLS, say, show_json
from grader.cli.parameters import LocalPath, text_of
from grader.client import Client, Refused, Unusable
from grader.client.transport import OnQuestion

FILE = LocalPath(exists=True, dir_okay=False)
JSON_STARTS = ("[", "{")
WORDS: dict[str, Any] = {"null": None, "true": True, "false": False}


def fields_of(words: Iterable[str]) -> dict[str, Any]:
    """Return the values by name; a path for @FILE, JSON as its value, and any other value as text.

    The server reads numbers and times from text.
    """
    fields: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise click.UsageError(f"{word!r} must be NAME=VALUE.")
        fields[name] = _value(name, value)
    return fields


def texts_of(words: Iterable[str]) -> dict[str, Any]:
    """Return the values by name, with the text of each file."""
    return {
        name: text_of(value) if isinstance(value, Path) else value for name, value in fields_of(words).items()
    }


def _value(name: str, value: str) -> Any:
    if value.startswith("@"):
        path: Path = FILE.convert(value[1:], None, None)
        return path
    if value in WORDS:
        return WORDS[value]
    if not value.startswith(JSON_STARTS):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise click.UsageError(f"The value of {name} is not valid JSON.") from None


Act = Callable[..., tuple[Any, str]]
UNCONFIRMED = "Nothing was changed. Answer y to confirm, or use --yes in a script."


def act_on_site(act: Act) -> Callable[..., None]:
    """Turn an action on a site into a command; the action returns JSON data and text to print."""

    @click.option(
        "--site",
        envvar=SITE,
        metavar="URL",
        help=f"The address of the site ({SITE}); by default, the site that runs on this machine.",
    )
    @click.option(
        "--as",
        "user",
        metavar="USER",
        help="The account to act as with the database on this machine; by default, the first administrator.",
    )
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
    @wraps(act)
    def command(site: str | None, user: str | None, as_json: bool, **given: Any) -> None:
        with _client(site, user, as_json=as_json) as client:
            try:
                answer, text = act(client, **given)
            except Refused as error:
                if error.name != "unconfirmed":
                    raise
                raise Unusable(UNCONFIRMED) from error
            if as_json:
                show_json(answer)
            elif text:
                click.echo(CONTROLS.sub("", text) if sys.stdout.isatty() else text)

    return command


@contextmanager
def _client(site: str | None, user: str | None, *, as_json: bool) -> Iterator[Client]:
    """Open the named site with the stored token, or this machine's site with a token made for `user`.

    For a named site, the first line on stderr shows it, so that no one closes a competition on the wrong
    site.
    """
    if site is not None and user is None:
        with connected(site, as_json=as_json) as client:
            click.echo(f"On {client.server}:", err=True)
            yield client
        return
    try:
        from grader.cli.organize.local import acting_as
    except ModuleNotFoundError as error:
        raise lacking(error, click.get_current_context().command_path, "server") from error
    with (
        acting_as(user) as (address, token),
        connected(site or address, as_json=as_json, token=token) as client,
    ):
        yield client


yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation (for scripts).")


def asking(*, yes: bool) -> OnQuestion:
    """Return a function that shows a question's effects and, unless `yes`, asks for confirmation."""
    has_asked = False

    def is_confirmed(question: Mapping[str, Any]) -> bool:
        nonlocal has_asked
        if has_asked:
            click.echo("Something has changed in the meantime. Nothing has been done yet.", err=True)
        has_asked = True
        for sentence in question["sentences"]:
            say(sentence, err=True)
        return yes or is_answered_yes(CONTROLS.sub("", question["heading"]))

    return is_confirmed


def is_answered_yes(question: str) -> bool:
    """Ask for confirmation; without a terminal, return False."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        click.echo(err=True)
        return False
