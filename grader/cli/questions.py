"""Ask for confirmation in the shell before an act that cannot be undone."""

import click


def is_answered_yes(question: str) -> bool:
    """Ask a yes-or-no question; without a terminal the answer is no."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        click.echo(err=True)
        return False
