"""Progress bar of a long command."""

import sys
import time
from types import TracebackType

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

SECONDS_BETWEEN_LINES = 5


class ProgressLine:
    """Shows a count on stderr while its block runs."""

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

    def show(self, done: int, total: int) -> None:
        """Show that `done` of `total` are done."""
        if self._bar and self._task is not None:
            self._bar.update(self._task, completed=done, total=total)
            return
        is_due = done == total or time.monotonic() - self._shown_at >= SECONDS_BETWEEN_LINES
        if is_due and (done, total) != self._shown:
            click.echo(f"{done:,} of {total:,} {self._what}", err=True)
            self._shown, self._shown_at = (done, total), time.monotonic()


def _bar() -> Progress:
    from rich.console import Console

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
