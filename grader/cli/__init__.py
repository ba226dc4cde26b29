"""Subcommands of the `fairboard` command and the modules that define them."""

from grader.text import not_installed

try:
    import click
except ModuleNotFoundError as error:  # in a sentence, because the installed command only imports this package
    raise SystemExit(not_installed("click", "`fairboard`", "cli")) from error

from grader.cli.group import CommandGroup, Entry

HELP = """Score models for unintended bias, and run competitions and their website.

\b
fairboard score solution.csv submission.csv
fairboard login https://fairboard.example.org
fairboard submit predictions.csv -d "word n-grams"
fairboard serve
fairboard competition create hate-2026 --title "Harmful comments" --solution solution.csv
fairboard COMMAND --help

With --server ADDRESS (or FAIRBOARD_SERVER), `competition`, `rescore`, `user` and `token` work on a remote
site. Settings are read from FAIRBOARD_* environment variables; `fairboard settings` shows them all. The exit
code is 0 for success, 2 for a rejected file and 1 for any other error. Over HTTP, it is 3 if the server
denies a request, 4 if a submission is not scored in time and 5 if the server is unreachable. It is 6 if
`gate` fails or `bakeoff` cannot recommend a candidate.
"""

main = CommandGroup(
    "fairboard",
    help=HELP,
    sections={
        "Local files, without a server": {
            "score": Entry("grader.cli.metric.score", "Score a file of predictions.", "cli"),
            "gate": Entry("grader.cli.metric.gate", "Check predictions against limits, for CI.", "cli"),
            "analyze": Entry("grader.cli.metric.analyze", "Analyze data and models in depth.", "cli"),
            "bakeoff": Entry("grader.cli.metric.bakeoff", "Compare models on your own comments.", "cli"),
            "verify": Entry("grader.cli.metric.verify", "Recompute the score in a receipt.", "cli"),
        },
        "A site, over HTTP": {
            "login": Entry("grader.cli.client.login", "Log in to a site with an API token.", "client"),
            "logout": Entry("grader.cli.client.login", "Delete the stored site and token.", "client"),
            "submit": Entry(
                "grader.cli.client.participant", "Submit a file and print its score and rank.", "client"
            ),
            "check": Entry(
                "grader.cli.client.participant", "Check a file without using a submission.", "client"
            ),
            "submissions": Entry("grader.cli.client.participant", "List your team's submissions.", "client"),
            "submission": Entry("grader.cli.client.participant", "Show one submission.", "client"),
            "select": Entry(
                "grader.cli.client.participant", "Select a submission for the private leaderboard.", "client"
            ),
            "leaderboard": Entry("grader.cli.client.participant", "Print the leaderboard.", "client"),
            "download": Entry("grader.cli.client.participant", "Download the data files.", "client"),
            "team": Entry("grader.cli.client.participant", "Show your entry, team and limits.", "client"),
            "mcp": Entry(
                "grader.cli.client.participant", "Serve participant tools to an AI agent (MCP).", "client"
            ),
        },
        "Service": {
            "serve": Entry("grader.cli.service", "Run the site with its queue, worker and sweeper."),
            "demo": Entry("grader.cli.service", "Run a generated demo competition.", "demo"),
            "sweeper": Entry(
                "grader.cli.service", ("Score submissions that no worker has finished in time.")
            ),
            "metrics": Entry("grader.cli.service", "Serve metrics to Prometheus."),
            "settings": Entry("grader.cli.service", "Show all settings and their values."),
            "status": Entry("grader.cli.maintenance", "Show queues, processes, disks and versions."),
            "doctor": Entry("grader.cli.maintenance", "Diagnose problems and suggest fixes."),
        },
        "Competitions and accounts": {
            "competition": Entry(
                "grader.cli.organize.commands", "Create, change, moderate and close competitions.", "client"
            ),
            "rescore": Entry(
                "grader.cli.organize.rescoring",
                "Rescore all submissions with a corrected solution.",
                "client",
            ),
            "user": Entry(
                "grader.cli.organize.people",
                "Create and list accounts, invitations and reset links.",
                "client",
            ),
            "token": Entry("grader.cli.organize.people", "Create, list and revoke API tokens.", "client"),
        },
        "Database and storage": {
            "migrate": Entry(
                "grader.cli.maintenance", "Upgrade the database schema to the installed version."
            ),
            "backup": Entry("grader.cli.maintenance", "Create, list, verify and restore backups."),
            "restore": Entry("grader.cli.maintenance", "Restore a backup into an empty installation."),
            "orphans": Entry("grader.cli.maintenance", "List or delete unreferenced blobs."),
        },
        "Shell": {"completion": Entry("grader.cli.group", "Print the shell completion script.")},
    },
)

main = click.version_option(package_name="fairboard")(main)
