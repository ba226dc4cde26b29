"""`fairboard competition`: create and apply."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from grader.cli.client.connection import FileRefused, asking, organizers, yes_option
from grader.cli.organize.call_table import changed
from grader.cli.output import CommandOutput, solution_lines
from grader.cli.parameters import FILE, from_jigsaw_option
from grader.client import Client, Unusable
from grader.client.organizer import Organizer, quoted
from grader.errors import FairboardError


@click.command()
@click.argument("file", metavar="FILE.toml|SLUG")
@from_jigsaw_option
@click.option("--owner", default="", help="The account that owns the competition; by default, you.")
@click.option("--publish", "is_published", is_flag=True, help="Publish the draft immediately.")
@organizers
def create(
    client: Client, file: str, from_jigsaw: Path | None, owner: str, is_published: bool
) -> CommandOutput:
    """Create a draft from FILE.toml or, with --from-jigsaw, with the address SLUG.

    With --from-jigsaw, participants also get a data file test.csv with the texts. `fairboard competition
    change` changes other settings.
    """
    path = Path(file)
    if from_jigsaw is None and not path.is_file():
        raise click.UsageError(f"The file {path} does not exist.")
    from grader.cli.organize import competition_files

    read = competition_files.read(path) if from_jigsaw is None else competition_files.of_jigsaw(file)
    sent = {"slug": read.slug or path.stem, "title": read.changes.get("title", ""), "owner": owner}
    answer = client.call("POST", "competitions", sent)
    slug = answer["slug"]
    desk = client.organize(slug, confirm=True)
    try:
        lines = [f"{slug} is a draft.", *_apply(client, desk, read, (from_jigsaw or path).parent)[1]]
        if is_published:
            answer = desk.call("POST", "state/publish")
            lines.append(f"{slug} is published.")
        else:
            lines += [f"- {fault['message']}" for fault in desk.call("GET", "state")["missing"]]
            lines.append(f"To publish it, run `fairboard competition publish {slug}`.")
    except FairboardError:
        click.echo(
            f"{slug} remains as a draft. Continue with `fairboard competition apply`, or delete it with "
            f"`fairboard api DELETE competitions/{slug}/organize --yes`.",
            err=True,
        )
        raise
    return CommandOutput(answer, lines)


@click.command()
@click.argument("slug")
@click.argument("file", type=FILE)
@yes_option
@organizers
def apply(client: Client, slug: str, file: Path, yes: bool) -> CommandOutput:
    """Change the settings of SLUG to those in FILE, and add the files that FILE lists.

    Settings that are not in FILE stay unchanged. If FILE changes a setting that is locked, nothing is
    changed.
    """
    from grader.cli.organize import competition_files

    desk = client.organize(slug, confirm=asking(yes=yes))
    read = competition_files.read(file, desk.call("GET", "settings")["settings"])
    if read.solution and desk.call("GET", "state")["state"] != "draft":
        raise Unusable(f"{slug} is published. To change its solution or metric, start a rescoring.")
    return CommandOutput(*_apply(client, desk, read, file.parent))


def _apply(client: Client, desk: Organizer, read: Any, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Change the settings in a file and add its files; return the response and the lines to print."""
    answer, certain = desk.call("PATCH", "settings", read.changes), client.organize(desk.slug, confirm=True)
    lines = changed(answer)
    if read.metric_file:
        files = {"file": read.metric_file} | ({"sample": read.sample} if read.sample else {})
        desk.call("POST", "metric-file", read.python | {name: folder / path for name, path in files.items()})
        lines.append(f"{read.metric_file} is the metric.")
    if read.solution:
        lines += _set_solution(desk, folder / read.solution, read.label)
    for name in read.data:
        desk.call("POST", "data", {"file": folder / name})
        lines.append(f"{Path(name).name} was added as a data file.")
    for file in desk.ended("data")["files"]:
        if file["state"] == "held" and file["name"] in read.allowed:
            sent = {"reason": "Allowed in the competition file."}
            certain.call("POST", f"data/{quoted(file['name'])}/allow", sent)
            lines.append(f"{file['name']} is released. Participants get {file['consequence']}.")
    if read.baseline:
        path = folder / read.baseline
        desk.call("POST", "data/baseline", {"file": path})
        lines.append(f"{path.name} was added as a benchmark.")
    return answer, lines


def _set_solution(desk: Organizer, path: Path, label: str | None) -> list[str]:
    """Check a solution, set it as the draft's solution, and return its report."""
    checked = desk.check_solution(path)
    roles = {column["name"]: column["role"] for column in checked["columns"]}
    if label is not None and roles and roles.get(label) != "label":
        if label not in roles:
            raise Unusable(f"The solution has no column {label!r}.")
        sent = {name: "unused" for name, role in roles.items() if role == "label"} | {label: "label"}
        job = desk.call("POST", f"solution/{checked['job']['id']}/roles", {"roles": sent})
        checked = desk.ended(f"solution/{job['id']}")
    require_acceptable(checked)
    desk.call("POST", f"solution/{checked['job']['id']}/accept")
    return solution_lines(checked["report"])


def require_acceptable(checked: Mapping[str, Any]) -> None:
    """Raise FileRefused, with all problems, if the check of a solution failed."""
    if checked["why_not"]:
        findings = checked["report"]["findings"] if checked["report"] else ()
        reasons = [*checked["problems"], *(each for each in findings if each["level"] == "stop")]
        raise FileRefused("\n".join([checked["why_not"], *(f"- {each['message']}" for each in reasons)]))


COMMANDS = (create, apply)
