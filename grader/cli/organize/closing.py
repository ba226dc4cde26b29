"""`fairboard competition`: reveal, bundle, publish-solution, receipt."""

import hashlib
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import click

from grader.cli.organize.acts import act_on_site, asking, yes_option
from grader.cli.output import progress
from grader.cli.parameters import LocalPath
from grader.client import Client, Unusable
from grader.client.organizer import quoted
from grader.text import counted

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
    answer = desk.reveal()
    team_count = client.leaderboard(slug, split="private", most=1).team_count
    closed = " The competition was still open and is now closed." if stage == "running" else ""
    lines = [f"The private leaderboard of {slug} is revealed, with {counted(team_count, 'team')}.{closed}"]
    if answer["failed_count"]:
        lines.append(
            f"{counted(answer['failed_count'], 'submission')} failed because of a server error and are not "
            "ranked; their incidents are in the log."
        )
    if desk.settings()["settings"]["takes_late_submissions"]:
        lines.append(RECOVERABLE.format(slug=slug))
    return answer, "\n".join(lines)


@click.command()
@click.argument("slug")
@click.option("--out", type=OUT, help="The file to write; by default SLUG-results.zip in the current folder.")
@act_on_site
def bundle(client: Client, slug: str, out: Path | None) -> tuple[Any, str]:
    """Write the results of SLUG as a ZIP file: CSV tables, the published solution and a README."""
    path = out or Path(f"{quoted(slug)}-results.zip")
    with progress(path.name) as on_progress:
        client.organize(slug).download("exports/results.zip", path, on_progress=on_progress)
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
