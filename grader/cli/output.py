"""Command output: tables, JSON, progress, and messages about scores and limits."""

import json
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from grader.text import counted

if TYPE_CHECKING:
    from grader.client.files import OnProgress

# Escape sequences could manipulate a terminal; direction marks and overrides could disguise a name.
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

TERMS = {
    "overall_auc": "overall AUC",
    "subgroup_auc": "Subgroup AUC",
    "bpsn_auc": "BPSN AUC",
    "bnsp_auc": "BNSP AUC",
}
SECONDS_BETWEEN_LINES = 5


def say(text: str, *, err: bool = False) -> None:
    """Print a text of the server without control characters."""
    click.echo(CONTROLS.sub("", text), err=err)


def show_json(data: Any) -> None:
    """Print one JSON document."""
    say(json.dumps(data, indent=2, ensure_ascii=False))


@contextmanager
def progress(what: str) -> "Iterator[OnProgress | None]":
    """Yield a callback that shows a transfer's progress on stderr; None if stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=1, label=what, file=sys.stderr) as bar:

        def show(done: int, size: int) -> None:
            bar.length = max(size, done, 1)
            bar.update(done - bar.pos)

        yield show


def score_text(score: float | None) -> str:
    """Return a score as on leaderboards: with five decimals, or more if the metric has more."""
    return "" if score is None else number_text(score, 5)


def number_text(value: float, decimals: int) -> str:
    """Return a rounded number with all its decimals, and at least this many."""
    text = f"{value:.{decimals}f}"
    return text if float(text) == value else repr(value)


def left(limits: Any) -> str:
    """Return a sentence on a team's remaining submissions."""
    if limits.left is None:
        return "There is no limit on further submissions."
    if limits.left_today == limits.left:
        until = f" until {limits.resets_at:%H:%M} UTC" if limits.resets_at else ""
        return f"{counted(limits.left, 'submission')} left today{until}."
    return f"{counted(limits.left, 'submission')} left."


def findings(
    problems: Sequence[Mapping[str, Any]], notes: Sequence[Mapping[str, Any]]
) -> tuple[list[str], list[str]]:
    """Return the problems of a file and its notes as lines."""
    return [f"- {each['message']}" for each in problems], [f"Note: {each['message']}" for each in notes]


@dataclass(frozen=True)
class CommandOutput:
    """What a command prints: JSON, or lines on stdout and stderr; and its exit code."""

    answer: Any
    lines: Sequence[str] = ()
    errors: Sequence[str] = ()
    code: int = 0

    def show(self, *, as_json: bool) -> None:
        """Print the result and exit with its code."""
        if as_json:
            show_json(self.answer)
        else:
            for line in self.errors:
                say(line, err=True)
            for line in self.lines:
                say(line)
        if self.code:
            raise click.exceptions.Exit(self.code)


class ProgressLine:
    """Shows progress on stderr as a line every few seconds."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown_at = time.monotonic()

    def show(self, done: int, total: int, where: str = "") -> None:
        """Show that `done` of `total` items are done, and what is in progress."""
        is_due = time.monotonic() - self._shown_at >= SECONDS_BETWEEN_LINES
        if total and (done == total or is_due):
            click.echo(f"{done:,} of {total:,} {self._what}" + (f" ({where})" if where else ""), err=True)
            self._shown_at = time.monotonic()
