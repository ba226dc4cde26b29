"""`fairboard competition reveal`, `finalize`, `verify`, `bundle`, `publish-solution`, `receipt` over HTTP."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import click

from grader.cli.client.shown import progress
from grader.cli.competition import closing_words as words
from grader.cli.parameters import LocalPath
from grader.cli.questions import is_answered_yes
from grader.cli.remote.acts import act_over_http
from grader.client import Client, Unusable
from grader.client.organizer import Organizer, quoted, require_done
from grader.text import counted

OUT = LocalPath(dir_okay=False)


@click.command()
@click.argument("slug")
@click.option("--yes", is_flag=True, help="Reveal unverified standings without asking; for scripts.")
@act_over_http
def reveal(client: Client, slug: str, yes: bool) -> tuple[Any, str]:
    """Reveal the private leaderboard of SLUG to everybody; this closes a competition that is still open.

    It asks first if the competing submissions were not verified. The standings stay provisional until
    `fairboard competition finalize`.
    """
    desk = client.organize(slug)
    before = desk.call("GET", "close")
    sent = {"confirm": True, "unverified": yes}
    texts = (words.REVEAL_IS_FINAL, words.REVEAL_QUESTION, words.NOTHING_REVEALED)
    answer = _decided(desk, "close/reveal", sent, before, texts)
    team_count = client.leaderboard(slug, split="private", most=1).team_count
    lines = [words.revealed(slug, team_count, closed_now=before["stage"] == "running")]
    if answer["failed_count"]:
        lines.append(words.failed(answer["failed_count"]))
    if desk.settings()["settings"]["takes_late_submissions"]:
        lines.append(words.RECOVERABLE.format(slug=slug))
    return answer, "\n".join(lines)


@click.command()
@click.argument("slug")
@click.option("--reason", default="", help="A comment stored with the standings; participants see it.")
@click.option("--yes", is_flag=True, help="Make unverified standings final without asking; for scripts.")
@act_over_http
def finalize(client: Client, slug: str, reason: str, yes: bool) -> tuple[Any, str]:
    """Store the provisional standings of SLUG as final standings 1.

    It asks first if the competing submissions were not verified. A later change, such as a rescoring, adds
    the next number; earlier ones stay readable.
    """
    desk = client.organize(slug)
    sent = {"confirm": True, "unverified": yes, "reason": reason}
    texts = (words.STANDINGS_ARE_FINAL, words.FINALIZE_QUESTION, words.NOTHING_FINAL)
    answer = _decided(desk, "close/finalize", sent, desk.call("GET", "close"), texts)
    return answer, words.final(slug, answer["final_number"])


@click.command()
@click.argument("slug")
@act_over_http
def verify(client: Client, slug: str) -> tuple[Any, str]:
    """Rescore the submissions that compete in SLUG from their raw files and compare every bit.

    Uses a second implementation that shares no code with the scoring; takes about a second for a file of
    200,000 rows. The exit code is 1 if anything differs.
    """
    desk = client.organize(slug)
    answer = desk.verify()
    require_done(answer["verification"])
    found = answer["verified"]
    for each in found["differences"]:
        click.echo(
            f"#{each['submission_id']} of {each['team']}, {each['what']}: stored {each['stored']}, "
            f"recounted {each['recounted']}.",
            err=True,
        )
    about = (
        f"{counted(len(found['submission_ids']), 'submission')}, {counted(found['value_count'], 'value')}, "
        f"scoring version {found['scoring_version']}"
    )
    if found["differences"]:
        raise Unusable(f"{counted(len(found['differences']), 'difference')} ({about}).")
    return answer, f"All agree to the last bit: {about}."


@click.command()
@click.argument("slug")
@click.option("--out", type=OUT, help="The file to write; by default SLUG-final-N.zip here.")
@click.option(
    "--with-solution", is_flag=True, help=("Include the solution with every label, and the exact receipts.")
)
@act_over_http
def bundle(client: Client, slug: str, out: Path | None, with_solution: bool) -> tuple[Any, str]:
    """Write the final results of SLUG as a ZIP file: leaderboards, tables, metric, hashes, CITATION.cff."""
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
@click.option("--reason", default="", help="For the audit.")
@click.confirmation_option(prompt="Everybody will see every label. This cannot be undone. Publish?")
@act_over_http
def publish_solution(client: Client, slug: str, reason: str) -> tuple[Any, str]:
    """Publish the solution of SLUG, and show every team its complete receipts."""
    desk = client.organize(slug)
    desk.call("POST", "close/solution", json={"confirm": True, "reason": reason})
    answer = desk.ended("close", job="")
    here = f"competitions/{quoted(slug)}"
    sha256 = hashlib.sha256(client.text(f"{here}/solution").encode()).hexdigest()
    nonce = client.text(f"{here}/solution-nonce").strip()
    return answer, f"The solution of {slug} is public; its sha256 is {sha256}, its nonce {nonce}."


@click.command()
@click.argument("slug")
@click.argument("submission", type=int)
@click.option("--version", "number", type=int, help="The scoring version; by default the live one.")
@act_over_http
def receipt(client: Client, slug: str, submission: int, number: int | None) -> tuple[Any, str]:
    """Print the complete receipt of SUBMISSION's score in SLUG as JSON, for `fairboard verify`."""
    if client.submission(submission).competition != slug:
        raise Unusable(f"You have no submission {submission}.")
    text = client.text(f"submissions/{submission}/receipt", version=number)
    return {"receipt": text}, text.rstrip("\n")


def _decided(
    desk: Organizer,
    path: str,
    sent: Mapping[str, Any],
    before: Mapping[str, Any],
    texts: tuple[str, str, str],
) -> dict[str, Any]:
    """Do an act of the close; where what competes was not verified, ask first."""
    is_final, question, undone = texts
    if not before["agrees"] and not sent["unverified"]:
        click.echo(is_final, err=True)
        open_still = before["stage"] == "running"
        click.echo(words.OPEN_STILL if open_still else words.VERIFY_FIRST.format(slug=desk.slug), err=True)
        if not is_answered_yes(question.format(slug=desk.slug)):
            raise Unusable(words.ANSWER.format(undone=undone))
    return desk.call("POST", path, json={**sent, "unverified": sent["unverified"] or not before["agrees"]})
