"""`fairboard submit` and `check`: send a file and print its score, or everything that is wrong with it."""

from pathlib import Path
from typing import Any

import click

from grader.cli.client.connection import competition_option, connected, connection_options
from grader.cli.client.shown import left, progress, score_text, show_findings, show_json, weakest
from grader.cli.group import REJECTED
from grader.cli.parameters import INPUT_FILE
from grader.client import Client
from grader.client.records import BoardRow, Membership, Submission

FAILED = 1


@click.command()
@click.argument("file", type=INPUT_FILE)
@competition_option
@click.option("-d", "--description", default="", help="What is new in this file; your team sees it.")
@click.option("--again", is_flag=True, help="Send it even if your team has sent the same bytes before.")
@click.option("--key", help="An Idempotency-Key: calls with the same key and file make one submission.")
@click.option("--no-wait", is_flag=True, help="Do not wait for the score.")
@click.option(
    "--timeout",
    type=click.FloatRange(0),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for the score.",
)
@connection_options
def submit(
    file: Path,
    competition: str | None,
    description: str,
    again: bool,
    key: str | None,
    no_wait: bool,
    timeout: float,
    server: str | None,
    as_json: bool,
) -> None:
    """Send FILE (id,prediction) as a submission, wait, and print score, rank and what is left today.

    \b
    fairboard submit predictions.csv -c demo -d "word n-grams"

    FILE is a CSV file, or a gzip or zip of one; - is standard input. The exit code is 0 if it is scored, 2 if
    it is rejected, 3 if the server refuses it (a limit, a deadline, a token), 4 if it is not scored within
    the timeout, 5 if the server gives no answer, and 1 if anything else fails. What a cut
    connection interrupted is retried and makes no second submission.
    """
    with connected(server, as_json=as_json, competition=competition) as client:
        with progress(f"Sending {file.name}") as on_progress:
            sent = client.submit(
                file,
                competition=competition,
                description=description,
                again=again,
                key=key,
                on_progress=on_progress,
            )
        click.echo(f"{client.server} accepted submission #{sent.id}.", err=True)
        if no_wait:
            _show(sent, None, None, as_json=as_json)
            return
        done = client.wait(sent, timeout_seconds=timeout)
        membership = client.team(competition)
        _show(done, membership, _own_row(client, competition, membership), as_json=as_json)
    if done.status != "scored":
        raise click.exceptions.Exit(REJECTED if done.status == "rejected" else FAILED)


@click.command()
@click.argument("file", type=INPUT_FILE)
@competition_option
@connection_options
def check(file: Path, competition: str | None, server: str | None, as_json: bool) -> None:
    """Check FILE on the server and print everything that is wrong with it; this uses no submission.

    The exit code is 2 if FILE would be rejected.
    """
    with connected(server, as_json=as_json, competition=competition) as client:
        with progress(f"Sending {file.name}") as on_progress:
            checked = client.check(file, on_progress=on_progress)
        if as_json:
            show_json(checked.data)
        else:
            if checked.is_clean:
                click.echo(f"{file.name} can be scored. {left(checked.limits)}")
            else:
                click.echo(f"{file.name} would be rejected:", err=True)
            show_findings(checked.problems, checked.notes)
    if not checked.is_clean:
        raise click.exceptions.Exit(REJECTED)


def _own_row(client: Client, competition: str | None, membership: Membership) -> BoardRow | None:
    team = membership.team
    return client.own_row(competition, team=team.name) if team else None


def _show(done: Submission, membership: Membership | None, row: BoardRow | None, *, as_json: bool) -> None:
    limits = membership.limits if membership else done.limits
    if as_json:
        answer: dict[str, Any] = {"submission": done.data, "rank": row.rank if row else None}
        show_json(answer | {"limits": limits.data if limits else None})
        return
    match done.status:
        case "scored":
            best = ""
            if row is not None and row.rank is not None:
                best = f" Your team is at rank {row.rank:,} with {score_text(row.score)}."
            score = "scored, and no score is shown now."
            if done.public_score is not None:
                score = f"score {score_text(done.public_score)}."
            click.echo(f"Submission #{done.id}: {score}{best}{weakest(done)}")
        case "rejected":
            click.echo(f"Submission #{done.id} is rejected:", err=True)
        case "failed":
            click.echo(
                f"Submission #{done.id} failed: an error on the server (incident {done.incident}).", err=True
            )
        case _:
            click.echo(f"Submission #{done.id} is {done.status}.")
    show_findings(done.problems or (), done.notes or ())
    if limits:
        click.echo(left(limits))
