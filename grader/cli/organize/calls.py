"""Commands of `fairboard competition` that send one request each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import click

from grader.cli.organize.acts import FILE, act_on_site
from grader.cli.organize.setup import require_released
from grader.cli.parameters import text_of
from grader.client import Client
from grader.client.organizer import Organizer
from grader.text import aligned, csv_lines

ROLES = ("owner", "editor", "viewer")
SECTIONS = ("nothing", "divisions", "teams")
team_argument = click.argument("team")
organizer_argument = click.argument("organizer", metavar="USER")


@dataclass(frozen=True)
class Call:
    """A command that sends one request below the organizers' endpoints of a competition.

    `path` may contain the id of a `{team}` or an `{organizer}`, which are arguments of the command; its other
    parameters are the fields of the body. `done` is the text to print: a template of the parameters and the
    `answer`, or a function of both. `before` runs before the request. A command that can be undone
    confirms itself.
    """

    method: str
    path: str
    summary: str
    done: str | Callable[[Mapping[str, Any], Any], str]
    parameters: tuple[Callable[[Any], Any], ...] = ()
    before: Callable[[Organizer], Any] = lambda _desk: None

    def command(self, name: str) -> click.Command:
        """Return the click command."""

        def act(client: Client, slug: str, **given: Any) -> tuple[Any, str]:
            desk = client.organize(slug, confirm=True)
            self.before(desk)
            ids: dict[str, Any] = {}
            if "{team}" in self.path:
                ids["team"] = desk.team(given["team"])["id"]
            if "{organizer}" in self.path:
                ids["organizer"] = desk.organizer(given["organizer"])["user_id"]
            sent = {key: value for key, value in given.items() if key not in ids and value is not None}
            answer = desk.call(self.method, self.path.format(**ids), json=sent or None)
            words = {"slug": slug, "answer": answer, **given}
            return answer, self.done(words, answer) if callable(self.done) else self.done.format(**words)

        act.__doc__ = self.summary
        view: Any = act_on_site(act)
        for decorate in reversed((click.argument("slug"), *self.parameters)):
            view = decorate(view)
        return click.command(name)(view)


def _text(_context: Any, _parameter: Any, path: Any) -> str:
    return text_of(path)


def _lines(_context: Any, _parameter: Any, path: Any) -> list[str]:
    return text_of(path).splitlines()


def _imported(_given: Mapping[str, Any], answer: Any) -> str:
    for note in answer["remarks"]:
        click.echo(note, err=True)
    values = ("student", "student_id", "section", "url")
    rows = [[each[name] for name in values] for each in answer["invitations"]]
    return csv_lines([["name", "student id", "section", "link"], *rows], line_end="\n").rstrip()


def _organizers(_given: Mapping[str, Any], answer: Any) -> str:
    lines = [[each["name"], each["role"], each["added_at"][:10]] for each in answer["organizers"]]
    return "\n".join(aligned([["name", "role", "since"], *lines], numbers=False))


CALLS = {
    "announce": Call(
        "POST",
        "announcements",
        "Post the Markdown in the file TEXT as an announcement in SLUG.",
        "Announcement {answer[id]} was posted on the Home page of {slug}.",
        (
            click.argument("body", type=FILE, metavar="TEXT", callback=_text),
            click.option("--title", required=True, help="The title."),
            click.option("--mail", "by_mail", is_flag=True, help="Also e-mail it to all participants."),
        ),
    ),
    "disqualify": Call(
        "POST",
        "teams/{team}/disqualification",
        "Disqualify TEAM: its members are notified, and it cannot submit until it is reinstated.",
        "{answer[name]} is disqualified in {slug}: {answer[disqualified_because]}",
        (
            team_argument,
            click.option("--reason", required=True, help="The reason; only the team and organizers see it."),
        ),
    ),
    "publish": Call(
        "POST",
        "state/publish",
        "Publish the draft SLUG; afterwards, only a rescoring can change its metric or solution.",
        "{slug} is published.",
        before=require_released,
    ),
    "reinstate": Call(
        "POST",
        "teams/{team}/reinstatement",
        "Reinstate TEAM in SLUG.",
        "{answer[name]} is back on the leaderboards of {slug}.",
        (team_argument, click.option("--reason", default="", help="The reason, for the audit log.")),
    ),
    "roster": Call(
        "POST",
        "students",
        "Import the roster in FILE: add or change students, and invite the new ones with one-time links.",
        _imported,
        (
            click.argument("students", type=FILE, metavar="FILE", callback=_lines),
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
            click.option(
                "--renew-links", is_flag=True, help="Replace the links of students who have not joined."
            ),
            click.option("--remove-missing", is_flag=True, help="Remove students who are not in the file."),
        ),
    ),
}
ORGANIZERS = {
    "add": Call(
        "POST",
        "organizers",
        "Make the account NAME an organizer of SLUG.",
        "{name} is {role} of {slug}.",
        (
            click.argument("name"),
            click.option("--role", type=click.Choice(ROLES), default="editor", show_default=True),
        ),
    ),
    "list": Call("GET", "organizers", "List the organizers of SLUG and their roles.", _organizers),
    "remove": Call(
        "DELETE",
        "organizers/{organizer}",
        "Remove the organizer USER of SLUG.",
        "{organizer} is no longer an organizer of {slug}.",
        (organizer_argument,),
    ),
    "role": Call(
        "PATCH",
        "organizers/{organizer}",
        "Change the role of the organizer USER of SLUG.",
        "{organizer} is {role} of {slug}.",
        (organizer_argument, click.option("--role", type=click.Choice(ROLES), required=True)),
    ),
}
