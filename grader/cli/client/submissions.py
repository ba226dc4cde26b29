"""`fairboard submissions`, `submission` and `select`: what one's team has sent, and what competes."""

from pathlib import Path

import click

from grader.cli.alignment import aligned
from grader.cli.client.connection import competition_option, connected, connection_options
from grader.cli.client.shown import TERMS, left, progress, score_text, show_findings, show_json
from grader.cli.parameters import LocalPath
from grader.client.records import Json, Submission

REASONS = {
    "picked": "selected",
    "picked_waiting": "selected, not scored yet",
    "automatic": "chosen automatically",
}


@click.command()
@competition_option
@connection_options
def submissions(competition: str | None, server: str | None, as_json: bool) -> None:
    """List the submissions of your team, the newest first; * marks those that count now."""
    with connected(server, as_json=as_json, competition=competition) as client:
        found = client.submissions()
    if as_json:
        show_json(found.data)
        return
    counts = {each["submission"] for each in (found.selection or {}).get("counts", ())}
    lines = [["", "id", "sent (UTC)", "status", "score", "file", "description"]]
    for each in found.submissions:
        mark = "*" if each.id in counts else ""
        sent = f"{each.submitted_at:%Y-%m-%d %H:%M}" if each.submitted_at else ""
        row = [each.status, score_text(each.public_score), each.file_name or "", each.description or ""]
        lines.append([mark, str(each.id), sent, *row])
    for line in aligned(lines, numbers=False):
        click.echo(line)
    click.echo(left(found.limits))


@click.command()
@click.argument("submission_id", metavar="ID", type=click.IntRange(1))
@click.option("--file", "path", type=LocalPath(dir_okay=False), help="Also download the file to this path.")
@connection_options
def submission(submission_id: int, path: Path | None, server: str | None, as_json: bool) -> None:
    """Show the submission ID of your team: status, scores, terms, identities, problems."""
    with connected(server, as_json=as_json) as client:
        found = client.submission(submission_id)
        if path is not None:
            with progress(f"Downloading {path.name}") as on_progress:
                client.submission_file(found, path, on_progress=on_progress)
    if as_json:
        show_json(found.data)
        return
    click.echo(f"Submission #{found.id} of {found.competition}: {found.status}")
    if found.description:
        click.echo(found.description)
    _show_scores(found)
    show_findings(found.problems or (), found.notes or ())


@click.command()
@click.argument("submission_id", metavar="ID", type=click.IntRange(1))
@click.option("--off", is_flag=True, help="Deselect it.")
@connection_options
def select(submission_id: int, off: bool, server: str | None, as_json: bool) -> None:
    """Select the submission ID for the private leaderboard, or deselect it with --off."""
    with connected(server, as_json=as_json) as client:
        answer = client.select(submission_id, selected=not off)
    if as_json:
        show_json(answer)
        return
    click.echo(f"Submission #{submission_id} is {'selected' if answer['is_selected'] else 'not selected'}.")
    show_selection(answer["selection"])


def show_selection(selection: Json | None) -> None:
    """Print which submissions count now, and why."""
    for each in (selection or {}).get("counts", ()):
        click.echo(f"#{each['submission']} counts: {REASONS.get(each['reason'], each['reason'])}.")
    if later := (selection or {}).get("filled_later"):
        click.echo(f"Free places: {later}. After the close the best exact public scores fill them.")


def _show_scores(found: Submission) -> None:
    for split, score, terms, table in (
        ("public", found.public_score, found.terms, found.identities),
        ("private", found.private_score, found.private_terms, found.private_identities),
    ):
        if score is None:
            continue
        click.echo(f"\n{split} score {score_text(score)}")
        for name, value in (terms or {}).items():
            click.echo(f"  {TERMS.get(name, name)} {value:.4f}")
        if table:
            columns = [name for name in table[0] if name != "name"]
            lines = [["identity", *(TERMS.get(name, name.replace("_", " ")) for name in columns)]]
            lines += [[row["name"], *(_cell(row[name]) for name in columns)] for row in table]
            click.echo("\n".join(aligned(lines)))


def _cell(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"
