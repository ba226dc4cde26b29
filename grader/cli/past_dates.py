"""Telling in the shell which dates that were saved lie in the past."""

from collections.abc import Collection
from datetime import datetime

import click

from grader.models import Competition
from grader.services import past_dates


def tell_of_past_dates(competition: Competition, changed: Collection[str], now: datetime) -> None:
    """Warn on the error stream of each changed date that lies in the past, with what follows from it."""
    for fault in past_dates.warnings_of_change(competition, changed, now):
        click.echo(f"Warning: {fault.sentence}", err=True)
