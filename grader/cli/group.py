"""Command groups: lazy imports and exit codes for errors.

The table in docs/client.md lists all exit codes.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, NoReturn

import click

from grader.errors import FairboardError
from grader.text import not_installed

REJECTED = 2
UNMET = 6  # `score --require`
SITE = "FAIRBOARD_SITE"
WHOLE = 200  # characters; longer than any first sentence
click.UsageError.exit_code = 1  # click uses 2, which is the code of a rejected file


@dataclass(frozen=True)
class CliEntry:
    """A command's module in `grader.cli`, summary, extra, and attribute name if it differs."""

    module: str
    summary: str
    extra: str = "server"
    attribute: str = ""


@contextmanager
def _needing(extra: str, ctx: click.Context, name: str = "") -> Iterator[None]:
    """Raise ClickException if a package of the extra of a group's command is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in {"fairboard", "grader", "webapp", "migrations"}:
            raise
        name = name or ctx.invoked_subcommand or ""
        words = " ".join([*ctx.command_path.split()[1:], name])  # without `fairboard`
        extra = "mcp" if name == "mcp" else extra
        raise click.ClickException(not_installed(str(error.name), f"`{words}`", extra)) from error


class CommandGroup(click.Group):
    """A group that imports the commands in its sections only when they are called.

    Its help shows the full first sentence of each command.
    """

    def __init__(
        self,
        *args: Any,
        sections: Mapping[str, Mapping[str, CliEntry]] = MappingProxyType({}),
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self._sections = sections
        self._entries = {name: entry for entries in sections.values() for name, entry in entries.items()}
        self.commands |= dict.fromkeys(self._entries)  # type: ignore[operator] # for "Did you mean …?"

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if (entry := self._entries.get(cmd_name)) is None:
            return super().get_command(ctx, cmd_name)
        if ctx.resilient_parsing and not ctx.args:  # for completion, without an import
            return click.Command(cmd_name, short_help=entry.summary)
        with _needing(entry.extra, ctx, cmd_name):
            module = import_module(f"grader.cli.{entry.module}")
        command: click.Command = getattr(module, entry.attribute or cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        own = {name: each.get_short_help_str(WHOLE) for name, each in self.commands.items() if each}
        sections = {
            title: {name: entry.summary for name, entry in entries.items()}
            for title, entries in self._sections.items()
        }
        if own:
            sections["Commands"] = dict(sorted((sections.get("Commands", {}) | own).items()))
        widest = max(map(len, self.commands))
        for title, lines in sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), text) for name, text in lines.items()])

    def invoke(self, ctx: click.Context) -> Any:
        # Commands of the client also import modules of the server for a site on this machine.
        with _needing("server", ctx):
            return super().invoke(ctx)

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command and exit; errors that are no usage errors are printed without a traceback."""
        try:
            super().main(*args, **options)
        except FairboardError as error:
            # This import loads NumPy, which usage errors do not need.
            from grader.files.reading.problems import FileRejected

            if not isinstance(error, FileRejected):
                _fail(error.message)
            click.echo(f"The {error.file} is rejected:", err=True)
            for problem in error.problems:
                click.echo(f"- {problem.message}", err=True)
            sys.exit(REJECTED)
        except OSError as error:
            if error.filename is None:
                raise
            _fail(f"{error.filename}: {error.strerror}.")


def _fail(message: str) -> NoReturn:
    click.ClickException(message).show()
    sys.exit(1)
