"""Ask for confirmation in the shell before an act that cannot be undone."""

import click


def is_answered_yes(question: str) -> bool:
    """Ask and tell whether the answer was yes; where nobody is there to answer it was not."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        click.echo(err=True)
        return False
