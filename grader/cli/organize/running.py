"""`fairboard competition`: export, audit."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from grader.cli.organize.acts import act_on_site
from grader.cli.parameters import LocalPath
from grader.client import Client

KINDS, FORMATS = ("submissions", "standings", "scores", "audit", "grades"), ("csv", "json")
PAGE_ROWS = 50


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
    """Export submissions, standings, scores (with breakdowns), students' grades or the audit log of SLUG."""
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
