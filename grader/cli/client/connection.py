"""Server connection for commands: address, token, stored login, exit codes."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import click
from click.shell_completion import CompletionItem

from grader.cli.group import REJECTED, SITE
from grader.cli.output import CommandOutput, say, show_json
from grader.client import Client, ClientError, NotScoredInTime, Refused, TokenRefused, Unreachable, Unusable
from grader.client.transport import LOOPBACK, site_address

REFUSED, NOT_IN_TIME, NOT_REACHED = 3, 4, 5
TOKEN, COMPETITION = "FAIRBOARD_TOKEN", "FAIRBOARD_COMPETITION"


class FileRefused(Unusable):
    """A file was rejected; the message lists all problems."""

    public_name = "file_refused"


def known_competitions(_context: Any, _parameter: Any, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a competition from the stored login, without sending a request."""
    try:
        login = read_login()
    except click.ClickException:
        return []
    return (
        [CompletionItem(slug) for slug in login.competitions if slug.startswith(incomplete)] if login else []
    )


COMPETITION_OPTION = click.option(
    "-c",
    "--competition",
    envvar=COMPETITION,
    metavar="SLUG",
    shell_complete=known_competitions,
    help=f"The competition ({COMPETITION}); not needed if the site has only one.",
)


def on_site(*options: Callable[[Any], Any]) -> Callable[[Callable[..., CommandOutput]], Callable[..., None]]:
    """Return a decorator that passes a client to a command and prints its result."""

    def decorate(act: Callable[..., CommandOutput]) -> Callable[..., None]:
        @click.option(
            "--site",
            envvar=SITE,
            metavar="URL",
            help=f"The address of the site ({SITE}); by default, the address stored by `fairboard login`.",
        )
        @click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
        @wraps(act)
        def command(site: str | None, as_json: bool, competition: str | None = None, **given: Any) -> None:
            with connected(site, as_json=as_json, competition=competition) as client:
                result = act(client, **given)
            result.show(as_json=as_json)

        for option in options:
            command = option(command)
        return command

    return decorate


@contextmanager
def connected(
    site: str | None, *, as_json: bool, competition: str | None = None, token: str | None = None
) -> Iterator[Client]:
    """Open a client for a command; on an error in the block, exit with the matching exit code.

    By default, the token is the user's own.
    """
    with failures_in_a_sentence(as_json=as_json):
        address, token = target(site) if site is None or token is None else (site_address(site), token)
        with Client(address, token, competition=competition, on_pause=_say_pause) as client:
            yield client


def target(site: str | None) -> tuple[str, str]:
    """Return a command's server and token; a stored token is used only for its own server."""
    token = os.environ.get(TOKEN)
    login = read_login() if site is None or not token else None
    if site is None and login is None:
        raise click.UsageError(f"No site is set. Run `fairboard login`, specify --site, or set {SITE}.")
    address = site_address(site) if site is not None else login.server  # type: ignore[union-attr]
    if not token and login is not None and login.server == address:
        token = login.token
    if not token:
        raise click.UsageError(
            f"There is no token for {address}. Run `fairboard login {address}`, or set {TOKEN}."
        )
    return address, token


@contextmanager
def failures_in_a_sentence(*, as_json: bool) -> Iterator[None]:
    """Map client errors to exit codes: 4 for a timeout, 5 if unreachable, 3 if denied, or else 1."""
    try:
        yield
    except ClientError as error:
        _end(error, as_json=as_json)


def is_unprotected(address: str) -> bool:
    """Return whether a token would be sent unencrypted over a network."""
    parts = urlsplit(address)
    return parts.scheme == "http" and parts.hostname not in LOOPBACK


def _end(error: ClientError, *, as_json: bool) -> NoReturn:
    code = REJECTED if isinstance(error, FileRefused) else 1
    if isinstance(error, Refused):
        code = REFUSED
    elif isinstance(error, NotScoredInTime):
        code = NOT_IN_TIME
    elif isinstance(error, Unreachable):
        code = NOT_REACHED
    if as_json:
        show_json({"error": error.public_name, "message": error.message, **error.details})
    say(error.message if code == REJECTED else f"Error: {error.message}", err=True)
    for problem in getattr(error, "problems", ()):
        if problem["message"] not in error.message:
            say(f"- {problem['message']}", err=True)
    if isinstance(error, TokenRefused):
        click.echo("Create an API token on your account page, then run `fairboard login`.", err=True)
    raise click.exceptions.Exit(code) from error


def _say_pause(error: ClientError, seconds: float) -> None:
    if sys.stderr.isatty():
        say(f"{error.message} Retrying in {seconds:.0f} s.", err=True)


@dataclass(frozen=True)
class StoredLogin:
    """A server, its competitions at the time of the login (for shell completion), and the token."""

    server: str
    token: str
    competitions: tuple[str, ...] = ()


def login_path() -> Path:
    """Return the path of the stored login."""
    return Path(click.get_app_dir("fairboard")) / "login.json"


def read_login() -> StoredLogin | None:
    """Return the stored login, or None if there is none; reject a file that other users can read."""
    try:
        if os.name == "posix" and login_path().stat().st_mode & 0o077:
            raise click.ClickException(
                f"Other users can read {login_path()}. Run `chmod 600 {login_path()}` or log in again."
            )
        login = json.loads(login_path().read_text(encoding="utf-8"))
        return StoredLogin(
            server=str(login["server"]),
            token=str(login["token"]),
            competitions=tuple(map(str, login.get("competitions", ()))),
        )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise click.ClickException(f"{login_path()} is damaged. Log in again.") from error
    except OSError as error:
        raise click.ClickException(f"{login_path()} cannot be read: {error.strerror}.") from error


def store_login(login: StoredLogin) -> None:
    """Replace the stored login in a file that only this user can read."""
    login_path().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = login_path().with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(asdict(login), file)
    new.replace(login_path())


def forget_login() -> bool:
    """Delete the stored login; return whether there was one."""
    was_there = login_path().exists()
    login_path().unlink(missing_ok=True)
    return was_there
