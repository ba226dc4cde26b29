"""`fairboard api`: any operation of the API."""

import json
from collections.abc import Mapping
from typing import Any

import click

from grader.cli.organize.acts import act_on_site, asking, fields_of, yes_option
from grader.client import Client

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@click.command()
@click.argument("method", type=click.Choice(METHODS, case_sensitive=False))
@click.argument("path")
@click.option(
    "-f",
    "--field",
    "words",
    metavar="NAME=VALUE",
    multiple=True,
    help="A field of the request; @FILE as the value sends a file, and [1, 2] or null is JSON. Repeatable.",
)
@yes_option
@act_on_site
def api(client: Client, method: str, path: str, words: tuple[str, ...], yes: bool) -> tuple[Any, str]:
    """Send a request to PATH below /api/v1 and print the JSON response.

    \b
    fairboard api GET competitions
    fairboard api POST competitions/toxicity/organize/state/archive --yes
    fairboard api POST competitions/toxicity/organize/data -f file=@test.csv

    /api/openapi.json on the site describes all requests.
    """
    fields = fields_of(words)
    answer = client.request(method, path, fields=fields, confirm=asking(yes=yes))
    if isinstance(answer, str):
        return {"text": answer}, answer.removesuffix("\n")
    return answer, _shown(answer)


def _shown(answer: Mapping[str, Any]) -> str:
    return json.dumps(answer, indent=2, ensure_ascii=False) if answer else ""
