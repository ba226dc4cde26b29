"""Server connection for commands: address, token, questions, exit codes; `login` and `logout`."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from grader.cli.group import REJECTED, SITE
from grader.cli.output import CONTROLS, CommandOutput, say, show_json
from grader.cli.parameters import json_option
from grader.client import Client, NotScoredInTime, Refused, TokenRefused, Unreachable, Unusable
from grader.client.transport import LOOPBACK, OnQuestion, site_address
from grader.errors import FairboardError

REFUSED, NOT_IN_TIME, NOT_REACHED = 3, 4, 5
TOKEN, COMPETITION = "FAIRBOARD_TOKEN", "FAIRBOARD_COMPETITION"
UNCONFIRMED = "Nothing was changed. Answer y to confirm, or use --yes in a script."


class FileRefused(Unusable):
    """A file was rejected; the message lists all problems."""

    public_name = "file_refused"


CODES = {FileRefused: REJECTED, Refused: REFUSED, NotScoredInTime: NOT_IN_TIME, Unreachable: NOT_REACHED}
yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation (for scripts).")
competition_option = click.option(
    "-c",
    "--competition",
    envvar=COMPETITION,
    metavar="SLUG",
    help=f"The competition ({COMPETITION}); not needed if the site has only one.",
)
Act = Callable[..., CommandOutput]


def participants(act: Act) -> Callable[..., None]:
    """Pass a client of the stored or named site to a command, and print its result."""
    return _command(act, connected, "the address stored by `fairboard login`")


def organizers(act: Act) -> Callable[..., None]:
    """Pass a client of this machine's site, or of the named one, to a command, and print its result."""
    who = "The account to act as on this machine's site; by default, the first administrator."
    user_option = click.option("--as", "user", metavar="USER", help=who)
    return user_option(_command(act, _organizers_client, "the site that runs on this machine"))


def _command(act: Act, connect: Callable[..., Any], default: str) -> Callable[..., None]:
    @click.option(
        "--site",
        envvar=SITE,
        metavar="URL",
        help=f"The address of the site ({SITE}); by default, {default}.",
    )
    @json_option
    @wraps(act)
    def command(site: str | None, as_json: bool, **values: Any) -> None:
        account = {name: values.pop(name) for name in ("competition", "user") if name in values}
        with exit_codes(as_json=as_json), connect(site, **account) as client:
            result = act(client, **values)
        result.show(as_json=as_json)

    return command


@contextmanager
def _organizers_client(site: str | None, user: str | None) -> Iterator[Client]:
    """Open the named site with the stored token, or this machine's site with a token made for `user`.

    For a named site, the first line on stderr shows it, so that no one closes a competition on the wrong
    site.
    """
    if site is not None and user is None:
        with connected(site) as client:
            click.echo(f"On {client.server}:", err=True)
            yield client
        return
    from grader.cli.installation import acting_as

    with acting_as(user) as (address, token), Client(site or address, token) as client:
        yield client


@contextmanager
def connected(site: str | None, *, competition: str | None = None) -> Iterator[Client]:
    """Open a client with the user's own token; a stored token is used only for its own server."""
    token = os.environ.get(TOKEN)
    login = {} if site and token else read_login()
    if not site and not login:
        raise click.UsageError(f"No site is set. Run `fairboard login SITE`, specify --site, or set {SITE}.")
    address = site_address(site or login["server"])
    if not token and login.get("server") == address:
        token = login["token"]
    if not token:
        raise click.UsageError(
            f"There is no token for {address}. Run `fairboard login {address}`, or set {TOKEN}."
        )
    with Client(address, token, competition=competition) as client:
        yield client


@contextmanager
def exit_codes(*, as_json: bool) -> Iterator[None]:
    """Map errors to exit codes: 4 for a timeout, 5 if unreachable, 3 if denied, or else 1."""
    try:
        yield
    except FairboardError as error:
        if isinstance(error, Refused) and error.name == "unconfirmed":
            error = Unusable(UNCONFIRMED)
        code = next((code for kind, code in CODES.items() if isinstance(error, kind)), 1)
        if as_json:
            show_json({"error": error.public_name, "message": error.message, **error.details})
        say(error.message if code == REJECTED else f"Error: {error.message}", err=True)
        if isinstance(error, TokenRefused):
            click.echo("Create an API token on your account page, then run `fairboard login`.", err=True)
        raise click.exceptions.Exit(code) from error


def asking(*, yes: bool) -> OnQuestion:
    """Return a function that shows a question's effects and, unless `yes`, asks for confirmation.

    Without a terminal, the answer is no.
    """

    def is_confirmed(question: Mapping[str, Any]) -> bool:
        for sentence in question["sentences"]:
            say(sentence, err=True)
        try:
            return yes or click.confirm(CONTROLS.sub("", question["heading"]), err=True)
        except click.Abort:
            click.echo(err=True)
            return False

    return is_confirmed


def login_path() -> Path:
    """Return the path of the stored login."""
    return Path(click.get_app_dir("fairboard")) / "login.json"


def read_login() -> dict[str, str]:
    """Return the stored login, empty if there is none; reject a file that other users can read."""
    path = login_path()
    try:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise click.ClickException(
                f"Other users can read {path}. Run `chmod 600 {path}` or log in again."
            )
        stored = json.loads(path.read_text(encoding="utf-8"))
        return {name: stored[name] for name in ("server", "token")}
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, KeyError) as error:
        raise click.ClickException(f"{path} is damaged. Log in again.") from error


@click.command()
@click.argument("site")
@click.option("--token-stdin", is_flag=True, help="Read the token from standard input.")
@json_option
def login(site: str, token_stdin: bool, as_json: bool) -> None:
    """Log in to SITE with an API token and store both for the other commands.

    \b
    fairboard login https://fairboard.example.org
    printf %s "$TOKEN" | fairboard login https://fairboard.example.org --token-stdin

    Create the token on your account page. It is stored in a file that only you can read. The next login
    replaces it.
    """
    with exit_codes(as_json=as_json):
        address = site_address(site)
        parts = urlsplit(address)
        if parts.scheme == "http" and parts.hostname not in LOOPBACK:
            click.echo(
                f"{address} does not use HTTPS, so others on the network can read the token.", err=True
            )
        if token_stdin:
            token = sys.stdin.read().strip()
        else:
            token = click.prompt("API token", hide_input=True, err=True).strip()
        if not token:
            raise click.UsageError("The token is empty.")
        with Client(address, token) as client:
            slugs = tuple(each.slug for each in client.competitions())
    login_path().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = login_path().with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump({"server": address, "token": token}, file)
    new.replace(login_path())
    answer = {"server": address, "token_is_in": str(login_path()), "competitions": slugs}
    CommandOutput(answer, [f"Logged in to {address}. The token is in {login_path()}."]).show(as_json=as_json)


@click.command()
def logout() -> None:
    """Delete the stored server and token from this machine.

    The token stays valid until you revoke it on your account page.
    """
    login_path().unlink(missing_ok=True)
    click.echo("Logged out.")
