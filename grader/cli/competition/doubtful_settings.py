"""Print warnings on saved competition settings that are probably slips."""

from collections.abc import Collection
from datetime import datetime

import click

from grader.cli.installation import Installation
from grader.services.competitions import dates, lookup, safe_step, settings_problems


def tell_of_doubts(installation: Installation, slug: str, changed: Collection[str], now: datetime) -> None:
    """Warn on the error stream about dates in the past, several names in one, and a small step."""
    with installation.database.read() as session:
        competition = lookup.get(session, slug=slug)
        faults = dates.warnings_of_change(competition, changed, now)
        faults += settings_problems.joined_names_warnings(competition) if "identities" in changed else []
        faults += safe_step.warnings(competition) if {"feedback", "feedback_step"} & set(changed) else []
    for fault in faults:
        click.echo(f"Warning: {fault.sentence}", err=True)
