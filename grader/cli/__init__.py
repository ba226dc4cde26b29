"""Table of the `fairboard` command's subcommands and their modules."""

import click

from grader.cli.group import CommandGroup, Entry

HELP = """Score models for unintended bias, and run competitions and their web site.

\b
fairboard score solution.csv submission.csv
fairboard login https://fairboard.example.org
fairboard submit predictions.csv -d "word n-grams"
fairboard serve
fairboard competition create hate-2026 --title "Harmful comments" --solution solution.csv
fairboard COMMAND --help

With --server ADDRESS (or FAIRBOARD_SERVER) `competition`, `rescore`, `user` and `token` work on a site of
another machine. Settings are the variables FAIRBOARD_*, which `fairboard settings` shows. A command exits
with 0 if it succeeded, with 2 if a file is rejected, and with 1 for any other problem. Over HTTP it exits
with 3 if the server refuses, with 4 if a submission is not scored in time, and with 5 if the server gives no
answer.
"""

main = CommandGroup(
    "fairboard",
    help=HELP,
    sections={
        "On files, without a server": {
            "score": Entry("grader.cli.metric.score", "Score a file of predictions."),
            "analyze": Entry("grader.cli.metric.analyze", "Analyze data and models in depth."),
            "simulate": Entry("grader.cli.metric.simulate", "Try modes of feedback on a solution."),
            "verify": Entry("grader.cli.metric.verify", "Recompute the score of a receipt."),
        },
        "On a site, over HTTP": {
            "login": Entry("grader.cli.client.login", "Store a site and an API token.", "client"),
            "logout": Entry("grader.cli.client.login", "Delete the stored site and token.", "client"),
            "submit": Entry(
                "grader.cli.client.participant", "Send a file and print its score and rank.", "client"
            ),
            "check": Entry(
                "grader.cli.client.participant", "Check a file; this uses no submission.", "client"
            ),
            "submissions": Entry("grader.cli.client.participant", "List your team's submissions.", "client"),
            "submission": Entry("grader.cli.client.participant", "Show one submission.", "client"),
            "select": Entry("grader.cli.client.participant", "Select a submission for the end.", "client"),
            "leaderboard": Entry("grader.cli.client.participant", "Print the leaderboard.", "client"),
            "download": Entry("grader.cli.client.participant", "Download the data files.", "client"),
            "team": Entry("grader.cli.client.participant", "Show your entry, team and limits.", "client"),
            "mcp": Entry("grader.cli.client.participant", "Let an agent take part (MCP).", "client"),
        },
        "The service": {
            "serve": Entry("grader.cli.service", "Run the site with its queue, worker and sweeper."),
            "demo": Entry("grader.cli.service", "Run a generated demo competition."),
            "sweeper": Entry(
                "grader.cli.service", ("Score submissions that waited too long or were abandoned.")
            ),
            "settings": Entry("grader.cli.service", "Show all settings and their values."),
            "doctor": Entry("grader.cli.maintenance", "Find out what is wrong and what to do about it."),
        },
        "Competitions and people": {
            "competition": Entry(
                "grader.cli.organize.commands", "Create, change, moderate and close competitions.", "client"
            ),
            "rescore": Entry(
                "grader.cli.organize.rescoring", "Score all submissions with a corrected solution.", "client"
            ),
            "user": Entry(
                "grader.cli.organize.people",
                "Create and list accounts, invitations and reset links.",
                "client",
            ),
            "token": Entry("grader.cli.organize.people", "Create, list and revoke API tokens.", "client"),
        },
        "What is stored": {
            "migrate": Entry("grader.cli.maintenance", "Bring the database to this version's tables."),
            "backup": Entry("grader.cli.maintenance", "Write a backup, while the service runs."),
            "restore": Entry("grader.cli.maintenance", "Fill an empty installation from a backup."),
            "orphans": Entry("grader.cli.maintenance", "List or delete blobs that no row refers to."),
        },
        "The shell": {
            "completion": Entry("grader.cli.group", "Print the script that completes this command.")
        },
    },
)

main = click.version_option(package_name="fairboard")(main)
