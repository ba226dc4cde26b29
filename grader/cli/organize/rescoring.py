"""`fairboard rescore`: prepare, compare, publish, roll back and cancel rescorings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from grader.cli.client.connection import asking, organizers, yes_option
from grader.cli.organize.setup import require_acceptable
from grader.cli.output import CommandOutput, solution_lines
from grader.cli.parameters import FILE, fields_option, with_texts
from grader.client import Client, Refused, Unusable
from grader.client.organizer import Organizer


@click.command()
@click.argument("slug")
@click.argument("solution", type=FILE, required=False)
@click.option("--settings", type=FILE, help="A TOML file with a new [metric], instead of SOLUTION.")
@click.option("--metric-file", type=FILE, help="A new metric.py, instead of SOLUTION.")
@click.option("--rollback", type=int, metavar="NUMBER", help="The earlier scoring version to roll back to.")
@click.option("--reason", default="", help="The reason why the scores change; participants can see it.")
@click.option("--preview", is_flag=True, help="Show the difference, but do not publish it.")
@click.option("--drop", is_flag=True, help="Cancel the rescoring in progress.")
@fields_option("A field of the publication, such as notice or lose_scores. Repeatable.")
@yes_option
@organizers
def rescore(
    client: Client,
    slug: str,
    rollback: int | None,
    reason: str,
    preview: bool,
    drop: bool,
    fields: dict[str, Any],
    yes: bool,
    **inputs: Path | None,
) -> CommandOutput:
    """Rescore all submissions of SLUG with a corrected SOLUTION, then switch the leaderboards.

    The leaderboards change only after all submissions are scored and you confirm the summary of the changes.
    Without a SOLUTION or an option that replaces it, continue the rescoring in progress.
    """
    is_new = any(inputs.values())
    starts = len([*filter(None, inputs.values())]) + (rollback is not None)
    if starts + drop > 1 or bool(starts) != bool(reason.strip()) or (preview and (drop or rollback)):
        raise click.UsageError(
            "Specify at most one of SOLUTION, --settings, --metric-file, --rollback and --drop. All except "
            "--drop require a --reason, and it requires one of them. --preview is only for SOLUTION, "
            "--settings, --metric-file or the rescoring in progress."
        )
    # --drop itself confirms the action.
    desk, sent = client.organize(slug, confirm=drop or asking(yes=yes)), with_texts(fields)
    number = _begin(desk, reason=reason, **inputs) if is_new else _preparing(desk)
    if rollback is not None and number != rollback:
        # The earlier version is live afterwards unless newer submissions must be scored first.
        _publish(desk, rollback, "rollback", {"reason": reason, **sent})
        number = rollback
    if number is None:
        raise Unusable(f"No rescoring of {slug} is in progress.")
    if drop:
        answer = desk.call("DELETE", f"rescoring/{number}")
        line = f"Scoring version {number} is cancelled; the leaderboards are unchanged."
        return CommandOutput(answer, [line])
    version = desk.rescored(number)
    if version["state"] == "live":
        return _switched(desk, number, version)
    if preview:
        click.echo(f"To publish it, run `fairboard rescore {slug}`.", err=True)
        return _difference(desk, number)
    return _switched(desk, number, _publish(desk, number, "publish", sent))


def _begin(
    desk: Organizer, *, solution: Path | None, settings: Path | None, metric_file: Path | None, reason: str
) -> int:
    """Start a rescoring, or continue it after an interruption."""
    if solution is not None:
        checked = desk.check_solution(solution)
        require_acceptable(checked)
        click.echo("\n".join(solution_lines(checked["report"])))
        sent = {"solution": checked["job"]["id"]}
    elif metric_file is not None:
        sent = {"settings": _checked(desk, desk.call("POST", "metric-file", {"file": metric_file})["job"])}
    else:
        from grader.cli.organize import competition_files

        in_use = desk.call("GET", "rescoring/settings")
        changes = competition_files.read(settings or Path(), in_use).changes
        wanted = {name: changes.get(name) or in_use[name] for name in ("identities", "metric")}
        sent = {"settings": _checked(desk, desk.call("POST", "rescoring/settings", wanted))}
    return int(desk.call("POST", "rescoring", {**sent, "reason": reason})["number"])


def _checked(desk: Organizer, job: Mapping[str, Any]) -> int:
    """Wait for the check of new settings; return its id."""
    checked = desk.ended("rescoring/settings", job="check")["check"]
    if checked["state"] != "done":
        raise Unusable(" ".join(each["message"] for each in checked["problems"]))
    return int(job["id"])


def _publish(desk: Organizer, number: int, act: str, sent: dict[str, Any]) -> dict[str, Any]:
    """Switch the leaderboards; a file that arrived in the meantime is scored first."""
    # This waits until the data files have been checked against the new solution.
    desk.ended("data")
    while True:
        try:
            return desk.call("POST", f"rescoring/{number}/{act}", sent)
        except Refused as error:
            if error.name != "rescoring_incomplete":
                raise
            desk.rescored(number)


def _switched(desk: Organizer, number: int, answer: Mapping[str, Any]) -> CommandOutput:
    return CommandOutput(answer, [f"All leaderboards of {desk.slug} now use scoring version {number}."])


def _difference(desk: Organizer, number: int) -> CommandOutput:
    """Return the difference from the live version."""
    difference = desk.call("GET", f"rescoring/{number}/difference")
    lines = [f"From scoring version {difference['before']} to {difference['after']}:"]
    for split, changes in difference["mean_changes"].items():
        words = ", ".join(f"{name} {change:+.4f}" for name, change in changes.items())
        lines.append(f"Mean changes on the {split} rows: {words}.")
    return CommandOutput(difference, [*lines, *difference["sentences"]])


def _preparing(desk: Organizer) -> int | None:
    versions = desk.call("GET", "rescoring")["versions"]
    return next((int(each["number"]) for each in versions if each["state"] == "preparing"), None)
