"""`fairboard leaderboard`: the ranks of a competition in the shell."""

import click

from grader.cli.alignment import aligned
from grader.cli.client.connection import competition_option, connected, connection_options
from grader.cli.client.shown import TERMS, score_text, show_json
from grader.client.records import BoardRow

ROWS = 50


@click.command()
@competition_option
@click.option("--private", is_flag=True, help="The private leaderboard, after the reveal.")
@click.option("--search", help="Only teams whose name contains this.")
@click.option("--rows", type=click.IntRange(1, 10**6), default=ROWS, show_default=True, help="How many rows.")
@click.option("--all", "is_whole", is_flag=True, help="All rows.")
@connection_options
def leaderboard(
    competition: str | None,
    private: bool,
    search: str | None,
    rows: int,
    is_whole: bool,
    server: str | None,
    as_json: bool,
) -> None:
    """Print the leaderboard; your own row comes last where it is further down."""
    with connected(server, as_json=as_json, competition=competition) as client:
        board = client.leaderboard(
            split="private" if private else "public", search=search, most=None if is_whole else rows
        )
    if as_json:
        show_json(board.data)
        return
    if search is not None and not board.rows:
        click.echo(f"No team name contains {search!r}.", err=True)
        return
    terms = list(board.rows[0].terms or {}) if board.rows else []
    lines = [["rank", "team", "score", *(TERMS.get(name, name) for name in terms), "entries"]]
    own = [board.own] if board.own and search is None and board.own not in board.rows else []
    shown = [*board.rows, *own]
    lines += [_line(row, terms) for row in shown]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in aligned([[line[0], line[1].ljust(widths[1]), *line[2:]] for line in lines]):
        click.echo(line)


def _line(row: BoardRow, terms: list[str]) -> list[str]:
    values = [f"{row.terms[name]:.4f}" if row.terms else "" for name in terms]
    rank = "" if row.rank is None else str(row.rank)
    return [rank, row.team, score_text(row.score), *values, str(row.entries)]
