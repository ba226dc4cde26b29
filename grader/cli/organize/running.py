"""`fairboard competition`: grant, retry, export, audit, organizer, accounts."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from grader.cli.organize.acts import act_on_site
from grader.cli.parameters import LocalPath, text_of
from grader.client import Client, Unusable
from grader.client.organizer import Organizer
from grader.text import aligned

KINDS, FORMATS = ("submissions", "standings", "scores", "audit"), ("csv", "json")
ROLES = ("owner", "editor", "viewer")
PAGE_ROWS = 50


@click.command()
@click.argument("slug")
@click.argument("count", type=int)
@click.option("--team", help="The team; by default, every team.")
@click.option("--day", type=click.DateTime(["%Y-%m-%d"]), help="The UTC day; by default, today.")
@click.option("--reason", required=True, help="The reason; shown in the public log.")
@act_on_site
def grant(
    client: Client, slug: str, count: int, team: str | None, day: datetime | None, reason: str
) -> tuple[Any, str]:
    """Give a team of SLUG, or every team, COUNT extra submissions on a day."""
    desk = client.organize(slug)
    path = "teams/grants" if team is None else f"teams/{desk.team(team)['id']}/grants"
    sent = {"day": f"{day or datetime.now(UTC):%Y-%m-%d}", "count": count, "reason": reason}
    made = desk.call("POST", path, json=sent)
    until = datetime.fromisoformat(made["ends_at"])
    return made, (
        f"Extra submissions for {team or 'every team'} on {made['day']}: {made['count']:,}. "
        f"They are available until {until:%Y-%m-%d %H:%M} UTC."
    )


@click.command()
@click.argument("slug")
@click.argument("user")
@click.option("--refuse", is_flag=True, help="Reject the request to join.")
@act_on_site
def admit(client: Client, slug: str, user: str, refuse: bool) -> tuple[Any, str]:
    """Admit the account USER to SLUG, even without a request to join."""
    answer = client.organize(slug).call("POST", "entries", json={"name": user, "admit": not refuse})
    return answer, f"{user} is {'not admitted' if refuse else 'admitted'} to {slug}."


@click.command()
@click.argument("slug")
@click.argument("submission", type=int, required=False)
@act_on_site
def retry(client: Client, slug: str, submission: int | None) -> tuple[Any, str]:
    """Retry a failed SUBMISSION of SLUG, or all failed submissions."""
    path = "submissions/retry" if submission is None else f"submissions/{submission}/retry"
    answer = client.organize(slug).call("POST", path)
    count = answer["job_count"]
    return answer, (
        "1 submission is being retried." if count == 1 else f"{count:,} submissions are being retried."
    )


@click.command()
@click.argument("slug")
@click.argument("kind", type=click.Choice(KINDS))
@click.option("--format", "form", type=click.Choice(FORMATS), default="csv", show_default=True)
@click.option("--version", "number", type=int, help="The scoring version; by default, the live one.")
@click.option("-o", "--output", type=LocalPath(), help="The file to write; by default, standard output.")
@act_on_site
def export(
    client: Client, slug: str, kind: str, form: str, number: int | None, output: Path | None
) -> tuple[Any, str]:
    """Export the submissions, the standings, the scores (with all breakdowns) or the audit log of SLUG."""
    text = client.organize(slug).text(f"exports/{kind}.{form}", version=number)
    if output is None:
        return {"text": text}, text.removesuffix("\n")
    output.write_text(text, encoding="utf-8", newline="")
    return {"path": str(output)}, ""


@click.command("audit")
@click.argument("slug", required=False)
@click.option(
    "--action",
    default="",
    help=("Show only this action, or all actions on a type of object, such as `team`."),
)
@click.option(
    "--by",
    "person",
    default="",
    help="Show only actions by this account, or by an origin such as `calendar`.",
)
@click.option(
    "--page",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="The page to show; a page has 50 actions.",
)
@act_on_site
def show_audit(client: Client, slug: str | None, action: str, person: str, page: int) -> tuple[Any, str]:
    """Show the audit log of SLUG, newest actions first.

    Without SLUG, show actions on the site as a whole and on drafts that have been deleted.
    """
    asked = {"action": action or None, "by": person or None}
    pages = client.organize(slug).pages("audit", **asked) if slug else client.pages_of("audit", **asked)
    entries: list[dict[str, Any]] = []
    has_more = False
    for part in pages:
        entries += part["entries"]
        has_more = len(entries) > page * PAGE_ROWS or bool(part["next"])
        if len(entries) >= page * PAGE_ROWS:
            break
    shown = entries[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]
    if not shown and page > 1:
        click.echo(f"There is no page {page}; the last page is {-(-len(entries) // PAGE_ROWS)}.", err=True)
    elif has_more:
        click.echo(f"This is page {page}; `--page {page + 1}` shows earlier actions.", err=True)
    return {"entries": shown}, "\n".join(line for entry in shown for line in _lines(entry))


@click.group()
def organizer() -> None:
    """Manage the organizers: owners, editors and viewers (read only)."""


@organizer.command()
@click.argument("slug")
@click.argument("user")
@click.option(
    "--role", type=click.Choice(ROLES), default="editor", show_default=True, help="The role of USER."
)
@act_on_site
def add(client: Client, slug: str, user: str, role: str) -> tuple[Any, str]:
    """Make the account USER an organizer of SLUG, or change the role of an organizer."""
    desk = client.organize(slug)
    found = _organizer(desk, user)
    if found is None:
        answer = desk.call("POST", "organizers", json={"name": user, "role": role})
        found = _organizer(desk, user) or {"name": user}
    else:
        answer = desk.call("PATCH", f"organizers/{found['user_id']}", json={"role": role})
    return answer, f"{found['name']} is {role} of {slug}."


@organizer.command()
@click.argument("slug")
@click.argument("user")
@act_on_site
def remove(client: Client, slug: str, user: str) -> tuple[Any, str]:
    """Remove the account USER from the organizers of SLUG; one owner must remain."""
    desk = client.organize(slug)
    found = _organizer(desk, user)
    if found is None:
        raise Unusable(f"{user} is not an organizer of {slug}.")
    answer = desk.call("DELETE", f"organizers/{found['user_id']}")
    return answer, f"{found['name']} is no longer an organizer of {slug}."


@click.command("accounts")
@click.argument("slug")
@click.argument("names", type=LocalPath(exists=True, dir_okay=False))
@click.option("--tokens", "with_tokens", is_flag=True, help="Print API tokens instead of links.")
@act_on_site
def create_accounts(client: Client, slug: str, names: Path, with_tokens: bool) -> tuple[Any, str]:
    """Create an account in SLUG for each line of the file NAMES, and print its link or token.

    The links and tokens are not shown again. Each link lets a user set a password; it works only once and
    expires after 14 days.
    """
    sent = {"names": text_of(names).splitlines(), "with_tokens": with_tokens}
    answer = client.organize(slug).call("POST", "accounts", json=sent)
    made = answer["accounts"]
    return answer, "\n".join(f"{each['name']},{each['token'] or each['url']}" for each in made)


@organizer.command("list")
@click.argument("slug")
@act_on_site
def list_organizers(client: Client, slug: str) -> tuple[Any, str]:
    """List the organizers of SLUG."""
    found = client.organize(slug).call("GET", "organizers")
    lines = [[each["name"], each["role"], each["added_at"][:10]] for each in found["organizers"]]
    return found, "\n".join(aligned([["name", "role", "since"], *lines], numbers=False))


def _organizer(desk: Organizer, name: str) -> dict[str, Any] | None:
    found = desk.call("GET", "organizers")["organizers"]
    return next((each for each in found if each["name"].casefold() == name.casefold()), None)


def _lines(entry: dict[str, Any]) -> list[str]:
    at, by = datetime.fromisoformat(entry["at"]), entry["actor"] or entry["origin"]
    done = _worded(entry["action"], entry["subject"])
    lines = [f"{at:%Y-%m-%d %H:%M:%S} UTC  {by} {done}  ({entry['action']})"]
    before, after = entry["before"], entry["after"]
    for name in [*after, *(name for name in before if name not in after)]:
        was, became = (json.dumps(values.get(name), ensure_ascii=False) for values in (before, after))
        lines.append(f"    {name}: {was} -> {became}")
    if entry["reason"]:
        lines.append(f"    reason: {entry['reason']}")
    return lines


def _worded(action: str, subject: str) -> str:
    """Return the description of an action or, if the extra `server` is not installed, only its subject."""
    try:
        from grader.services.audit.log import WORDS
    except ModuleNotFoundError:
        return subject
    return WORDS.get(action, "{}").replace("{}", subject)
