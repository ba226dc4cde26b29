"""Command groups: lazy imports, exit codes for errors, shell completion.

Exit code 2 means that a file was rejected. Usage errors, for which click uses 2, therefore exit with 1. The
table in docs/client.md lists all codes.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem, get_completion_class

from grader.errors import FairboardError
from grader.text import not_installed

REJECTED = 2
UNMET = 6  # `score --require`
SERVER = "FAIRBOARD_SERVER"
NAMES_SERVER = "grader.cli.names_server"  # context key for whether the command line names a server
WHOLE = 200  # characters; longer than any first sentence


@dataclass(frozen=True)
class CliEntry:
    """The module, summary and required extra of a command."""

    module: str
    summary: str
    extra: str = "server"


def imported(module: str, attribute: str, words: str, extra: str) -> click.Command:
    """Import a command; raise ClickException if a package of its extra is not installed."""
    try:
        command: click.Command = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in {"fairboard", "grader", "webapp", "migrations"}:
            raise
        raise lacking(error, words, extra) from error
    return command


def lacking(error: ModuleNotFoundError, words: str, extra: str) -> click.ClickException:
    """Return the error about a missing package of an extra."""
    return click.ClickException(not_installed(str(error.name), f"`{words}`", extra))


class SubcommandGroup(click.Group):
    """A group whose help shows the full first sentence of each command."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, self.commands[name].get_short_help_str(WHOLE)) for name in self.list_commands(ctx)]
            )


class PartlyLocalGroup(SubcommandGroup):
    """A group of HTTP commands with additional commands for the local installation.

    `local` maps each additional command to its module and summary. Help and completion do not import these
    modules.
    """

    def __init__(self, *args: Any, local: Mapping[str, tuple[str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        self._local = local
        self.commands |= dict.fromkeys(local)  # type: ignore[operator] # for `help` and "Did you mean …?"

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._local:
            return super().get_command(ctx, cmd_name)
        module, summary = self._local[cmd_name]
        if ctx.resilient_parsing:
            return click.Command(cmd_name, short_help=summary)
        return imported(module, cmd_name.replace("-", "_"), f"{ctx.info_name} {cmd_name}", "server")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if ctx.meta.get(NAMES_SERVER) and args and args[0] in self._local and "--help" not in args:
            click.echo(
                f"{ctx.info_name} {args[0]} works only with the installation on this machine, not with a "
                "remote site.",
                err=True,
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        where = " (on this machine)" if ctx.meta.get(NAMES_SERVER) else ""
        lines = {name: summary + where for name, (_, summary) in self._local.items()}
        lines |= {name: each.get_short_help_str(WHOLE) for name, each in self.commands.items() if each}
        with formatter.section("Commands"):
            formatter.write_dl([(name, lines[name]) for name in self.list_commands(ctx)])


class CommandGroup(click.Group):
    """A group with sections that imports a command only when it is called."""

    def __init__(self, name: str, *, sections: Mapping[str, Mapping[str, CliEntry]], **options: Any) -> None:
        super().__init__(name, **options)
        self._sections = sections
        self._entries = {name: entry for entries in sections.values() for name, entry in entries.items()}
        self.commands = dict.fromkeys(self._entries)  # type: ignore[assignment] # for "Did you mean …?"

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self._entries)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve the command, and record whether the command line names a server."""
        words = args[: args.index("--")] if "--" in args else args
        names_server = any(word == "--server" or word.startswith("--server=") for word in words)
        ctx.meta[NAMES_SERVER] = names_server or bool(os.environ.get(SERVER))
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self._entries:
            return None
        entry = self._entries[cmd_name]
        return imported(entry.module, cmd_name.replace("-", "_"), cmd_name, entry.extra)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete command names without importing any command."""
        names = [(name, each.summary) for name, each in self._entries.items() if name.startswith(incomplete)]
        items = [CompletionItem(name, help=summary) for name, summary in names]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        widest = max(map(len, self._entries))
        for title, entries in self._sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), entry.summary) for name, entry in entries.items()])

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        with _exit_codes():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with _exit_codes():
            return super().invoke(ctx)


@contextmanager
def _exit_codes() -> Iterator[None]:
    try:
        yield
    except click.UsageError as error:
        error.show()
        raise click.exceptions.Exit(1) from error
    except FairboardError as error:
        _fail(error)
    except OSError as error:
        if error.filename is None:
            raise
        raise click.ClickException(f"{error.filename}: {error.strerror}.") from error


def _fail(error: FairboardError) -> NoReturn:
    # This import loads NumPy, which usage errors do not need.
    from grader.files.reading.problems import FileRejected

    if not isinstance(error, FileRejected):
        raise click.ClickException(error.message) from error
    click.echo(f"The {error.file} is rejected:", err=True)
    for problem in error.problems:
        click.echo(f"- {problem.message}", err=True)
    raise click.exceptions.Exit(REJECTED) from error


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
    completion_class = get_completion_class(shell)
    root = context.find_root()
    if completion_class is None:  # pragma: no cover - click supports all of them
        raise click.ClickException(f"Completion is not available for {shell}.")
    # `source()` would start a bash process to check its version.
    script = completion_class(root.command, {}, "fairboard", "_FAIRBOARD_COMPLETE")
    click.echo(script.source_template % script.source_vars())
