"""`fairboard completion`: print the script with which a shell completes the command."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_FAIRBOARD_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes `fairboard` in SHELL.

    \b
    fairboard completion bash > ~/.local/share/bash-completion/completions/fairboard
    fairboard completion zsh > ~/.zfunc/_fairboard
    fairboard completion fish > ~/.config/fish/completions/fairboard.fish
    """
    found = get_completion_class(shell)
    root = context.find_root()
    if found is None:  # pragma: no cover - click has them all
        raise click.ClickException(f"There is no completion for {shell}.")
    # Not `source()`: for bash it starts one to ask for its version.
    script = found(root.command, {}, "fairboard", VARIABLE)
    click.echo(script.source_template % script.source_vars())
