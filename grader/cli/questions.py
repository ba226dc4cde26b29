"""Ask for confirmation in the shell before an act that cannot be undone."""

import click

yes_option = click.option(
    "--yes",
    is_flag=True,
    help="Save past and near dates without a question; only a --server asks.",
)


def is_answered_yes(question: str) -> bool:
    """Ask a yes-or-no question; without a terminal the answer is no."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        click.echo(err=True)
        return False
