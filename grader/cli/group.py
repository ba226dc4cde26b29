"""Command groups: lazy imports, exit codes for errors, shell completion.

Exit code 2 means that a file was rejected. Usage errors, for which click uses 2, therefore exit with 1. The
table in docs/client.md lists all codes.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

import click
from click.shell_completion import shell_complete

from grader.errors import FairboardError
from grader.text import not_installed

REJECTED = 2
UNMET = 6  # `score --require`
SITE = "FAIRBOARD_SITE"
WHOLE = 200  # characters; longer than any first sentence


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

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        with _exit_codes():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        # Commands of the client also import modules of the server for a site on this machine.
        with _exit_codes(), _needing("server", ctx):
            return super().invoke(ctx)


@contextmanager
def _exit_codes() -> Iterator[None]:
    try:
        yield
    except click.UsageError as error:
        error.show()
        raise click.exceptions.Exit(1) from error
    except FairboardError as error:
        # This import loads NumPy, which usage errors do not need.
        from grader.files.reading.problems import FileRejected

        if not isinstance(error, FileRejected):
            raise click.ClickException(error.message) from error
        click.echo(f"The {error.file} is rejected:", err=True)
        for problem in error.problems:
            click.echo(f"- {problem.message}", err=True)
        raise click.exceptions.Exit(REJECTED) from error
    except OSError as error:
        if error.filename is None:
            raise
        raise click.ClickException(f"{error.filename}: {error.strerror}.") from error


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of `fairboard` for SHELL.

    \b
    fairboard completion bash > ~/.local/share/bash-completion/completions/fairboard
    fairboard completion zsh > ~/.zfunc/_fairboard
    fairboard completion fish > ~/.config/fish/completions/fairboard.fish
    """
    root = context.find_root().command
    shell_complete(root, {}, "fairboard", "_FAIRBOARD_COMPLETE", f"{shell}_source")
