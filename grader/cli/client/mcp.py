"""`fairboard mcp`: let an agent take part, over the Model Context Protocol."""

import sys
from pathlib import Path

import click

from grader.cli.client.connection import competition_option, connected
from grader.cli.group import SERVER
from grader.cli.parameters import LocalPath


@click.command()
@click.argument("folder", type=LocalPath(exists=True, file_okay=False))
@competition_option
@click.option("--server", envvar=SERVER, metavar="ADDRESS", help=f"The address of the site ({SERVER}).")
def mcp(folder: Path, competition: str | None, server: str | None) -> None:
    """Serve the tools of a participant to an agent on standard input and output (MCP).

    \b
    {"mcpServers": {"fairboard": {"command": "fairboard", "args": ["mcp", "/home/ada/work"]}}}

    The tools read and write files in FOLDER only, and do what the token may: one that may only read can send
    nothing. Site and token are those of `fairboard login`, or FAIRBOARD_SERVER and FAIRBOARD_TOKEN.
    """
    from grader.mcp.folder import Folder
    from grader.mcp.protocol import serve
    from grader.mcp.tools import Tools

    with connected(server, as_json=False, competition=competition) as client:
        serve(Tools(client, Folder(folder)), sys.stdin, sys.stdout)
