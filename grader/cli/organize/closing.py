"""`fairboard competition`: reveal, bundle, publish-solution, receipt; the result of verify."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import click

from grader.cli.organize.acts import act_on_site, asking, yes_option
from grader.cli.output import progress
from grader.cli.parameters import LocalPath
from grader.client import Client, Unusable
from grader.client.organizer import quoted, require_done
from grader.text import counted

OUT = LocalPath(dir_okay=False)
RECOVERABLE = (
    "From now on, late submissions are scored on both splits, and participants can derive the labels\n"
    "of this test set from the scores. To disable them, run `fairboard competition change {slug} --no-late`."
)


@click.command()
@click.argument("slug")
@yes_option
@act_on_site
def reveal(client: Client, slug: str, yes: bool) -> tuple[Any, str]:
    """Reveal the private leaderboard of SLUG to everyone; this closes an open competition.

    Asks for confirmation and warns if the competing submissions were not verified. The standings stay
    provisional until `fairboard competition finalize`.
    """
    desk = client.organize(slug, confirm=asking(yes=yes))
    stage = desk.call("GET", "close")["stage"]
    answer = desk.reveal()
    team_count = client.leaderboard(slug, split="private", most=1).team_count
    closed = " The competition was still open and is now closed." if stage == "running" else ""
    lines = [
        f"The private leaderboard of {slug} is revealed, with {counted(team_count, 'team')}.{closed} "
        f"The standings are provisional. To make them final, run `fairboard competition finalize {slug}`."
    ]
    if answer["failed_count"]:
        lines.append(
            f"{counted(answer['failed_count'], 'submission')} failed because of a server error and are not "
            "ranked; their incidents are in the log."
        )
    if desk.settings()["settings"]["takes_late_submissions"]:
        lines.append(RECOVERABLE.format(slug=slug))
    return answer, "\n".join(lines)


def verified(_given: Mapping[str, Any], answer: Any) -> str:
    """Return the result of a verification as text; raise Unusable if anything differs."""
    require_done(answer["verification"])
    verified = answer["verified"]
    for each in verified["differences"]:
        click.echo(
            f"#{each['submission_id']} of {each['team']}, {each['what']}: stored {each['stored']}, "
            f"recomputed {each['recounted']}.",
            err=True,
        )
    about = (
        f"{counted(len(verified['submission_ids']), 'submission')}, "
        f"{counted(verified['value_count'], 'value')}, scoring version {verified['scoring_version']}"
    )
    if verified["differences"]:
        raise Unusable(f"{counted(len(verified['differences']), 'difference')} ({about}).")
    return f"All values match exactly: {about}."


@click.command()
@click.argument("slug")
@click.option("--out", type=OUT, help="The file to write; by default SLUG-final-N.zip in the current folder.")
@click.option(
    "--with-solution", is_flag=True, help=("Include the solution with all labels, and the complete receipts.")
)
@act_on_site
def bundle(client: Client, slug: str, out: Path | None, with_solution: bool) -> tuple[Any, str]:
    """Write the results bundle of SLUG: leaderboards, tables, metric, hashes and CITATION.cff."""
    desk = client.organize(slug)
    begun = desk.call("POST", "close/bundle", json={"with_solution": with_solution})
    answer = desk.ended(f"close/bundle/{begun['id']}")
    require_done(answer["job"])
    path = out or Path(Path(answer["file_name"]).name)
    with progress(path.name) as on_progress:
        desk.download(f"close/bundle/{begun['id']}/file", path, on_progress=on_progress)
    with ZipFile(path) as packed:
        count = len(packed.namelist())
    return answer, f"{path}: {count} files, {path.stat().st_size:,} bytes."


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
