"""`fairboard metric check`: the setup check of a metric.py, in the same sandbox as on a site."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from grader.cli.group import REJECTED, CommandGroup
from grader.cli.output import CommandOutput
from grader.cli.parameters import INPUT_FILE, json_option


@click.group(cls=CommandGroup)
def metric() -> None:
    """Develop your own metric."""


@metric.command()
@click.argument("source", type=INPUT_FILE, metavar="METRIC.PY")
@click.argument("solution", type=INPUT_FILE)
@click.argument("sample", type=INPUT_FILE)
@click.option("--lowest", is_flag=True, help="The lowest score is the best.")
@click.option("--nonnegative", is_flag=True, help="No score is negative, so that groups can be in the score.")
@click.option("--argument", multiple=True, metavar="NAME=JSON", help="A further argument of `score`.")
@json_option
def check(source: Path, argument: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Check METRIC.PY with SOLUTION and SAMPLE, a sample submission, before you upload it.

    The metric runs in the same sandbox as on a site. The exit code is 2 if it cannot be used.
    """
    from grader.metrics.python_check import check_files
    from grader.metrics.python_metric import UnsuitableSource
    from grader.sandbox import SandboxUnavailable

    try:
        result = check_files(source.read_bytes(), **options, arguments=dict(map(_argument, argument)))
    except UnsuitableSource as error:
        click.echo(f"{source.name} cannot be used. {error}", err=True)
        raise click.exceptions.Exit(REJECTED) from error
    except (SandboxUnavailable, ValueError) as error:
        raise click.ClickException(str(error)) from error
    data = result.as_dict()
    CommandOutput(data, list(_lines(data)), code=REJECTED if result.problems else 0).show(as_json=as_json)


def _argument(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        raise click.UsageError(f"--argument {text}: expected NAME=JSON, such as beta=0.5.") from None


def _lines(data: dict[str, Any]) -> Iterator[str]:
    yield from (f"Score of {name} predictions: {score:g}" for name, score in data["scores"].items())
    yield f"Time: {data['seconds']:.2f} s of CPU time. Memory: {data['memory_bytes'] / 1e6:.0f} MB."
    yield f"Sandbox: {data['sandbox']}\n"
    for title in ("problems", "warnings"):
        yield from (f"{title.capitalize()[:-1]}: {each}" for each in data[title])
    yield "The metric cannot be used." if data["problems"] else "The metric works."
