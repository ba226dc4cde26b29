"""`fairboard metric check`: the setup check of a metric.py, with the same sandbox as on a site."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.cli.group import REJECTED, SubcommandGroup
from grader.cli.parameters import INPUT_FILE

if TYPE_CHECKING:
    from grader.metrics.python_check import MetricCheck

USAGE, PUBLIC = "usage", "public"


@click.group(cls=SubcommandGroup)
def metric() -> None:
    """Develop a metric of your own."""


@metric.command()
@click.argument("source", type=INPUT_FILE, metavar="METRIC.PY")
@click.argument("solution", type=INPUT_FILE)
@click.argument("sample", type=INPUT_FILE)
@click.option("--id", "id_column", help="The column with the ids.  [default: the first one of SAMPLE]")
@click.option("--lowest", is_flag=True, help="The lowest score is the best.")
@click.option(
    "--argument", "arguments", multiple=True, metavar="NAME=JSON", help="A further argument of `score`."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def check(
    source: Path,
    solution: Path,
    sample: Path,
    id_column: str | None,
    lowest: bool,
    arguments: tuple[str, ...],
    as_json: bool,
) -> None:
    """Check METRIC.PY with SOLUTION and SAMPLE, a sample submission, before you upload it.

    The metric runs in the same sandbox as on a site. The exit code is 2 if it cannot be used.
    """
    from grader.metrics.python_check import MetricCheck, check_files
    from grader.metrics.python_metric import UnsuitableSource
    from grader.sandbox import SandboxUnavailable

    try:
        result: MetricCheck = check_files(
            source.read_bytes(),
            solution,
            sample,
            id_column=id_column,
            lowest=lowest,
            arguments=dict(map(_argument, arguments)),
        )
    except (UnsuitableSource, SandboxUnavailable, ValueError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(json.dumps(result.as_dict(), indent=2) if as_json else describe(result))
    if result.problems:
        raise click.exceptions.Exit(REJECTED)


def _argument(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        raise click.UsageError(f"--argument {text}: expected NAME=JSON, such as beta=0.5.") from None


def describe(result: "MetricCheck") -> str:
    """Return the result as text."""
    data: Mapping[str, Any] = result.as_dict()
    lines = [f"Score of {name} predictions: {score:g}" for name, score in data["scores"].items()]
    lines += [
        f"Exactness: {data['exactness']}",
        f"Time: {data['seconds']:.2f} s of CPU time. Memory: {data['memory_bytes'] / 1e6:.0f} MB.",
        f"Sandbox: {data['sandbox']}",
    ]
    for title in ("problems", "warnings"):
        lines += [f"\n{title.capitalize()}:", *(f"  - {each}" for each in data[title])] if data[title] else []
    return "\n".join([*lines, "", "The metric cannot be used." if data["problems"] else "The metric works."])
