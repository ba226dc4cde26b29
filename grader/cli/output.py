"""Command output: tables, JSON, progress, and messages about scores and limits."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from grader.text import aligned, counted

# Escape sequences could manipulate a terminal; direction marks and overrides could disguise a name.
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

TERMS = {
    "overall_auc": "overall AUC",
    "subgroup_auc": "Subgroup AUC",
    "bpsn_auc": "BPSN AUC",
    "bnsp_auc": "BNSP AUC",
}


def say(text: str, *, err: bool = False) -> None:
    """Print a text of the server without control characters."""
    click.echo(CONTROLS.sub("", text), err=err)


def show_json(data: Any) -> None:
    """Print one JSON document."""
    say(json.dumps(data, indent=2, ensure_ascii=False))


@contextmanager
def progress(what: str) -> Iterator[Callable[..., None]]:
    """Yield a callback that receives the done and total amounts; it shows them if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    with click.progressbar(length=1, label=what, file=sys.stderr) as bar:

        def show(done: int, size: int, *_: Any) -> None:
            bar.length = max(size, done, 1)
            bar.update(done - bar.pos)

        yield show


def number_text(value: float, decimals: int = 5) -> str:
    """Return a rounded number with all its decimals, and at least this many."""
    text = f"{value:.{decimals}f}"
    return text if float(text) == value else repr(value)


def left(limits: Any) -> str:
    """Return a sentence on a team's remaining submissions."""
    if limits.left is None:
        return "There is no limit on further submissions."
    today = ""
    if limits.left_today == limits.left:
        today = f" today until {limits.resets_at:%H:%M} UTC" if limits.resets_at else " today"
    return f"{counted(limits.left, 'submission')} left{today}."


def table_of(records: Sequence[Mapping[str, Any]], names: Iterable[str]) -> list[str]:
    """Return the fields with these names of API objects as the lines of a table."""
    names = list(names)
    heading = [TERMS.get(name, name.removesuffix("_at").replace("_", " ")) for name in names]
    return aligned([heading, *([_cell(name, record.get(name)) for name in names] for record in records)])


def _cell(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    if value is True:
        return "yes"
    if name == "at" or name.endswith("_at"):
        return f"{value[:16].replace('T', ' ')} UTC"
    if isinstance(value, float):
        return number_text(value, 5 if "score" in name else 4)
    return ", ".join(value) if isinstance(value, list) else str(value)


def solution_lines(report: Mapping[str, Any]) -> list[str]:
    """Return the report on a solution as lines."""
    labels = [each["column"] for each in report.get("targets", ())] or [report["label"]]
    splits = ", ".join(f"{name} {each['rows']:,} rows" for name, each in report["splits"].items())
    table = [_flat(each) for each in report.get("groups") or report["identities"]]
    names = [name for name in (table[0] if table else ()) if not name.startswith(("is_", "why_"))]
    return [
        *report["summary"],
        f"Label: {', '.join(labels)}.",
        f"Columns not used: {', '.join(report['unused_columns']) or 'none'}.",
        f"{report['rows']:,} rows, split by {report['split_by']}: {splits}; "
        f"{report['ignored_rows']:,} ignored.",
        *(table_of(table, [*names, "why_not"]) if table else []),
        *(f"{each['level'].capitalize()}: {each['message']}" for each in report["findings"]),
    ]


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with the fields of nested objects, such as `public positives`."""
    flat = dict[str, Any]()
    for name, value in record.items():
        nested = value.items() if isinstance(value, dict) else ()
        flat |= {f"{name} {key}": each for key, each in nested} if nested else {name: value}
    return flat


@dataclass(frozen=True)
class CommandOutput:
    """The output of a command (JSON, or lines on stdout and stderr), and its exit code.

    `text` is a document that is printed unchanged unless stdout is a terminal.
    """

    answer: Any
    lines: Sequence[str] = ()
    errors: Sequence[str] = ()
    code: int = 0
    text: str = ""

    def show(self, *, as_json: bool) -> None:
        """Print the result and exit with its code."""
        if as_json:
            show_json(self.answer)
        else:
            for line in self.errors:
                say(line, err=True)
            for line in self.lines:
                say(line)
            click.echo(CONTROLS.sub("", self.text) if sys.stdout.isatty() else self.text, nl=False)
        if self.code:
            raise click.exceptions.Exit(self.code)
