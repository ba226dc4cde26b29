"""How commands show scores, limits, problems and transfers in the shell."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

from grader.client.files import OnProgress
from grader.client.records import Limits, Submission
from grader.text import counted

TERMS = {
    "overall_auc": "overall AUC",
    "subgroup_auc": "Subgroup AUC",
    "bpsn_auc": "BPSN AUC",
    "bnsp_auc": "BNSP AUC",
}


def show_json(data: Any) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))


@contextmanager
def progress(what: str) -> Iterator[OnProgress | None]:
    """Give a function that shows on stderr how far a transfer is; None where nobody looks."""
    if not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=1, label=what, file=sys.stderr) as bar:

        def show(done: int, size: int) -> None:
            bar.length = max(size, done, 1)
            bar.update(done - bar.pos)

        yield show


def score_text(score: float | None) -> str:
    """Return a score with the five decimals of leaderboards."""
    return "" if score is None else f"{score:.5f}"


def weakest(submission: Submission) -> str:
    """Return the sentence on the weakest term, empty where it is not shown."""
    name = submission.weakest_term
    if name is None or submission.terms is None:
        return ""
    return f" Weakest term: {TERMS.get(name, name)}, {submission.terms[name]:.4f}."


def left(limits: Limits) -> str:
    """Return the sentence on what a team may still send."""
    if limits.left is None:
        return "Nothing limits how many files you may still send."
    if limits.left_today == limits.left:
        until = f" until {limits.resets_at:%H:%M} UTC" if limits.resets_at else ""
        return f"{counted(limits.left, 'submission')} left today{until}."
    return f"{counted(limits.left, 'submission')} left."


def show_findings(problems: Sequence[Mapping[str, Any]], notes: Sequence[Mapping[str, Any]]) -> None:
    """Print what is wrong with a file on stderr, and the notes on stdout."""
    for problem in problems:
        click.echo(f"- {problem['message']}", err=True)
    for note in notes:
        click.echo(f"Note: {note['message']}")
