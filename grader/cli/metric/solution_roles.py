"""Column roles of a solution on the command line: guessed, or given as COLUMN=ROLE."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    # Imported when a command runs, because NumPy would slow down the help.
    from grader.files import ColumnRole, Solution


class ColumnWithRole(click.ParamType["tuple[str, ColumnRole]"]):
    """A column and its role, as COLUMN=ROLE."""

    name = "column=role"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> "tuple[str, ColumnRole]":
        """Return the column and the role; fail with a list of all roles if the role is unknown."""
        from grader.files import ColumnRole

        column, separator, role = value.rpartition("=")
        known = [each.value for each in ColumnRole]
        if not separator or role not in known:
            self.fail(f"{value!r} must be COLUMN=ROLE with one of the roles {', '.join(known)}.", param, ctx)
        return column, ColumnRole(role)


role_option = click.option(
    "--role",
    "roles",
    type=ColumnWithRole(),
    multiple=True,
    metavar="COLUMN=ROLE",
    help="The role of a column, if the guess is wrong, such as comment=text. An unknown role lists all.",
)


def read_with_roles(
    path: Path,
    chosen: "Mapping[str, ColumnRole]",
    *,
    label: str | None = None,
    identities: Sequence[str] | None = None,
    only_these: bool = False,
) -> "Solution":
    """Read a solution with the guessed roles, the named columns and the given roles.

    If `only_these` is true, only the columns in `identities` are identities. A given role is binding: a file
    with a value that contradicts it is rejected.
    """
    from grader.files import ColumnRole, FileRejected, guess_columns, read_solution, with_named
    from grader.files.solution.roles import undecided

    guesses = guess_columns(path)
    guessed = {guess.name: guess.role for guess in guesses if guess.name}
    # The report on a solution lists names in `identities` that are not columns.
    there = [name for name in identities or () if only_these or name in guessed]
    named = dict.fromkeys(there, ColumnRole.IDENTITY) | dict(chosen)
    if label is not None:
        named[label] = ColumnRole.LABEL
    if identities is None and (problems := undecided(guesses, named)):
        raise FileRejected(*problems, file="solution")
    if only_these and identities is not None:
        unclear = ColumnRole.IDENTITY, ColumnRole.UNUSED
        others = (name for name, role in guessed.items() if role in unclear)
        named = dict.fromkeys(others, ColumnRole.UNUSED) | named
    roles = with_named(guessed, named)
    return read_solution(path, roles=roles, proposed=roles.keys() - named.keys())
