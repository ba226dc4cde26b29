"""The `fairboard` command."""

import click


@click.group()
def main() -> None:
    """Grade, serve and run competitions whose models may be biased."""
