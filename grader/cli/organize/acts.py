"""Framework for organizers' commands: site, output, confirmation."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any

import click

from grader.cli.client.connection import connected, failures_in_a_sentence
from grader.cli.group import SERVER, lacking
from grader.cli.output import show_json
from grader.client import Client, Refused, Unusable
from grader.client.errors import CONTROLS
from grader.client.organizer import OnQuestion

Act = Callable[..., tuple[Any, str]]
FAILED = 1
UNCONFIRMED = "Nothing was changed. Answer y to confirm, or use --yes in a script."


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
            click.echo(CONTROLS.sub("", sentence), err=True)
        return yes or is_answered_yes(CONTROLS.sub("", question["heading"]))

    return is_confirmed


def is_answered_yes(question: str) -> bool:
    """Ask for confirmation; without a terminal, return False."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        click.echo(err=True)
        return False
