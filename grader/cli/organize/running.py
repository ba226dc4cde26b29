"""`fairboard competition`: export, audit."""

import hashlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import click

from grader.cli.organize.acts import act_on_site, asking, yes_option
from grader.cli.parameters import LocalPath
from grader.client import Client, Unusable
from grader.client.organizer import quoted
from grader.text import counted

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
        from grader.services.site.log import WORDS
    except ModuleNotFoundError:
        return subject
    return WORDS.get(action, "{}").replace("{}", subject)


OUT = LocalPath(dir_okay=False)
RECOVERABLE = (
    "From now on, late submissions are scored on both splits, and participants can derive the labels\n"
    "of this test set from the scores. To disable them, run\n"
    "`fairboard competition change {slug} takes_late_submissions=false`."
)


@click.command()
@click.argument("slug")
@yes_option
@act_on_site
def reveal(client: Client, slug: str, yes: bool) -> tuple[Any, str]:
    """Reveal the private leaderboard of SLUG to everyone; this closes an open competition.

    Asks for confirmation.
    """
    desk = client.organize(slug, confirm=asking(yes=yes))
    stage = desk.call("GET", "close")["stage"]
    answer = desk.call("POST", "close/reveal")
    team_count = client.leaderboard(slug, split="private", most=1).team_count
    closed = " The competition was still open and is now closed." if stage == "running" else ""
    lines = [f"The private leaderboard of {slug} is revealed, with {counted(team_count, 'team')}.{closed}"]
    if answer["failed_count"]:
        lines.append(
            f"{counted(answer['failed_count'], 'submission')} failed because of a server error and are not "
            "ranked; their incidents are in the log."
        )
    if desk.call("GET", "settings")["settings"]["takes_late_submissions"]:
        lines.append(RECOVERABLE.format(slug=slug))
    return answer, "\n".join(lines)


@click.command()
@click.argument("slug")
@click.option("--out", type=OUT, help="The file to write; by default SLUG-results.zip in the current folder.")
@act_on_site
def bundle(client: Client, slug: str, out: Path | None) -> tuple[Any, str]:
    """Write the results of SLUG as a ZIP file: CSV tables, the published solution and a README."""
    path = out or Path(f"{quoted(slug)}-results.zip")
    client.organize(slug).download("exports/results.zip", path)
    with ZipFile(path) as packed:
        names = packed.namelist()
    return {"files": names}, f"{path}: {len(names)} files, {path.stat().st_size:,} bytes."


@click.command("publish-solution")
@click.argument("slug")
@click.option("--reason", default="", help="The reason; the audit log shows it.")
@click.confirmation_option(prompt="Everyone will see all labels. This cannot be undone. Publish?")
@act_on_site
def publish_solution(client: Client, slug: str, reason: str) -> tuple[Any, str]:
    """Publish the solution of SLUG, and show each team its complete receipts."""
    desk = client.organize(slug, confirm=True)
    desk.call("POST", "close/solution", json={"reason": reason})
    answer = desk.ended("close", job="")
    here = f"competitions/{quoted(slug)}"
    sha256 = hashlib.sha256(client.text(f"{here}/solution").encode()).hexdigest()
    nonce = client.text(f"{here}/solution-nonce").strip()
    return answer, f"The solution of {slug} is public; its sha256 is {sha256} and its nonce {nonce}."


@click.command()
@click.argument("slug")
@click.argument("submission", type=int)
@click.option("--version", "number", type=int, help="The scoring version; by default, the live one.")
@act_on_site
def receipt(client: Client, slug: str, submission: int, number: int | None) -> tuple[Any, str]:
    """Print the complete receipt of SUBMISSION's score in SLUG as JSON, for `fairboard verify`."""
    if client.submission(submission).competition != slug:
        raise Unusable(f"There is no submission #{submission} in {slug}.")
    text = client.text(f"submissions/{submission}/receipt", version=number)
    return {"receipt": text}, text.rstrip("\n")
