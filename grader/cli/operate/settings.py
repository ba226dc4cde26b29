"""`fairboard settings`: print the settings that `grader/settings.py` describes and masks."""

import click

from grader.cli.installation import load_settings
from grader.settings import PREFIX


@click.command()
def settings() -> None:
    """Show every setting: its variable, its value (secrets masked) and its description."""
    in_force = load_settings()
    for name, setting in type(in_force).model_fields.items():
        value = getattr(in_force, name)
        given = "" if value is None else str(value)
        click.echo(f"{PREFIX}{name.upper()}={given}")
        click.echo(f"    {setting.description}")
