"""Commands that send one request each, from one table; `fairboard api` sends any request."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from grader.cli.client.connection import asking, organizers, yes_option
from grader.cli.output import CommandOutput, table_of
from grader.cli.parameters import (
    FILE,
    OUTPUT_FILE,
    fields_of,
    fields_option,
    options,
    roster_lines,
    text_of,
    with_texts,
)
from grader.client import Client, Unusable
from grader.client.organizer import quoted
from grader.text import csv_lines

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
ROLES = ("owner", "editor", "viewer")
SECTIONS = ("nothing", "divisions", "teams")
# The options of click for the arguments of paths.
ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "kind": {"type": click.Choice(("submissions", "standings", "scores", "audit", "grades"))},
    "organizer": {"metavar": "USER"},
    "person": {"metavar": "NAME"},
    "submission": {"type": int},
    "token_id": {"type": int},
}
ORGANIZE = "competitions/{slug}/organize"
ACCOUNT = ("name", "is_admin", "email", "email_verified_at", "created_at", "suspended_at")


version_option = click.option("--version", type=int, help="The scoring version; by default, live.")
# For each place in a path that holds a name: the path and key of its list, and the key of its id.
_LISTS: Mapping[str, tuple[str, str, str]] = {
    "team": (f"{ORGANIZE}/teams", "teams", "id"),
    "organizer": (f"{ORGANIZE}/organizers", "organizers", "user_id"),
    "person": ("people", "people", "id"),
}


def _named(client: Client, place: str, name: str, ids: Mapping[str, Any]) -> tuple[Any, str]:
    """Return the id and the exact name of a team, organizer or person; raise Unusable if there is none."""
    path, key, id_key = _LISTS[place]
    for page in client.pages_of(path.format(**ids), q=name):
        for each in page[key]:
            if each["name"].casefold() == name.casefold():
                return each[id_key], each["name"]
    raise Unusable(f"There is no {place} with the name {name!r}.")


@dataclass(frozen=True)
class Call:
    """A command that sends one request.

    `path` may contain arguments of the command, such as a `{slug}` or the id of a `{team}`; the other
    parameters are the fields of the body. `done` is the text to print: a template of the parameters and the
    `answer`, or a function that returns the lines. With `table`, all pages of the list with this key are read
    instead, and these fields of its items printed. With `file`, the response is written to a file, by default
    with this name or, if it is empty, to standard output. The request confirms itself unless the command
    `asks`.
    """

    method: str
    path: str
    summary: str
    done: str | Callable[[Any], list[str]] = ""
    parameters: tuple[Callable[[Any], Any], ...] = ()
    table: tuple[str, Sequence[str]] | None = None
    file: str | None = None
    asks: bool = False

    def command(self, name: str) -> click.Command:
        """Return the click command."""
        places = re.findall(r"{(\w+)}", self.path)

        def act(client: Client, yes: bool = True, **values: Any) -> CommandOutput:
            sent = values.pop("fields", {})
            ids = {place: quoted(values[place]) for place in places}
            for place in _LISTS.keys() & ids.keys():
                ids[place], values[place] = _named(client, place, values[place], ids)
            fields = {key: value for key, value in values.items() if key not in ids and value is not None}
            fields |= sent
            path, confirm = self.path.format(**ids), asking(yes=yes) if self.asks else True
            if self.table:
                key, columns = self.table
                rows = [each for page in client.pages_of(path, **fields) for each in page[key]]
                return CommandOutput({key: rows}, table_of(rows, columns))
            if self.file is not None:
                output = fields.pop("output", None) or self.file.replace("SLUG", values.get("slug", ""))
                response = client.ask(self.method, path, fields)
                if not output:
                    return CommandOutput({"text": response.text}, text=response.text)
                Path(output).write_bytes(response.content)
                return CommandOutput({"path": str(output)}, [f"Written: {output}"])
            answer = client.call(self.method, path, fields, confirm=confirm)
            done = self.done
            lines = done(answer) if callable(done) else [done.format(answer=answer, **values)]
            return CommandOutput(answer, lines)

        act.__doc__ = self.summary
        parameters = [click.argument(place, **ARGUMENTS.get(place, {})) for place in places]
        parameters += [*self.parameters, *([yes_option] if self.asks else [])]
        if self.file is not None:
            help_text = f"The file to write; by default, {self.file or 'standard output'}."
            parameters.append(click.option("-o", "--output", type=OUTPUT_FILE, help=help_text))
        return click.command(name)(options(*parameters)(organizers(act)))


def _imported(answer: Any) -> list[str]:
    for note in answer["remarks"]:
        click.echo(note, err=True)
    values = ("student", "student_id", "section", "url")
    rows = [[each[name] for name in values] for each in answer["invitations"]]
    return [csv_lines([["name", "student id", "section", "link"], *rows], line_end="\n").rstrip()]


def changed(answer: Any) -> list[str]:
    """Return the names of the changed settings as a line; print the warnings about the competition."""
    for warning in answer["warnings"]:
        click.echo(f"Warning: {warning['message']}", err=True)
    return [f"Changed: {', '.join(sorted(answer['changed'])) or 'nothing'}."]


def _data_files(answer: Any) -> list[str]:
    lines = list[str]()
    for file in answer["files"]:
        sentences = [*file["discloses"], *file["unopened"]]
        lines += [f"{file['name']}: {file['state']}.", *(f"- {each}." for each in sentences)]
    return lines


def _role_option(**options: Any) -> Callable[[Any], Any]:
    return click.option("--role", type=click.Choice(ROLES), **options)


def _of_account(verb: str, method: str, path: str, done: str, effect: str) -> Call:
    """Return a command that suspends, reinstates or deletes an account after a question."""
    reason = click.option("--reason", default="", help="The reason; a suspended user sees it.")
    question = click.confirmation_option(prompt=f"{verb} this account?")
    summary, text = f"{verb} the account NAME: {effect}.", f"The account {{person}} is {done}."
    return Call(method, f"people/{{person}}{path}", summary, text, (reason, question))


CALLS = {
    "announce": Call(
        "POST",
        f"{ORGANIZE}/announcements",
        "Post the Markdown in the file TEXT as an announcement in SLUG.",
        "Announcement {answer[id]} was posted on the Home page of {slug}.",
        (
            click.argument("body", type=FILE, metavar="TEXT", callback=lambda *values: text_of(values[2])),
            click.option("--title", required=True, help="The title."),
            click.option("--mail", "by_mail", is_flag=True, help="Also e-mail it to all participants."),
        ),
    ),
    "audit": Call(
        "GET",
        f"{ORGANIZE}/audit",
        "Print the audit log of SLUG, newest actions first.",
        parameters=(
            fields_option("`action` (such as team or team.disqualify) or `by` (an account or origin)."),
        ),
        table=("entries", ("at", "actor", "origin", "action", "subject", "reason")),
    ),
    "bundle": Call(
        "GET",
        f"{ORGANIZE}/exports/results.zip",
        "Write the results of SLUG as a ZIP file: CSV tables, the published solution and a README.",
        file="SLUG-results.zip",
    ),
    "change": Call(
        "PATCH",
        f"{ORGANIZE}/settings",
        """Change settings of SLUG; @FILE as the value is the text of a file, and [1, 2] or null is JSON.

        \b
        fairboard competition change toxicity closes_at=2030-01-31T23:59Z max_daily_submissions=5
        fairboard competition change toxicity rules=@rules.md

        Changed rules get a new version, which participants must accept before their next submission.
        """,
        changed,
        (
            click.argument(
                "fields",
                metavar="NAME=VALUE…",
                nargs=-1,
                required=True,
                callback=lambda *values: with_texts(fields_of(*values)),
            ),
        ),
        asks=True,
    ),
    "data": Call(
        "GET",
        f"{ORGANIZE}/data",
        "List the data files of SLUG, and what each file would disclose.",
        _data_files,
    ),
    "disqualify": Call(
        "POST",
        f"{ORGANIZE}/teams/{{team}}/disqualification",
        "Disqualify TEAM: its members are notified, and it cannot submit until it is reinstated.",
        "{answer[name]} is disqualified in {slug}: {answer[disqualified_because]}",
        (click.option("--reason", required=True, help="The reason; only the team and organizers see it."),),
    ),
    "export": Call(
        "GET",
        f"{ORGANIZE}/exports/{{kind}}.csv",
        "Export submissions, standings, scores (with breakdowns), students' grades or the audit log of SLUG.",
        parameters=(version_option,),
        file="",
    ),
    "list": Call(
        "GET",
        "competitions",
        "List all competitions, newest first.",
        table=("competitions", ("slug", "state", "opens_at", "closes_at", "title")),
    ),
    "metric-file": Call(
        "POST",
        f"{ORGANIZE}/metric-file",
        "Use the metric in FILE, a metric.py, for SLUG; SAMPLE is a sample submission with its columns.",
        lambda answer: [
            f"The metric {answer['sha256'][:12]} is "
            + ("in use." if answer["is_in_use"] else "being checked; use it with `fairboard rescore`.")
        ],
        (
            click.argument("file", type=FILE),
            click.argument("sample", type=FILE, required=False),
            fields_option("title, direction (lowest or highest), decimals, nonnegative or arguments (JSON)."),
        ),
    ),
    "publish": Call(
        "POST",
        f"{ORGANIZE}/state/publish",
        "Publish the draft SLUG; afterwards, only a rescoring can change its metric or solution.",
        "{slug} is published.",
    ),
    "publish-solution": Call(
        "POST",
        f"{ORGANIZE}/close/solution",
        "Publish the solution of SLUG, and show each team its complete receipts.",
        "The solution of {slug} is public.",
        (click.option("--reason", default="", help="The reason; the audit log shows it."),),
        asks=True,
    ),
    "receipt": Call(
        "GET",
        "submissions/{submission}/receipt",
        "Print the complete receipt of SUBMISSION's score as JSON, for `fairboard verify`.",
        parameters=(version_option,),
        file="",
    ),
    "reinstate": Call(
        "POST",
        f"{ORGANIZE}/teams/{{team}}/reinstatement",
        "Reinstate TEAM in SLUG.",
        "{answer[name]} is back on the leaderboards of {slug}.",
        (click.option("--reason", default="", help="The reason, for the log."),),
    ),
    "reveal": Call(
        "POST",
        f"{ORGANIZE}/close/reveal",
        "Reveal the private leaderboard of SLUG to everyone; this closes an open competition.",
        "The private leaderboard of {slug} is revealed. {answer[failed_count]} submissions failed because of "
        "server errors and are not ranked.\n"
        "If {slug} takes late submissions, participants can derive the labels of this test set from their "
        "scores.\nTo disable them, run `fairboard competition change {slug} takes_late_submissions=false`.",
        asks=True,
    ),
    "roster": Call(
        "POST",
        f"{ORGANIZE}/students",
        "Import the roster in FILE: add or change students, and invite the new ones with one-time links.",
        _imported,
        (
            click.argument(
                "students",
                type=FILE,
                metavar="FILE",
                callback=lambda *values: roster_lines(values[2]),
            ),
            click.option("--mail", "by_mail", is_flag=True, help="E-mail the links to the students."),
            click.option(
                "--own-accounts",
                is_flag=True,
                help="Create no links; a verified address identifies students who join.",
            ),
            click.option(
                "--sections",
                type=click.Choice(SECTIONS),
                help="Whether sections become divisions or teams; by default, as in the last import.",
            ),
            click.option("--remove-missing", is_flag=True, help="Remove students who are not in the file."),
            fields_option("renew_links, has_headings, or columns: a JSON list of their meanings."),
        ),
        asks=True,
    ),
    "settings": Call(
        "GET",
        f"{ORGANIZE}/settings.toml",
        "Print the settings of SLUG as a file for `create` and `apply`.",
        file="",
    ),
}
ORGANIZERS = {
    "add": Call(
        "POST",
        f"{ORGANIZE}/organizers",
        "Make the account NAME an organizer of SLUG.",
        "{name} is {role} of {slug}.",
        (click.argument("name"), _role_option(default="editor", show_default=True)),
    ),
    "list": Call(
        "GET",
        f"{ORGANIZE}/organizers",
        "List the organizers of SLUG and their roles.",
        table=("organizers", ("name", "role", "added_at")),
    ),
    "remove": Call(
        "DELETE",
        f"{ORGANIZE}/organizers/{{organizer}}",
        "Remove the organizer USER of SLUG.",
        "{organizer} is no longer an organizer of {slug}.",
    ),
    "role": Call(
        "PATCH",
        f"{ORGANIZE}/organizers/{{organizer}}",
        "Change the role of the organizer USER of SLUG.",
        "{organizer} is {role} of {slug}.",
        (_role_option(required=True),),
    ),
}
ACCOUNTS = {
    "delete": _of_account(
        "Delete", "DELETE", "", "deleted", "it is anonymized, and teams keep their results"
    ),
    "invite": Call(
        "POST",
        "invitations",
        "Print an invitation link, which creates one account and expires after 14 days.",
        "{answer[url]}",
    ),
    "list": Call(
        "GET",
        "people",
        "List the accounts.",
        parameters=(
            click.option("--search", "q", help="Show only accounts with this text in their name or address."),
        ),
        table=("people", ACCOUNT),
    ),
    "reinstate": _of_account("Reinstate", "POST", "/reinstate", "reinstated", "the user can log in again"),
    "reset-link": Call(
        "POST",
        "people/{person}/reset-link",
        "Print a link that lets NAME set a new password; it works only once and expires after a day.",
        "{answer[url]}",
    ),
    "suspend": _of_account(
        "Suspend", "POST", "/suspend", "suspended", "sessions and tokens end, and teams keep their results"
    ),
}
TOKENS = {
    "list": Call(
        "GET",
        "tokens",
        "List your own API tokens or, with --as, those of USER.",
        table=("tokens", ("id", "name", "begins_with", "scopes", "expires_at")),
    ),
    "revoke": Call(
        "DELETE",
        "tokens/{token_id}",
        "Revoke your API token TOKEN_ID; `list` shows the ids.",
        "The token {token_id} is revoked.",
    ),
}


@click.command()
@click.argument("method", type=click.Choice(METHODS, case_sensitive=False))
@click.argument("path")
@fields_option(
    "A field of the request; @FILE as the value sends a file, and [1, 2] or null is JSON. Repeatable."
)
@yes_option
@organizers
def api(client: Client, method: str, path: str, fields: dict[str, Any], yes: bool) -> CommandOutput:
    """Send a request to PATH below /api/v1 and print the JSON response.

    \b
    fairboard api GET competitions
    fairboard api POST competitions/toxicity/organize/state/archive --yes
    fairboard api POST competitions/toxicity/organize/data -f file=@test.csv

    /api/openapi.json on the site describes all requests.
    """
    response = client.ask(method, path.lstrip("/"), fields, confirm=asking(yes=yes))
    if not response.headers.get("Content-Type", "").startswith("application/json"):
        return CommandOutput({"text": response.text}, text=response.text)
    answer = response.json()
    return CommandOutput(answer, [json.dumps(answer, indent=2, ensure_ascii=False)])
