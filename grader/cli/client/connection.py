"""Which server and token a command uses, and how it ends where the server refuses or does not answer."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar
from urllib.parse import urlsplit

import click
from click.shell_completion import CompletionItem

from grader.cli.client import stored_login
from grader.cli.group import REJECTED, SERVER
from grader.client import Client, ClientError, NotScoredInTime, Refused, TokenRefused, Unreachable, Unusable
from grader.client.transport import site_address

REFUSED, NOT_IN_TIME, NOT_REACHED = 3, 4, 5
TOKEN, COMPETITION = "FAIRBOARD_TOKEN", "FAIRBOARD_COMPETITION"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
Command = TypeVar("Command", bound=Callable[..., Any])


class FileRefused(Unusable):
    """A file was read, and rejected for everything that the message lists."""

    public_name = "file_refused"


def connection_options(command: Command) -> Command:
    """Add `--server` and `--json`."""
    command = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(command)
    return click.option(
        "--server",
        envvar=SERVER,
        metavar="ADDRESS",
        help=f"The address of the site ({SERVER}); by default that of `fairboard login`.",
    )(command)


def competition_option(command: Command) -> Command:
    """Add `--competition`."""
    return click.option(
        "-c",
        "--competition",
        envvar=COMPETITION,
        metavar="SLUG",
        shell_complete=known_competitions,
        help=f"The competition ({COMPETITION}); not needed where the site has one.",
    )(command)


def known_competitions(_context: Any, _parameter: Any, incomplete: str) -> list[CompletionItem]:
    """Complete a competition from what was seen last on the server of the login: nothing is asked."""
    try:
        login = stored_login.read()
    except click.ClickException:
        return []
    return (
        [CompletionItem(slug) for slug in login.competitions if slug.startswith(incomplete)] if login else []
    )


@contextmanager
def connected(server: str | None, *, as_json: bool, competition: str | None = None) -> Iterator[Client]:
    """Open a client for a command; what goes wrong in the block ends the command with its exit code."""
    with failures_in_a_sentence(as_json=as_json):
        address, token = target(server)
        with Client(address, token, competition=competition, on_pause=_say_pause) as client:
            yield client


def target(server: str | None) -> tuple[str, str]:
    """Return the server and the token that a command uses.

    A stored token goes to the server of its login and to no other.
    """
    token = os.environ.get(TOKEN)
    login = stored_login.read() if server is None or not token else None
    if server is None and login is None:
        raise click.UsageError(f"Which server? Run `fairboard login`, or give --server or {SERVER}.")
    address = site_address(server) if server is not None else login.server  # type: ignore[union-attr]
    if not token and login is not None and login.server == address:
        token = login.token
    if not token:
        raise click.UsageError(
            f"There is no token for {address}: run `fairboard login {address}`, or set {TOKEN}."
        )
    return address, token


@contextmanager
def failures_in_a_sentence(*, as_json: bool, refused: int = REFUSED) -> Iterator[None]:
    """End a command where the client fails: 4 not in time, 5 not reached, `refused`, 1 anything else."""
    try:
        yield
    except ClientError as error:
        _end(error, as_json=as_json, refused=refused)


def is_unprotected(address: str) -> bool:
    """Return whether a token would go to another machine where anybody on the way can read it."""
    parts = urlsplit(address)
    return parts.scheme == "http" and parts.hostname not in LOOPBACK


def _end(error: ClientError, *, as_json: bool, refused: int) -> NoReturn:
    code = REJECTED if isinstance(error, FileRefused) else 1
    if isinstance(error, Refused):
        code = refused
    elif isinstance(error, NotScoredInTime):
        code = NOT_IN_TIME
    elif isinstance(error, Unreachable):
        code = NOT_REACHED
    if as_json:
        answer = {"error": error.public_name, "message": error.message, **error.details}
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
    click.echo(error.message if code == REJECTED else f"Error: {error.message}", err=True)
    for problem in getattr(error, "problems", ()):
        if problem["message"] not in error.message:
            click.echo(f"- {problem['message']}", err=True)
    if isinstance(error, TokenRefused):
        click.echo("`fairboard login` stores another token; the account page of the site has them.", err=True)
    raise click.exceptions.Exit(code) from error


def _say_pause(error: ClientError, seconds: float) -> None:
    if sys.stderr.isatty():
        click.echo(f"{error.message} Retrying in {seconds:.0f} s.", err=True)
