"""Command output: tables, JSON, progress, and messages about scores and limits."""

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click

from grader.text import counted

# The extra `client` does not install `rich`.
if TYPE_CHECKING:
    from rich.progress import Progress

    from grader.client.files import OnProgress
    from grader.client.records import Limits, Submission

TERMS = {
    "overall_auc": "overall AUC",
    "subgroup_auc": "Subgroup AUC",
    "bpsn_auc": "BPSN AUC",
    "bnsp_auc": "BNSP AUC",
}
SECONDS_BETWEEN_LINES = 5


def show_json(data: Any) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))


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


def weakest(submission: "Submission") -> str:
    """Return a sentence on the weakest term, or an empty string if it is hidden."""
    name = submission.weakest_term
    if name is None or submission.terms is None:
        return ""
    return f" Weakest term: {TERMS.get(name, name)}, {number_text(submission.terms[name], 4)}."


def left(limits: "Limits") -> str:
    """Return a sentence on a team's remaining submissions."""
    if limits.left is None:
        return "There is no limit on further submissions."
    if limits.left_today == limits.left:
        until = f" until {limits.resets_at:%H:%M} UTC" if limits.resets_at else ""
        return f"{counted(limits.left, 'submission')} left today{until}."
    return f"{counted(limits.left, 'submission')} left."


def show_findings(problems: Sequence[Mapping[str, Any]], notes: Sequence[Mapping[str, Any]]) -> None:
    """Print the problems of a file on stderr, and its notes on stdout."""
    for problem in problems:
        click.echo(f"- {problem['message']}", err=True)
    for note in notes:
        click.echo(f"Note: {note['message']}")


class ProgressLine:
    """Shows progress on stderr: as a bar on a terminal, otherwise as a line every few seconds."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown: tuple[int, int] | None = None
        self._shown_at = 0.0
        self._bar = _bar() if sys.stderr.isatty() else None
        self._task = self._bar.add_task(what, total=None) if self._bar else None

    def __enter__(self) -> "ProgressLine":
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def show(self, done: int, total: int, where: str = "") -> None:
        """Show that `done` of `total` items are done, and what is in progress."""
        what = f"{self._what} ({where})" if where else self._what
        if self._bar and self._task is not None:
            self._bar.update(self._task, completed=done, total=total, description=what)
            return
        if not total:  # The number of items is not known yet.
            return
        is_due = done == total or time.monotonic() - self._shown_at >= SECONDS_BETWEEN_LINES
        if is_due and (done, total) != self._shown:
            click.echo(f"{done:,} of {total:,} {what}", err=True)
            self._shown, self._shown_at = (done, total), time.monotonic()


def _bar() -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
