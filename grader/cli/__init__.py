"""Subcommands of the `fairboard` command and the modules that define them."""

from grader.text import not_installed

try:
    import click
except ModuleNotFoundError as error:  # in a sentence, because the installed command only imports this package
    raise SystemExit(not_installed("click", "`fairboard`", "cli")) from error

from grader.cli.group import CliEntry, CommandGroup

HELP = """Score models for unintended bias, and run competitions and their website.

\b
fairboard score solution.csv submission.csv
fairboard login https://fairboard.example.org
fairboard submit predictions.csv -d "word n-grams"
fairboard serve
fairboard competition create hate-2026.toml
fairboard COMMAND --help

`competition`, `rescore`, `user`, `token` and `api` send requests to the site on this machine or, with --site
URL (or FAIRBOARD_SITE), to another site. Settings are read from FAIRBOARD_* environment variables;
`fairboard settings` shows them all. The exit code is 0 for success, 2 for a rejected file and 1 for any other
error. It is 3 if the site denies a request, 4 if a submission is not scored in time and 5 if the site is
unreachable. It is 6 if a value misses a limit of `score --require`.
"""

_TEAM, _DESK = "client.participant", "organize.groups"
SECTIONS = {
    "Local files, without a server": {
        "score": CliEntry("metric.score", "Score a file of predictions.", "cli"),
        "analyze": CliEntry("metric.analyze", "Analyze data and models in depth.", "cli"),
        "metric": CliEntry("metric.python_metric", "Check your own metric.", "cli"),
        "verify": CliEntry("metric.verify", "Recompute the score in a receipt.", "cli"),
    },
    "A site, over HTTP": {
        "login": CliEntry("client.connection", "Log in to a site with an API token.", "client"),
        "logout": CliEntry("client.connection", "Delete the stored site and token.", "client"),
        "submit": CliEntry(_TEAM, "Submit a file and print its score and rank.", "client"),
        "check": CliEntry(_TEAM, "Check a file without using a submission.", "client"),
        "submissions": CliEntry(_TEAM, "List your team's submissions.", "client"),
        "submission": CliEntry(_TEAM, "Show one submission.", "client"),
        "select": CliEntry(_TEAM, "Select a submission for the private leaderboard.", "client"),
        "leaderboard": CliEntry(_TEAM, "Print the leaderboard.", "client"),
        "download": CliEntry(_TEAM, "Download the data files.", "client"),
        "team": CliEntry(_TEAM, "Show your entry, team and limits.", "client"),
        "mcp": CliEntry(_TEAM, "Serve participant tools to an AI agent (MCP).", "mcp"),
    },
    "Service": {
        "serve": CliEntry("service", "Run the site with its queue, worker and sweeper."),
        "demo": CliEntry("service", "Run a generated demo competition."),
        "sweeper": CliEntry("service", "Score submissions that no worker has finished in time."),
        "settings": CliEntry("service", "Show all settings and their values."),
        "doctor": CliEntry("maintenance", "Diagnose problems and suggest fixes."),
    },
    "Competitions and accounts": {
        "competition": CliEntry(_DESK, "Create, change, moderate and close competitions.", "client"),
        "rescore": CliEntry("organize.rescoring", "Rescore all submissions with a new solution.", "client"),
        "user": CliEntry(_DESK, "Create and list accounts, invitations and reset links.", "client"),
        "token": CliEntry(_DESK, "Create, list and revoke API tokens.", "client"),
        "api": CliEntry("organize.call_table", "Send any API request.", "client"),
    },
    "Database and storage": {
        "migrate": CliEntry("service", "Upgrade the database schema to the installed version."),
        "backup": CliEntry("maintenance", "Create, list and verify backups."),
        "restore": CliEntry("maintenance", "Restore a backup into an empty installation."),
    },
}


def _show_version(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        from grader import build

        click.echo(f"fairboard {build.describe()}")
        context.exit()


main = CommandGroup("fairboard", help=HELP, sections=SECTIONS)
main = click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and the build, and exit.",
)(main)
