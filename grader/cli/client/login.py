"""`fairboard login` and `logout`: store or delete a server address and its API token."""

import sys
from urllib.parse import urlsplit

import click

from grader.cli.client.connection import (
    StoredLogin,
    failures_in_a_sentence,
    json_option,
    login_path,
    store_login,
)
from grader.cli.output import CommandOutput
from grader.client import Client
from grader.client.transport import LOOPBACK, site_address


@click.command()
@click.argument("site", required=False)
@click.option("--token-stdin", is_flag=True, help="Read the token from standard input.")
@json_option
def login(site: str | None, token_stdin: bool, as_json: bool) -> None:
    """Log in to SITE with an API token and store both for the other commands.

    \b
    fairboard login https://fairboard.example.org
    printf %s "$TOKEN" | fairboard login https://fairboard.example.org --token-stdin

    Create the token on your account page. It is stored in a file that only you can read. The next login
    replaces it.
    """
    if site is None:
        site = click.prompt("Site (such as https://fairboard.example.org)", err=True)
    with failures_in_a_sentence(as_json=as_json):
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
    store_login(StoredLogin(address, token))
    answer = {"server": address, "token_is_in": str(login_path()), "competitions": slugs}
    CommandOutput(answer, [f"Logged in to {address}. The token is in {login_path()}."]).show(as_json=as_json)


@click.command()
@json_option
def logout(as_json: bool) -> None:
    """Delete the stored server and token from this machine.

    The token stays valid until you revoke it on your account page.
    """
    was_there = login_path().exists()
    login_path().unlink(missing_ok=True)
    line = "Logged out." if was_there else "You were not logged in."
    CommandOutput({"was_logged_in": was_there}, [line]).show(as_json=as_json)
