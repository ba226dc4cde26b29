"""How a command works on another machine: it names the site, asks it, and prints what the local one does."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from grader.cli.client.connection import connected, connection_options
from grader.cli.client.shown import show_json
from grader.client import Client

Act = Callable[..., tuple[Any, str]]


def act_over_http(act: Act) -> Callable[..., None]:
    """Make a command of what asks a site and returns its answer and the lines to print.

    The first line, on the error stream, names the site: nobody should close another competition than meant.
    """

    @connection_options
    @wraps(act)
    def command(server: str | None, as_json: bool, **given: Any) -> None:
        with connected(server, as_json=as_json) as client:
            click.echo(f"On {client.server}:", err=True)
            answer, text = act(client, **given)
            if as_json:
                show_json(answer)
            elif text:
                click.echo(text)

    return command


def confirmed(client: Client, question: str, *, yes: bool) -> None:
    """Ask before an act that cannot be undone; the question names the site."""
    if not yes:
        click.confirm(f"{client.server}: {question}", abort=True, err=True)
